/** An interrupted copy continues and equals the original in the end; an unsuitable target is refused and left alone. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { copied } from '../../support/harness/clones.js'
import { databaseAt, onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { Killed, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import { isWhole, sized } from '../../support/harness/size.js'
import {
  bothWarehouses,
  claimLease,
  type Kind,
  migrate,
  openAt,
  plannedChanges,
  postgresUrl,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { copyInto, cutShort, everything, look, opener, rich } from '../../support/world/copying.js'
import { atEachMoment, bury, killsAt, through } from '../../support/world/through.js'
import { keptWarehouse } from '../../support/world/upgrades.js'

const sandbox = await sandboxOfFile()
const [sqlite] = bothWarehouses() as [Kind, Kind]

const time = (n: number): string => `2026-03-01T00:${String(n).padStart(2, '0')}:00.000000Z`
const put = (id: number, more: object = {}): void =>
  sandbox.store.put(1, 'notes', { ...template('notes', id, time(id)), ...more })

/** A small one, so that every moment of its copy can be tried. */
async function original(kind: Kind): Promise<Address> {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 9; id++) put(id)
  sandbox.store.put(1, 'repair_orders', template('repair_orders', 1, time(1)))
  const address = kind.address()
  const warehouse = await reopen(address, rich)
  await migrate(warehouse)
  await sync(sandbox, warehouse, { known: rich, resources: ['notes', 'repair_orders'] })
  await warehouse.close()
  return address
}

async function change(address: Address): Promise<void> {
  put(3, { description: 'changed', updated_at: time(30) })
  put(40)
  sandbox.store.remove(1, 'notes', 5)
  const warehouse = await reopen(address, rich)
  const options = { known: rich, resources: ['notes', 'repair_orders'] }
  // Like history that is thinned out.
  await warehouse.write([warehouse.db.deleteFrom('sync_requests').compile()])
  await sync(sandbox, warehouse, options)
  await sync(sandbox, warehouse, { ...options, mode: 'reconcile', acceptDeletes: true })
  await warehouse.close()
}

/** From the nth moment on, nothing reaches the target any more. */
function crashing(address: Address, at: number, onMoment?: (n: number) => void) {
  const kill = killsAt(at, onMoment)
  return async (how?: { readonly existing?: boolean }): Promise<Warehouse> => {
    const warehouse = await opener(address)(how)
    return through(warehouse, atEachMoment(warehouse.dialect, kill))
  }
}

/** Whether the target knows that it is an unfinished copy. */
async function isMarked(address: Address): Promise<boolean> {
  const warehouse = await reopen(address, rich)
  const names = (await warehouse.has('sync_meta')) ? await rowsOf(warehouse, 'sync_meta') : []
  await warehouse.close()
  return names.some(({ name }) => name === 'copy')
}

async function buryAt(address: Address): Promise<void> {
  const warehouse = await reopen(address, rich)
  if (await warehouse.has('sync_lease')) await bury(warehouse)
  await warehouse.close()
}

const ways = bothWarehouses().flatMap((kind) =>
  bothWarehouses()
    .filter((other) => other.name === 'sqlite' || kind.name === 'sqlite')
    .map((other) => [`${kind.name} to ${other.name}`, kind, other] as const),
)

describe.each(ways)('%s', (_way, kind, other) => {
  let from: Address
  let wanted: unknown
  let moments = 0
  beforeAll(async () => {
    from = await original(kind)
    wanted = await look(from)
    const whole = crashing(other.address(), Number.POSITIVE_INFINITY, (n) => {
      moments = n
    })
    await copyInto(from, other.address(), { openTarget: whole })
  })

  it('is the same after a crash at any moment, and again', { timeout: 3_600_000 }, async () => {
    expect(moments).toBeGreaterThan(100)
    // There are many statements on the same table and on similar tables: one of this many stands for its neighbors.
    const tried = sized(3, 120) / (other.name === 'sqlite' ? 1 : 3)
    const step = Math.max(1, Math.floor(moments / tried))
    for (let at = 1; at <= moments; at += step) {
      const to = other.address()
      // At the last moments, only the lease is left to release.
      await copyInto(from, to, { openTarget: crashing(to, at) }).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error
      })
      await buryAt(from)
      await buryAt(to)
      const isFinished = !(await isMarked(to)) && at > moments / 2
      if (!isFinished)
        expect((await copyInto(from, to)).status, `after moment ${at} of ${moments}`).toBe('ok')
      expect(await look(to), `after moment ${at} of ${moments}`).toEqual(wanted)
    }
  })

  it('equals the current original if that continued meanwhile', async () => {
    const to = other.address()
    const late = Math.floor(moments * 0.9)
    await expect(copyInto(from, to, { openTarget: crashing(to, late) })).rejects.toThrow(Killed)
    await buryAt(from)
    await buryAt(to)
    await change(from)
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
    expect(await look(to)).toEqual(await look(from))
  })
})

describe.each(bothWarehouses())('into $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let from: Address
  beforeAll(async () => {
    from = await original(sqlite)
  })

  test('is refused by every other command until it is complete', async () => {
    const to = kind.address()
    await cutShort(from, to)
    const half = await reopen(to, rich)
    await half.write([half.db.deleteFrom('sync_cursors').compile()])
    await half.close()
    const desk = new Desk(sandbox, to, ['notes'])
    for (const words of ['migrate', 'sync', 'plan', 'report --out /dev/null']) {
      const { code, stderr } = await desk.run(words)
      expect([words, code]).toEqual([words, 2])
      expect(stderr).toMatch(/is an unfinished copy of sqlite:[\s\S]*shopsync copy/)
    }
    expect(await refusal(copyInto(await copied(from), to))).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/is an unfinished copy of sqlite:.*, expected a copy of sqlite:/),
    })
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
  })

  // Its words are in test/transcripts/copy.txt.
  test('is refused if the target holds something else, and nothing is touched', async () => {
    const to = kind.name === 'sqlite' ? await copied(from) : await original(kind)
    const before = await look(to)
    expect(await refusal(copyInto(from, to))).toMatchObject({ exitCode: 2 })
    expect(await look(to)).toEqual(before)
  })

  test('accepts a target made by migrate, unless the original is older', async () => {
    const to = kind.address()
    await (await openAt(to, rich)).close()
    expect(await refusal(copyInto(await keptWarehouse(sqlite), to))).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('has newer tables than'),
    })
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    expect(await look(to)).toEqual(await look(from))
  })

  test("doesn't wait if another process holds either side (exit 4)", async () => {
    const to = kind.address()
    for (const held of [from, to]) {
      const holder = await openAt(held, rich)
      const lease = await claimLease(holder, { runId: 'other', command: 'sync', leaseMs: 60_000 })
      expect(await refusal(copyInto(from, to))).toMatchObject({ exitCode: 4 })
      await lease.release()
      await holder.close()
    }
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    for (const side of [from, to])
      expect(await new Desk(sandbox, side, []).rows('sync_lease')).toMatchObject([{ owner: null }])
  })

  test("reports it if the copy doesn't equal the original in the end, and doesn't finish it", async () => {
    const to = kind.address()
    const spoil = async (how?: { readonly existing?: boolean }): Promise<Warehouse> => {
      const warehouse = await opener(to)(how)
      const { bulk } = warehouse.dialect
      return through(warehouse, {
        bulk: {
          ...bulk,
          scan: async function* (held, table, rowsAtOnce) {
            for await (const rows of bulk.scan(held, table, rowsAtOnce))
              yield table.name === 'notes' ? rows.map((row) => row.with(3, 'other')) : rows
          },
        },
      })
    }
    const report = await copyInto(from, to, { openTarget: spoil })
    expect(report.status).toBe('differs')
    expect(report.tables.filter(({ equal }) => !equal)).toMatchObject([
      { table: 'notes', rows: 9, original: { rows: 9 } },
    ])
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
  })

  // Into another file, nothing can differ that isn't the same on Postgres.
  it.runIf(kind.name === 'postgres' || isWhole())(
    'copies a warehouse of 0.2.0 as it is, and the next run upgrades it',
    async () => {
      const from = await keptWarehouse(sqlite)
      const to = kind.address()
      expect(await copyInto(from, to)).toMatchObject({ status: 'ok', quarantined: 0 })
      const [mine, theirs] = [await reopen(from, rich), await reopen(to, rich)]
      // The lease is made again. Missing columns and tables, and what follows from that; the types have different names,
      // and all indexes are made.
      const lacking = async (warehouse: Warehouse): Promise<unknown[]> =>
        (await plannedChanges(warehouse))
          .filter(({ kind, table }) => kind !== 'index' && table !== 'sync_lease')
          .map(({ table, column, refills }) => [table, column?.name, refills(1)])
      expect(await lacking(theirs)).toEqual(await lacking(mine))
      for (const warehouse of [mine, theirs]) await migrate(warehouse)
      // What forget still has to look for stays with each file, and up to when its calendar goes.
      const compared = async (warehouse: Warehouse) => {
        const {
          sync_meta: meta = [],
          sync_cursors: cursors = [],
          sync_registers: registers = [],
          ...others
        } = await everything(warehouse)
        return {
          ...others,
          registers: registers.map(({ sketch: _, ...register }) => register),
          meta: meta.filter(({ name }) => name !== 'tenant_traces' && name !== 'calendar'),
          // Without when each was migrated.
          cursors: cursors.map(({ refill, ...cursor }) => [cursor, String(refill).replace(/ \(2.*/, '')]),
        }
      }
      expect(await compared(theirs)).toEqual(await compared(mine))
      // What nothing reads any more stays where it is.
      const hasSketch = async (warehouse: Warehouse) =>
        (await warehouse.columns()).some(({ name }) => name === 'sketch')
      expect([await hasSketch(mine), await hasSketch(theirs)]).toEqual([true, false])
      await mine.close()
      await theirs.close()
    },
  )
})

it('compares in the same order with a database of another language', async () => {
  const name = `copy_${randomBytes(6).toString('hex')}`
  const language = `locale_provider icu icu_locale 'en-US' locale 'C'`
  await onServer(postgresUrl(), `create database ${name} template template0 ${language}`)
  const to = { url: databaseAt(postgresUrl(), name), schema: 'shopsync' }
  const from = await original(sqlite)
  const warehouse = await reopen(from, rich)
  const drift = { resource: 'notes', kind: 'unknown_value', detail: '', tenant_id: 1 }
  const words = ['a', 'B', 'c', '_', 'é', 'Z', '🛠', '\ue000', ''].map((path) => ({ ...drift, path }))
  await warehouse.write([warehouse.db.insertInto('sync_drift').values(words).compile()])
  await warehouse.close()
  await cutShort(from, to)
  expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
})
