/**
 * Copies that are continued by docs/increments.md. The reader takes its SQL from the page, and ends with every cell of the
 * warehouse, whatever was done beside it. In `npm test` each kind of work once, in `npm run test:long` many
 * orders of them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Clock, Stamps, systemClock } from '../../src/engine/base/clock.js'
import type { Shard } from '../../src/engine/base/shard.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, template } from '../../src/sandbox/index.js'
import { Call, shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { known } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import {
  bothWarehouses,
  changesThrough,
  type Kind,
  type Lease,
  open,
  openLease,
  reopen,
  rowsOf,
  takeLease,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { CopyReader } from '../support/world/increments.js'
import { randomFrom } from '../support/world/random.js'

const lists = ['repair_orders', 'customers', 'notes', 'shops', 'vehicles', 'customer_payment_types']
const hour = 3_600_000_000n

const run = async (config: string, ...words: string[]): Promise<void> => {
  const { code, stderr } = await shopsync([...words, '--config', config])
  // A customer was forgotten, but lists that this configuration leaves out could not be looked at: 1.
  const expected = words.includes('--customer') ? 1 : 0
  expect(code, `${words.join(' ')}: ${stderr}`).toBe(expected)
}

/** Changes the settings of a configuration. */
function configured(config: string, more: Record<string, unknown>): void {
  const before = JSON.parse(readFileSync(config, 'utf8')) as Record<string, unknown>
  writeFileSync(config, JSON.stringify({ ...before, ...more }))
}

class Played {
  readonly #config: string
  #round = 0
  #through = ''

  private constructor(
    private readonly sandbox: Sandbox,
    private readonly kind: Kind,
    address: Address,
    private readonly random: () => number,
  ) {
    this.#config = configure(sandbox, address, lists, { sync: { concurrency: 3 }, api: { pageSize: 20 } })
    configured(this.#config, { resources: promoted })
  }

  static async play(kind: Kind, seed: number, names: readonly Work[]): Promise<void> {
    const sandbox = await createSandbox({ tenants: 2, repairOrders: 8, seed })
    const address = await kind.viewed()
    const played = new Played(sandbox, kind, address, randomFrom(seed))
    let reader: CopyReader | undefined
    try {
      await run(played.#config, 'sync')
      reader = await CopyReader.open(address, lists)
      const steps = works(played)
      for (const name of names) {
        played.#change()
        await played.#beside(reader, steps[name])
      }
      await run(played.#config, 'sync')
      await played.#poll(reader)
      expect(await reader.differences(), `seed ${seed}: ${names.join(', ')}`).toEqual({})
    } finally {
      await reader?.close()
      await sandbox.close()
    }
  }

  pick = <T>(all: readonly T[]): T => all[Math.floor(this.random() * all.length)] as T
  #wait = (most: number): Promise<void> => sleep(this.random() * most)
  get #tenant(): number {
    return this.pick(this.sandbox.tenantIds)
  }

  async #poll(reader: CopyReader): Promise<void> {
    const through = await reader.poll()
    expect(through >= this.#through, `${through} after ${this.#through}`).toBe(true)
    this.#through = through
  }

  /** Polls at random moments while something is done, and after it. */
  async #beside(reader: CopyReader, work: () => Promise<void>): Promise<void> {
    let isDone = false
    const doing = work().finally(() => {
      isDone = true
    })
    while (!isDone) {
      await this.#poll(reader)
      await this.#wait(sized(500, 200))
    }
    await doing
    await this.#poll(reader)
  }

  /** New versions, versions with fewer nested rows, new records, and records that are gone. */
  #change(): void {
    this.#round++
    const { store } = this.sandbox
    for (const tenant of this.sandbox.tenantIds) {
      for (const resource of ['repair_orders', 'customers', 'notes', 'vehicles'])
        for (const id of store.ids(tenant, resource))
          if (this.random() < 0.2) {
            const nested = resource === 'repair_orders' ? 'services' : 'phones'
            const list = store.get(tenant, resource, id)?.[nested]
            const cut = Array.isArray(list) && this.random() < 0.5 ? { [nested]: list.slice(1) } : {}
            store.change(tenant, resource, id, cut)
          }
      const id = 800_000 + this.#round
      store.put(tenant, 'notes', { ...template('notes', id, fromMicros(store.stamp())), id })
      store.change(tenant, 'notes', id, { description: `round ${this.#round}` })
      if (this.#round > 1) store.remove(tenant, 'notes', id - 1)
    }
  }

  do = (...words: string[]): Promise<void> => run(this.#config, ...words)

  async killed(): Promise<void> {
    const { ended, child } = new Program(program, ['sync', '--full', '--quiet', '--config', this.#config])
    await this.#wait(1500).then(() => sleep(500))
    child.kill('SIGKILL')
    await ended
  }

  async shards(): Promise<void> {
    if (this.kind.name === 'sqlite') return this.do('sync', '--full')
    const words = ['sync', '--full', '--quiet', '--config', this.#config, '--shard']
    const of = sized(2, 4)
    const runs = Array.from({ length: of }, (_, index) => new Program(program, [...words, `${index}/${of}`]))
    for (const { ended } of runs) {
      const { code, stderr } = await ended
      expect(code, stderr).toBe(0)
    }
  }

  async forgotten(): Promise<void> {
    const tenant = this.#tenant
    const ids = this.sandbox.store.ids(tenant, 'customers')
    await this.do('forget', '--tenant', String(tenant), '--customer', String(this.pick(ids)), '--yes')
  }

  async tenantForgotten(): Promise<void> {
    const tenant = String(this.#tenant)
    await this.do('forget', '--tenant', tenant, '--yes')
    await this.#wait(200)
    await this.do('forget', '--tenant', tenant, '--lift')
    await this.do('sync')
  }

  async set(more: Record<string, unknown>): Promise<void> {
    configured(this.#config, more)
    await this.do('sync')
  }

  /** The source loses records, and names that it showed in a bare list. */
  async reconciled(): Promise<void> {
    const { store } = this.sandbox
    for (const resource of ['repair_orders', 'customers']) {
      const tenant = this.#tenant
      store.remove(tenant, resource, this.pick(store.ids(tenant, resource)))
    }
    await this.do('reconcile', '--full')
  }
}

const kept = { notes: { history: true } }
const promoted = { ...kept, vehicles: { columns: { vin: 'text' } } }
const zones = ['America/Denver', 'Asia/Kolkata', 'Pacific/Auckland', 'UTC']

const works = (p: Played) => ({
  sync: () => p.do('sync'),
  backfill: () => p.do('backfill', '--from', '2000-01-01', '--to', '2099-01-01'),
  reconcile: () => p.reconciled(),
  kill: () => p.killed(),
  shards: () => p.shards(),
  'forgotten customer': () => p.forgotten(),
  'forgotten tenant': () => p.tenantForgotten(),
  zone: () => p.set({ report: { timeZone: p.pick(zones) } }),
  'column removed': () => p.set({ resources: kept }),
  'column configured': () => p.set({ resources: promoted }),
  'history removed': () => p.set({ resources: {} }),
  privacy: () => p.set({ privacy: { customers: { first_name: 'drop', email: 'drop' } } }),
})
type Work = keyof ReturnType<typeof works>
const all = Object.keys(works({} as Played)) as Work[]
/**
 * Each warehouse plays its part of them in `npm test`. Those after which whole tenants are taken again come first: they
 * hide what was lost.
 */
const some: Readonly<Record<Kind['name'], readonly Work[]>> = {
  sqlite: ['column removed', 'privacy', 'forgotten customer', 'reconcile', 'zone'],
  postgres: ['forgotten tenant', 'kill', 'backfill', 'reconcile', 'shards'],
}

describe.each(bothWarehouses())('$name', (kind) => {
  it.each(Array.from({ length: sized(1, 30) }, (_, i) => i + 1))(
    'a copy ends equal to the warehouse, seed %i',
    { timeout: 600_000 },
    async (seed) => {
      const random = randomFrom(seed)
      const more = Array.from({ length: sized(0, 15) }, () => all[Math.floor(random() * all.length)] as Work)
      await Played.play(kind, seed, [...sized(some[kind.name], all), ...more])
    },
  )

  // Alone: a reconcile stamps the rows that this rewrites, and the rebuild that it demands would hide what others lost.
  it('a copy ends equal to the warehouse whose history is switched off', () =>
    Played.play(kind, 1, ['history removed']))

  it('a row that was asked for first and stored last is taken; by the newest stamp, it is lost', async () => {
    const sandbox = await sandboxOfStale()
    const address = await kind.viewed()
    const config = configure(sandbox, address, ['notes'])
    await run(config, 'sync')
    const [sound, naive] = [
      await CopyReader.open(address, ['notes']),
      await CopyReader.open(address, ['notes'], 'newest stamp'),
    ]
    const warehouse = await reopen(address)
    const stamps = new Stamps(systemClock)
    const lease = await openLease({ warehouse, clock: systemClock, stamps, shapesRows: false }, 'sync')
    const [early, late] = [fromMicros(stamps.next()), fromMicros(stamps.next())]
    const store = async (id: number, syncedAt: string): Promise<void> => {
      const flat = known.byName
        .get('notes')!
        .flatten(1, [template('notes', id, '2026-03-01T00:00:00Z')], false)
      const page = lease.warehouse.encode(flat, { tenantId: 1, resource: 'notes' })
      await lease.warehouse.apply({ tenantId: 1, resource: 'notes', page, syncedAt, statements: [] })
    }
    for (const [id, stamp] of [
      [2, late],
      [1, early],
    ] as const) {
      await store(id, stamp)
      for (const reader of [sound, naive]) await reader.poll()
    }
    await lease[Symbol.asyncDispose]()
    for (const reader of [sound, naive]) await reader.poll()
    expect(await sound.differences()).toEqual({})
    expect(await naive.differences()).toEqual({ notes: { lacking: 1, wrong: 0 } })
    for (const each of [sound, naive, warehouse]) await each.close()
  })

  it('a reader that begins in the middle of a first load ends equal to the warehouse', async () => {
    const sandbox = await createSandbox({ tenants: 2, repairOrders: 6, seed: 5 })
    const address = await kind.viewed()
    const few = ['repair_orders', 'customers', 'notes']
    const more = { sync: { concurrency: 4 }, api: { pageSize: 5 } }
    const config = configure(sandbox, address, few, more)
    const warehouse = await reopen(address)
    let isHeld = true
    const unhook = sandbox.onRequest(async ({ resource }) => {
      while (isHeld && resource === 'notes') await sleep(20)
    })
    const loading = new Call(['sync', '--config', config])
    while ((await rowsOf(warehouse, 'customers')).length === 0) await sleep(50)
    const reader = await CopyReader.open(address, few)
    await reader.poll()
    // The load is cut short, and another run ends it.
    loading.kill('SIGTERM')
    isHeld = false
    unhook()
    expect((await loading.ended).code).toBe(143)
    await reader.poll()
    let isDone = false
    const ending = run(config, 'sync').finally(() => {
      isDone = true
    })
    while (!isDone) {
      await reader.poll()
      await sleep(200)
    }
    await ending
    await reader.poll()
    expect(await reader.differences()).toEqual({})
    for (const each of [reader, warehouse, sandbox]) await each.close()
  })

  it('through never falls, and nothing is stored below it', { timeout: 120_000 }, async () => {
    const warehouse = await open(kind)
    for (let seed = 1; seed <= sized(kind.name === 'sqlite' ? 3 : 8, 50); seed++)
      await claims(warehouse, kind, randomFrom(seed))
    await warehouse.close()
  })

  it('while it holds the lease, work without requests counts as under way', async () => {
    const warehouse = await open(kind)
    const before = await changesThrough(warehouse)
    const lease = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'forget')
    const held = await changesThrough(warehouse)
    expect(held > before).toBe(true)
    await lease[Symbol.asyncDispose]()
    expect((await changesThrough(warehouse)) > held).toBe(true)
    await warehouse.write([warehouse.db.deleteFrom('sync_runs').compile()])
    expect((await changesThrough(warehouse)) > held).toBe(true)
    await warehouse.close()
  })
})

const sandboxOfStale = async (): Promise<Sandbox> => {
  const sandbox = await sandboxOfFile()
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  return sandbox
}

/** Claims of all names under wrong clocks, that end, are killed, or sleep past their leases and are fenced off. */
async function claims(warehouse: Warehouse, kind: Kind, random: () => number): Promise<void> {
  const pick = <T>(some: readonly T[]): T => some[Math.floor(random() * some.length)] as T
  const held = new Map<string, { lease: Lease; stamps: Stamps | undefined }>()
  let last = await changesThrough(warehouse)
  for (let step = 0; step < 40; step++) {
    const name = pick(kind.name === 'sqlite' ? ['run'] : ['run', '0/2', '1/2', '0/3', '2/3'])
    const mine = held.get(name)
    const what = pick(['claim', 'claim', 'release', 'kill', 'stamp', 'sleep'])
    if (what === 'claim') {
      const by = pick([-hour, 0n, 0n, hour])
      const clock: Clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
      const stamps = new Stamps(clock)
      const [index = 0, of] = name.split('/').map(Number)
      const shard: Shard | undefined = of === undefined ? undefined : { index, of }
      const command = pick(['sync', 'forget'])
      const request = { runId: `${step}`, command, clock, leaseMs: 60_000, shard }
      const lease = await takeLease(warehouse.dialect, {
        ...request,
        ...(command === 'sync' && { stamps }),
      }).catch(() => undefined)
      if (lease) held.set(name, { lease, stamps: command === 'sync' ? stamps : undefined })
    } else if (mine && what === 'release') {
      await mine.lease.release()
      held.delete(name)
    } else if (mine?.stamps && what === 'stamp') {
      const stamp = fromMicros(mine.stamps.next())
      const isOwn = (await rowsOf(warehouse, 'sync_lease')).some(
        (row) => row['name'] === name && row['token'] === mine.lease.fence.token,
      )
      if (isOwn) expect(stamp >= last, `${stamp} below ${last}`).toBe(true)
    } else if (mine && (what === 'kill' || what === 'sleep')) {
      const past = { host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' }
      const expired = warehouse.db.updateTable('sync_lease').set(past).where('name', '=', name)
      await warehouse.write([expired.where('owner', 'is not', null).compile()])
    }
    const through = await changesThrough(warehouse)
    expect(through >= last, `${what} ${name}: ${through} after ${last}`).toBe(true)
    last = through
  }
  for (const { lease } of held.values()) await lease.release()
}
