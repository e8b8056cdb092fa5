/**
 * Copies that are continued by docs/increments.md. The reader takes its SQL from the page, and ends with every cell of the
 * warehouse, whatever was done beside it. In `npm test` each kind of work once, in `npm run test:long` many
 * orders of them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { type Sandbox, type SandboxOptions, template } from '../../src/sandbox/index.js'
import { Call, shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { known } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import {
  bothWarehouses,
  changesThrough,
  type Kind,
  open,
  openLease,
  reopen,
  rowsOf,
  warehouses,
} from '../support/harness/warehouse.js'
import { EventBench } from '../support/world/events.js'
import { CopyReader, type Way } from '../support/world/increments.js'
import { randomFrom } from '../support/world/random.js'

const lists = ['repair_orders', 'customers', 'notes', 'shops', 'vehicles', 'customer_payment_types']

const run = async (config: string, ...words: string[]): Promise<void> => {
  const { code, stderr } = await shopsync([...words, '--config', config])
  // A customer was forgotten, but lists that this configuration leaves out could not be looked at: 1.
  const expected = words.includes('--customer') ? 1 : 0
  expect(code, `${words.join(' ')}: ${stderr}`).toBe(expected)
}

/** A source, the program's configuration for it, and an empty warehouse. */
async function begun(kind: Kind, resources: readonly string[], options: SandboxOptions, more: object = {}) {
  const sandbox = await sandboxOfFile(options)
  const address = await kind.viewed()
  const config = configure(sandbox, address, resources, more)
  const warehouse = await reopen(address)
  onTestFinished(() => warehouse.close())
  const reads = async (way: Way = 'through'): Promise<CopyReader> => {
    const reader = await CopyReader.open(address, resources, way)
    onTestFinished(() => reader.close())
    return reader
  }
  return { sandbox, address, config, warehouse, reads, run: (...words: string[]) => run(config, ...words) }
}

/** Polls until something is done, and again after it. */
async function polledBeside(work: Promise<void>, poll: () => Promise<unknown>, wait: () => Promise<void>) {
  let isDone = false
  const doing = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await poll()
    await wait()
  }
  await doing
  await poll()
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
    config: string,
    private readonly random: () => number,
  ) {
    this.#config = config
    configured(config, { resources: promoted })
  }

  static async play(kind: Kind, seed: number, names: readonly Work[]): Promise<void> {
    const options = { tenants: 2, repairOrders: 5, seed }
    const settings = { sync: { concurrency: 3 }, api: { pageSize: 20 } }
    const { sandbox, config, reads, run } = await begun(kind, lists, options, settings)
    const played = new Played(sandbox, kind, config, randomFrom(seed))
    await run('sync')
    const reader = await reads()
    const steps = works(played)
    for (const name of names) {
      played.#change()
      // Polls at random moments while something is done, and after it.
      const wait = (): Promise<void> => played.#wait(sized(500, 200))
      await polledBeside(steps[name](), () => played.#poll(reader), wait)
    }
    await run('sync')
    await played.#poll(reader)
    expect(await reader.differences(), `seed ${seed}: ${names.join(', ')}`).toEqual({})
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
    await this.#wait(1000).then(() => sleep(300))
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
  // What it rewrites, it rewrites by the same statement on each database.
  it.runIf(warehouses().includes(kind))(
    'a copy ends equal to the warehouse whose history is switched off',
    () => Played.play(kind, 1, ['history removed']),
  )

  it('a row that was asked for first and stored last is taken; by the newest stamp, it is lost', async () => {
    const { warehouse, reads, run } = await begun(kind, ['notes'], { data: 'none', tenants: [{ id: 1 }] })
    await run('sync')
    const [sound, naive] = [await reads(), await reads('newest stamp')]
    const stamps = new Stamps(systemClock)
    const lease = await openLease({ warehouse, clock: systemClock, stamps, shapesRows: false }, 'sync')
    const [early, late] = [fromMicros(stamps.next()), fromMicros(stamps.next())]
    const ofNotes = { tenantId: 1, resource: 'notes' }
    for (const [id, syncedAt] of [
      [2, late],
      [1, early],
    ] as const) {
      const records = [template('notes', id, '2026-03-01T00:00:00Z')]
      const page = lease.warehouse.encode(known.byName.get('notes')!.flatten(1, records, false), ofNotes)
      await lease.warehouse.apply({ ...ofNotes, page, syncedAt, statements: [] })
      for (const reader of [sound, naive]) await reader.poll()
    }
    await lease[Symbol.asyncDispose]()
    for (const reader of [sound, naive]) await reader.poll()
    expect(await sound.differences()).toEqual({})
    expect(await naive.differences()).toEqual({ notes: { lacking: 1, wrong: 0 } })
  })

  it('a reader that begins in the middle of a first load ends equal to the warehouse', async () => {
    const few = ['repair_orders', 'customers', 'notes']
    const options = { tenants: 2, repairOrders: 6, seed: 5 }
    const settings = { sync: { concurrency: 4 }, api: { pageSize: 5 } }
    const { sandbox, config, warehouse, reads, run } = await begun(kind, few, options, settings)
    let isHeld = true
    const unhook = sandbox.onRequest(async ({ resource }) => {
      while (isHeld && resource === 'notes') await sleep(20)
    })
    const loading = new Call(['sync', '--config', config])
    while ((await rowsOf(warehouse, 'customers')).length === 0) await sleep(50)
    const reader = await reads()
    await reader.poll()
    // The load is cut short, and another run ends it.
    loading.kill('SIGTERM')
    isHeld = false
    unhook()
    expect((await loading.ended).code).toBe(143)
    await reader.poll()
    await polledBeside(
      run('sync'),
      () => reader.poll(),
      () => sleep(200),
    )
    expect(await reader.differences()).toEqual({})
  })

  // Which walk ends first is decided above the database.
  it.runIf(warehouses().includes(kind))(
    'a copy that is continued beside rings, whose walks end in another order than they began, ends equal to the warehouse',
    async () => {
      const few = ['notes', 'repair_orders']
      const options = { tenants: 2, repairOrders: 4, seed: 7 }
      const { sandbox, warehouse, reads, run } = await begun(kind, few, options)
      await run('sync')
      await (await EventBench.open(sandbox, warehouse)).inbox.close()
      const reader = await reads()
      await reader.poll()
      for (const tenant of sandbox.tenantIds) {
        const [note = 0] = sandbox.store.ids(tenant, 'notes')
        sandbox.store.change(tenant, 'notes', note, { description: 'rung' })
        const [order = 0] = sandbox.store.ids(tenant, 'repair_orders')
        sandbox.store.change(tenant, 'repair_orders', order, { services: [] })
      }
      // The first request is answered, because others wait for it. Then one tenant's walk ends after the other's.
      let isFirst = true
      let held: number | undefined
      let isHeld = true
      sandbox.onRequest(async ({ tenant, resource }) => {
        const passes = isFirst || resource !== 'notes'
        isFirst = false
        if (passes) return
        held ??= tenant ?? undefined
        while (isHeld && tenant === held) await sleep(10)
      })
      const ringing = run('events', 'ring')
      const rung = async (): Promise<string[]> =>
        (await rowsOf(warehouse, 'notes')).flatMap(({ description, _synced_at }) =>
          description === 'rung' ? [String(_synced_at)] : [],
        )
      while ((await rung()).length === 0) await sleep(20)
      const [stored = ''] = await rung()
      expect((await changesThrough(warehouse)) <= stored).toBe(true)
      await reader.poll()
      isHeld = false
      await ringing
      await reader.poll()
      expect(await rung()).toHaveLength(2)
      expect(await reader.differences()).toEqual({})
    },
  )

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
