/** Leases by shard: who may write beside whom, who is fenced off, and how the whole warehouse gets its turn. On Postgres. */
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { type Shard, shardIndex } from '../../src/engine/base/shard.js'
import { fromMicros, toMicros } from '../../src/engine/base/timestamp.js'
import { template } from '../../src/sandbox/index.js'
import {
  depsOf,
  known,
  type RunOptions,
  readHolders,
  readLastRun,
  runJob,
  sync,
} from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import {
  bothWarehouses,
  claimLease,
  grantTenants,
  isOfShard,
  type Lease,
  listenCommand,
  lockHolder,
  migrate,
  open,
  openLease,
  openWarehouse,
  RowSettings,
  rowsOf,
  takeLease,
  type Warehouse,
  wantLease,
  wishes,
} from '../support/harness/warehouse.js'

const postgres = bothWarehouses().find(({ name }) => name === 'postgres')!
const hour = 3_600_000_000n

/** `3/8`; `run` is the whole warehouse. */
const shardOf = (name: string): Shard | undefined => {
  const [index = 0, of] = name.split('/').map(Number)
  return of === undefined ? undefined : { index, of }
}

it.each(bothWarehouses())('SQL finds the tenants of a shard as the program does, on $name', async (kind) => {
  const warehouse = await open(kind)
  const ids = [0, 1, 1008, 1009, 1010, -1, -1009, -1010, 1234567890123456789n, -9223372036854775808n]
  for (const id of ids)
    for (const of of [1, 2, 8, 64]) {
      const index = shardIndex(id, of)
      const asked = (shard: Shard) =>
        sql<{
          n: number
        }>`select count(*) as n from (select cast(${sql.lit(String(id))} as bigint) as t) as x where ${isOfShard(sql.ref('t'), shard)}`
      const count = async (shard: Shard) => Number((await asked(shard).execute(warehouse.db)).rows[0]?.n)
      expect(await count({ index, of }), `${id} of ${of}`).toBe(1)
      if (of > 1) expect(await count({ index: (index + 1) % of, of })).toBe(0)
    }
  await warehouse.close()
})

it('an SQLite file has one shard, and says what to do for more', async () => {
  const warehouse = await open(bothWarehouses()[0]!)
  const lease = (name: string) => openLease({ warehouse, clock: systemClock, shard: shardOf(name) }, 'sync')
  await expect(lease('0/2')).rejects.toMatchObject({
    exitCode: 2,
    hint: expect.stringContaining('shopsync copy --to postgres://'),
  })
  await using only = await lease('0/1')
  await only.warehouse.write([])
  await expect(lease('0/1')).rejects.toMatchObject({ exitCode: 4 })
  await warehouse.close()
})

describe('shards', () => {
  let warehouse: Warehouse
  const held: Lease[] = []
  beforeAll(async () => {
    warehouse = await open(postgres)
  })
  afterAll(() => warehouse.close())
  beforeEach(async () => {
    for (const lease of held.splice(0)) await lease.release()
    await warehouse.write([warehouse.db.deleteFrom('sync_lease').compile()])
  })

  const claim = async (name: string, command = 'sync', runId = `of ${name}`): Promise<Lease> => {
    const lease = await claimLease(warehouse, { runId, command, leaseMs: 60_000, shard: shardOf(name) })
    held.push(lease)
    return lease
  }
  const row = async (name: string) => (await rowsOf(warehouse, 'sync_lease')).find((one) => one.name === name)
  /** Its machine is another one, and hasn't been heard of for as long as a lease lasts. */
  const expire = (name: string) =>
    warehouse.write([
      warehouse.db
        .updateTable('sync_lease')
        .set({ host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' })
        .where('name', '=', name)
        .compile(),
    ])
  const commit = (lease: Lease) =>
    warehouse.under(lease, 'x').write([
      warehouse.db
        .insertInto('sync_meta')
        .values({ name: 'mark', value: 'x' })
        .onConflict((c) => c.doNothing())
        .compile(),
    ])

  it.each([
    ['0/4', '1/4', true],
    ['0/4', '0/4', false],
    ['0/4', '0/2', false],
    ['3/4', '0/2', false],
    ['0/4', 'run', false],
    ['run', '0/4', false],
    ['run', 'run', false],
  ])('beside %s, a claim of %s succeeds: %s', async (first, second, succeeds) => {
    const before = await claim(first)
    const claimed = claim(second, 'sync', 'second')
    if (succeeds) {
      const after = await claimed
      await commit(after)
      expect(after.fence.token).not.toBe(before.fence.token)
    } else
      await expect(claimed).rejects.toMatchObject({
        exitCode: 4,
        message: expect.stringMatching(first === 'run' ? /has held / : `has held shard ${first} of `),
      })
    await commit(before)
  })

  it('a shard of another number waits for those at work, whichever tenants it has', async () => {
    await claim('0/2')
    for (const name of ['0/1', '0/4', '1/3']) await expect(claim(name)).rejects.toMatchObject({ exitCode: 4 })
    await claim('1/2')
  })

  it('of claims of all names at once, none overlap', async () => {
    const names = ['run', '0/2', '1/2', '0/3', '1/3', '2/3']
    const claims = await Promise.allSettled(names.map((name) => claim(name)))
    const won = names.filter((_, i) => claims[i]?.status === 'fulfilled')
    expect([['run'], ['0/2', '1/2'], ['0/3', '1/3', '2/3']]).toContainEqual(won)
  })

  it.each(['1/4', 'run', '0/2', '0/1'])(
    'a holder that slept past its lease commits nothing once %s was claimed, and others go on',
    async (name) => {
      const sleeper = await claim('1/4', 'sync', 'sleeper')
      const sibling = name === '1/4' ? await claim('2/4') : undefined
      await commit(sleeper)
      await expire('1/4')
      const next = await claim(name, 'sync', 'next')
      await expect(commit(sleeper)).rejects.toMatchObject({ exitCode: 4 })
      await commit(next)
      if (sibling) await commit(sibling)
      // What it gives back is no longer its own.
      await sleeper.release()
      expect((await row(name))?.owner).toBe('next')
      expect((await row('1/4'))?.owner ?? null).toBe(name === '1/4' ? 'next' : null)
    },
  )

  it('a sleeper whose tenants nobody else took goes on', async () => {
    const sleeper = await claim('1/4')
    await expire('1/4')
    await commit(await claim('2/4'))
    await commit(sleeper)
  })

  it('a name never gets a token twice', async () => {
    const seen = new Map<string, number[]>()
    for (const name of ['0/2', 'run', '1/2', '0/2', '0/3', 'run', '0/2', '0/2', 'run']) {
      const lease = await claim(name)
      seen.set(name, [...(seen.get(name) ?? []), Number(lease.fence.token)])
      if (name !== '0/2') await lease.release()
      else await expire(name)
    }
    for (const tokens of seen.values()) expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b))
  })

  const orders = ['1/4', 'run', '0/2'].flatMap((next) =>
    [-hour, 0n, hour].flatMap((a) => [-hour, 0n, hour].map((b) => [next, a, b] as const)),
  )
  it.each(orders)(
    'the next holder of a tenant (%s) stamps later, with clocks off by %i and then by %i',
    async (next, former, latter) => {
      const claimWith = async (name: string, by: bigint) => {
        const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
        const stamps = new Stamps(clock)
        const request = { runId: name, command: 'sync', clock, leaseMs: 60_000, stamps }
        const lease = await takeLease(warehouse.dialect, { ...request, shard: shardOf(name) })
        held.push(lease)
        return { stamps, lease }
      }
      const killed = await claimWith('1/4', former)
      const last = Array.from({ length: 100 }, () => killed.stamps.next()).at(-1)!
      await expire('1/4')
      const later = await claimWith(next, latter)
      expect(later.stamps.next()).toBeGreaterThan(last)
      const from = toMicros(String((await row(next))?.stamps_from))
      expect(from).toBeGreaterThan(last)
      // Given back, it is as on record as before.
      await later.lease.release()
      const third = await claimWith('1/4', -hour)
      expect(third.stamps.next()).toBeGreaterThan(later.stamps.newest)
      await third.lease.release()
    },
  )

  it('of many that start together, none begins later than the clock for the others', async () => {
    const begun = systemClock.nowMicros()
    for (let index = 0; index < 16; index++) {
      const stamps = new Stamps(systemClock)
      const request = { runId: `${index}`, command: 'sync', clock: systemClock, leaseMs: 60_000, stamps }
      held.push(await takeLease(warehouse.dialect, { ...request, shard: { index, of: 16 } }))
      expect(stamps.next() - systemClock.nowMicros()).toBeLessThan(1_000_000n)
    }
    expect((await row('15/16'))?.stamps_from).not.toBeNull()
    expect(String((await row('15/16'))?.stamps_from) > String((await row('0/16'))?.stamps_from)).toBe(true)
    expect(systemClock.nowMicros()).toBeGreaterThan(begun)
  })

  it('while a command waits for the whole warehouse, neither a shard nor a listener begins', async () => {
    await claim('0/2')
    await wantLease(warehouse)
    await expect(claim('1/2')).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/^Another command is waiting for /),
    })
    await expect(claim('1/2', listenCommand)).rejects.toThrow(/is waiting for/)
    // Who waited and was killed is not waited for.
    await warehouse.write([
      warehouse.db
        .updateTable('sync_lease')
        .set({ wanted_at: fromMicros(systemClock.nowMicros() - 16_000_000n) })
        .where('name', '=', 'run')
        .compile(),
    ])
    await commit(await claim('1/2'))
  })

  it('a command that needs the whole warehouse waits for shards, which hear of it', async () => {
    const shard = await claimLease(warehouse, {
      runId: 'shard',
      command: 'sync',
      leaseMs: 400,
      shard: { index: 0, of: 2 },
    })
    const told: string[] = []
    const needs = { warehouse, clock: systemClock, observer: { waiting: (text: string) => told.push(text) } }
    const forgetting = openLease(needs, 'forget')
    await new Promise((resolve) => shard.wanted.addEventListener('abort', resolve))
    expect(shard.wanted.reason).toMatchObject({ exitCode: 1, details: { code: 'wanted' } })
    expect(shard.lost.aborted).toBe(false)
    await commit(shard)
    await shard.release()
    const lease = await forgetting
    expect(told).toEqual([expect.stringContaining('has held shard 0/2 of ')])
    expect(await row('run')).toMatchObject({ owner: lease.runId, wanted_at: null })
    await lease[Symbol.asyncDispose]()
    await claim('0/2')
  })

  it('a claim that does not wait asks for nothing', async () => {
    await claim('0/2')
    await expect(openLease({ warehouse, clock: systemClock, patience: 0 }, 'sync')).rejects.toMatchObject({
      exitCode: 4,
    })
    expect(await row('run')).toMatchObject({ wanted_at: null })
  })

  it('a shard asks a listener for its own row: the listener hears of it, and no other shard', async () => {
    const listener = await claim('run', listenCommand)
    const before = await wishes(warehouse)
    const opening = openLease({ warehouse, clock: systemClock, shard: shardOf('0/2') }, 'sync')
    await expect.poll(() => wishes(warehouse)).not.toBe(before)
    expect(await row('run')).toMatchObject({ wanted_at: null })
    await listener.release()
    await expect(claim('run', listenCommand, 'again')).rejects.toMatchObject({ exitCode: 4 })
    await claim('1/2')
    const lease = await opening
    expect(await row('0/2')).toMatchObject({ owner: lease.runId, wanted_at: null })
    await lease[Symbol.asyncDispose]()
  })

  it('a listener takes turns beside shards, and makes room for a shard that wants its own', async () => {
    await claim('0/2')
    const listener = await claim('1/2', listenCommand)
    const before = await wishes(warehouse, shardOf('1/2'))
    await wantLease(warehouse, '0/2')
    expect(await wishes(warehouse, shardOf('1/2'))).toBe(before)
    await wantLease(warehouse, '1/2')
    expect(await wishes(warehouse, shardOf('1/2'))).not.toBe(before)
    await listener.release()
    await expect(claim('1/2', listenCommand)).rejects.toThrow(/is waiting for/)
    await commit(await claim('1/2'))
  })

  it('those at work are shown by shard', async () => {
    await claim('10/12')
    await claim('9/12')
    const holders = await readHolders(warehouse.db, systemClock.nowMicros())
    expect(holders.map(({ shard, run_id }) => [shard, run_id])).toEqual([
      ['9/12', 'of 9/12'],
      ['10/12', 'of 10/12'],
    ])
  })
})

describe('the runs of shards', () => {
  const tenants = [1, 2, 3, 4]
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(postgres)
  })
  afterAll(() => warehouse.close())

  it('one of them asks who is granted, once an hour, and the others go by what it stored', async () => {
    const sandbox = await sandboxWith(tenants)
    const asked = (): number => {
      const { length } = sandbox.requests.filter(({ path }) => path.endsWith('/authorizations'))
      sandbox.resetRequests()
      return length
    }
    const run = (index: number) => sync(sandbox, warehouse, { ...notes, shard: { index, of: 2 } })
    const reports = [...(await Promise.all([run(0), run(1)])), await run(1)]
    expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    expect(asked()).toBe(1)
    const mark = warehouse.db
      .updateTable('sync_meta')
      .set({ value: fromMicros(systemClock.nowMicros() - hour - 1_000_000n) })
      .where('name', '=', 'grants_asked_at')
    await warehouse.write([mark.compile()])
    await run(0)
    await run(1)
    expect(asked()).toBe(1)
    // Without shards, each run asks.
    await sync(sandbox, warehouse, notes)
    await sync(sandbox, warehouse, notes)
    expect(asked()).toBe(2)
    expect(await rowsOf(warehouse, 'sync_runs')).toContainEqual(expect.objectContaining({ shard: '1/2' }))
    expect((await rowsOf(warehouse, 'sync_runs')).filter(({ shard }) => shard === null)).toHaveLength(2)
    const numbers = (await rowsOf(warehouse, 'sync_runs')).map(({ seq }) => seq)
    expect(new Set(numbers).size).toBe(numbers.length)
  })

  it('an older answer does not replace a newer one', async () => {
    const row = (writable: boolean, _synced_at: string) => [
      ...grantTenants(warehouse.db, [{ tenant_id: 1, writable, _synced_at } as never]),
    ]
    const now = systemClock.nowMicros()
    await using _ = await openLease(
      { warehouse, clock: systemClock, stamps: new Stamps(systemClock) },
      'sync',
    )
    await warehouse.write(row(true, fromMicros(now)))
    await warehouse.write(row(false, fromMicros(now - 1_000_000n)))
    const stored = async () => (await rowsOf(warehouse, 'tenants')).find(({ tenant_id }) => tenant_id === 1)
    expect(await stored()).toMatchObject({ writable: true })
    // A stamp that nobody can have given decides nothing.
    await warehouse.write(row(true, fromMicros(now + hour)))
    await warehouse.write(row(false, fromMicros(now)))
    expect(await stored()).toMatchObject({ writable: false })
  })

  it('end for a command that needs the whole warehouse: the page in hand is stored, the rest is skipped', async () => {
    const sandbox = await sandboxWith(tenants)
    let seen = 0
    const options: RunOptions = { concurrency: 1, leaseMs: 400, resources: ['notes', 'statuses'] }
    let forgetting: ReturnType<typeof openLease> | undefined
    sandbox.onRequest(async ({ resource }) => {
      if (resource !== 'notes' || ++seen > 1) return
      forgetting = openLease({ warehouse, clock: systemClock }, 'forget')
      // Longer than a heartbeat: the wish is heard while the page is under way.
      await new Promise((resolve) => setTimeout(resolve, 600))
    })
    const report = await sync(sandbox, warehouse, { ...options, shard: { index: 0, of: 1 } })
    expect(report).toMatchObject({ reason: 'wanted' })
    expect(report.status).not.toBe('ok')
    const skipped = report.cursors.filter(({ status }) => status === 'skipped')
    expect(skipped.length).toBeGreaterThan(0)
    expect(skipped.every(({ reason }) => reason === 'wanted')).toBe(true)
    const lease = await forgetting!
    expect((await readHolders(warehouse.db, systemClock.nowMicros())).map(({ command }) => command)).toEqual([
      'forget',
    ])
    await lease[Symbol.asyncDispose]()
  })

  it('end for a job that waits for all of them, and not for one that does not wait', async () => {
    const clock = { ...systemClock, sleep: (ms: number) => systemClock.sleep(Math.min(ms, 100)) }
    const { deps, close } = await depsOf(await sandboxWith(tenants), warehouse, { clock })
    const plan = { name: 'hourly', steps: [], timeLimit: undefined, onFailure: 'stop' } as const
    const shard = await claimLease(warehouse, {
      runId: 'shard',
      command: 'sync',
      leaseMs: 400,
      shard: { index: 0, of: 2 },
    })
    await expect(runJob(deps, { ...plan, wait: 0 })).rejects.toMatchObject({ exitCode: 4 })
    expect(await lockHolder(warehouse)).toMatchObject({ wanted_at: null })
    const waiting = runJob(deps, { ...plan, wait: 60_000 })
    await new Promise((resolve) => shard.wanted.addEventListener('abort', resolve))
    await shard.release()
    expect(await waiting).toMatchObject({ job: 'hourly' })
    await close()
  })

  it('are no orphans while they have a lease, also when others begin beside them', async () => {
    const sandbox = await sandboxWith(tenants)
    const insert = (run_id: string) =>
      warehouse.db.insertInto('sync_runs').values({ run_id, status: 'running', mode: 'sync' }).compile()
    const claim = (index: number, runId: string) =>
      claimLease(warehouse, { runId, command: 'sync', leaseMs: 60_000, shard: { index, of: 3 } })
    const [alive, killed] = [await claim(1, 'alive'), await claim(2, 'killed')]
    await warehouse.write([insert('alive'), insert('killed')])
    await warehouse.write([
      warehouse.db
        .updateTable('sync_lease')
        .set({ host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' })
        .where('name', '=', '2/3')
        .compile(),
    ])
    const statusOf = async (id: string) =>
      (await rowsOf(warehouse, 'sync_runs')).find(({ run_id }) => run_id === id)?.status
    const run = (index: number) => sync(sandbox, warehouse, { ...notes, shard: { index, of: 3 } })
    await run(0)
    expect([await statusOf('alive'), await statusOf('killed')]).toEqual(['running', 'running'])
    const holders = await readHolders(warehouse.db, systemClock.nowMicros())
    expect(holders.map(({ run_id }) => run_id)).toEqual(['alive'])
    expect(await readLastRun(warehouse.db, holders)).toMatchObject({ ended_without_a_word: false })
    await run(2)
    expect([await statusOf('alive'), await statusOf('killed')]).toEqual(['running', 'interrupted'])
    await Promise.all([alive.release(), killed.release()])
  })
})

const notes = { resources: ['notes'] } satisfies RunOptions
const sandbox = await sandboxOfFile()

/** A source with these tenants, a note each. */
async function sandboxWith(tenants: readonly number[]) {
  for (const id of tenants) {
    if (sandbox.tenantIds.includes(id)) continue
    sandbox.store.addTenant({ id })
    for (const resource of ['notes', 'statuses'])
      sandbox.store.put(id, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
  }
  sandbox.resetRequests()
  return sandbox
}

describe('shards of other configurations', () => {
  const utc = '{"program":"1","report.timeZone":"utc"}'
  const berlin = '{"program":"1","report.timeZone":"berlin"}'

  it('work beside each other, and say which settings differ', async () => {
    const address = await postgres.migrated()
    const start = async (text: string): Promise<Warehouse> => {
      const one = await openWarehouse({ ...address, model: known, rowSettings: new RowSettings(text) })
      await migrate(one)
      return one
    }
    const told: unknown[] = []
    const observer = { warning: (_: string, fields: unknown) => told.push(fields) }
    const [one, other] = [await start(utc), await start(berlin)]
    const claim = (warehouse: Warehouse, index: number) =>
      openLease({ warehouse, clock: systemClock, shard: { index, of: 2 }, observer }, 'sync')
    const first = await claim(one, 0)
    const second = await claim(other, 1)
    expect(told).toEqual([{ settings: 'report.timeZone' }])
    await first[Symbol.asyncDispose]()
    // Beside nobody, the rule of every run holds.
    const third = await claim(one, 0)
    expect(told).toHaveLength(2)
    await Promise.all([second, third].map((lease) => lease[Symbol.asyncDispose]()))
    await Promise.all([one, other].map((warehouse) => warehouse.close()))
  })
})
