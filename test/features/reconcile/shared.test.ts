/**
 * Services that two live orders show (docs/reconcile.md): the source is queried once, by id, for the order that was
 * shown earlier, and what is still double is counted. Two tenants have orders and services with the same ids.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { parseInt64 } from '../../../src/engine/base/int64.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { tellWhy } from '../../../src/features/why/work.js'
import { type Motion, transfer } from '../../../src/sandbox/index.js'
import {
  depsOf,
  known,
  markDeleted,
  type RunOptions,
  type RunReport,
  SharedLook,
  sync,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { ask, prepareViews } from '../../support/harness/views.js'
import {
  bothWarehouses,
  kept,
  open,
  rowsOf,
  SharedRows,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { expectOracle } from '../../support/oracle/business/stored.js'
import { compare, expected } from '../../support/oracle/cells.js'
import { keeping } from '../../support/oracle/versions.js'
import { HandClock } from '../../support/world/clocks.js'
import { labor, order, part, type ServiceOfOrder, stamp, storeOrders } from '../../support/world/orders.js'

const orders = 'repair_orders'
type Fields = Readonly<Record<string, unknown>>

const sandbox = await sandboxOfFile()
const hour = 3600
/** Waits take no time. */
const clock = new HandClock('2026-06-01T12:00:00Z', 10n)

const service = (id: number): ServiceOfOrder => ({
  id,
  labors: [labor(1)],
  parts: [part(2, 100 + (id % 50))],
})

/** Stores an order with services of these ids, changed in that hour. */
function put(id: number, services: readonly number[], at: number, tenant = 7): void {
  const items = services.map(service)
  const record = order(id, [], { updated_at: stamp(at * hour) })
  const made = items.flatMap((one) => order(one.id as number, [one]).services as readonly Fields[])
  sandbox.store.put(tenant, orders, { ...record, services: made })
}

/** Moves a service; of the two orders, the one that gets it is changed in that hour. */
function move(from: number, to: number, at: number, stamps: 'both' | 'to' = 'to', tenant = 7): void {
  transfer(sandbox.store, tenant, orders, { from, to, n: 1, stamps: 'none' })
  for (const id of stamps === 'both' ? [from, to] : [to])
    sandbox.store.put(tenant, orders, {
      ...sandbox.store.get(tenant, orders, id),
      updated_at: stamp(at * hour),
    } as never)
}

/** The orders that were requested by id since the last call. */
function lookups(): string[] {
  const asked = sandbox.requests.filter(({ resource, id }) => resource === orders && id !== null)
  sandbox.resetRequests()
  return asked.map(({ tenant, id }) => `${tenant}/${id}`).sort()
}

const cursorOf = (report: RunReport, tenant = 7) =>
  report.cursors.find(({ resource, tenant_id }) => resource === orders && tenant_id === tenant)!

const run = (warehouse: Warehouse, options: RunOptions = {}): Promise<RunReport> =>
  sync(sandbox, warehouse, { resources: [orders], concurrency: 1, clock, ...options })

/** What was stored before a service moved without a new stamp of its order. */
async function moved(warehouse: Warehouse): Promise<void> {
  await run(warehouse)
  move(1, 2, 10)
  lookups()
}

async function sharedOf(warehouse: Warehouse): Promise<Record<string, number>> {
  const options = { nowMicros: clock.nowMicros(), resources: [orders] }
  const { tenants } = await statusOf(sandbox, warehouse, options)
  return Object.fromEntries(tenants.map(({ tenant_id, shared_services }) => [tenant_id, shared_services]))
}

async function expectEqual(warehouse: Warehouse): Promise<void> {
  await compare(warehouse, expected(sandbox))
  await expectOracle(warehouse)
}

beforeEach(() => {
  sandbox.reset()
  for (const id of [7, 8]) sandbox.store.addTenant({ id })
  put(1, [10, 11], 0, 8)
  put(2, [12], 5, 8)
  put(1, [10, 11], 0)
  put(2, [12], 5)
})
afterEach(() => vi.restoreAllMocks())

describe.each(bothWarehouses())('$name', (kind) => {
  const own = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await own.open()
  })
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  it('requests the order that lost a service without a new stamp', async () => {
    await moved(warehouse)
    const report = await run(warehouse)
    // The list of each tenant, and the order.
    expect([report.requests, cursorOf(report).requests, lookups()]).toEqual([4, 2, ['7/1']])
    expect([report.status, cursorOf(report).completeness]).toEqual(['ok', 'proven'])
    // A service, with its labor and part, moved from one order to the other.
    expect(cursorOf(report)).toMatchObject({ rows_deleted: 3, records: 2, records_changed: 1 })
    await expectEqual(warehouse)
    expect(await sharedOf(warehouse)).toEqual({ 7: 0, 8: 0 })
  })

  test('marks the missing order deleted in the same run', async () => {
    await moved(warehouse)
    move(1, 2, 11)
    sandbox.store.remove(7, orders, 1)
    lookups()
    const report = await run(warehouse)
    // One of the existing orders is requested, too: the source answers by id.
    expect(lookups()).toEqual(['7/1', '7/2'])
    expect(report.status).toBe('ok')
    const [gone] = await rowsOf(warehouse, 'repair_order_totals')
    expect(gone).toMatchObject({ repair_order_id: 1, _deleted_at: expect.any(String) })
    await expectEqual(warehouse)
    expect(await sharedOf(warehouse)).toEqual({ 7: 0, 8: 0 })
    await run(warehouse)
    expect(lookups()).toEqual([])
  })

  test('asks once about a service that two orders have, and again when one of them changes', async () => {
    put(3, [10], 5)
    await run(warehouse)
    expect(lookups()).toEqual(['7/1'])
    await run(warehouse)
    expect(lookups()).toEqual([])
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    put(3, [10, 13], 10)
    await run(warehouse)
    expect(lookups()).toEqual(['7/1'])
    await run(warehouse)
    await run(warehouse, { mode: 'reconcile' })
    expect(lookups()).toEqual([])
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    put(3, [10], 20)
    await run(warehouse)
    expect(lookups()).toEqual(['7/1'])
    await expectEqual(warehouse)
    put(3, [13], 30)
    await run(warehouse)
    expect([lookups(), await sharedOf(warehouse)]).toEqual([[], { 7: 0, 8: 0 }])
    await expectEqual(warehouse)
  })

  test('leaves the check to the next run if the current one ends before it', async () => {
    await moved(warehouse)
    sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 401 } }])
    await expect(run(warehouse)).rejects.toThrow()
    sandbox.script([])
    expect(await sharedOf(warehouse)).toEqual({ 7: 0, 8: 0 })
    lookups()
    // Nothing has changed since.
    const report = await run(warehouse)
    expect([lookups(), cursorOf(report).rows_deleted]).toEqual([['7/1'], 3])
    await expectEqual(warehouse)
  })
})

describe.each(warehouses())('$name', (kind) => {
  const own = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await own.open()
  })

  it('an idle run queries neither source nor warehouse', async () => {
    await moved(warehouse)
    await run(warehouse)
    lookups()
    const has = vi.spyOn(SharedRows.prototype, 'has')
    const look = vi.spyOn(SharedRows.prototype, 'look')
    const writes = vi.spyOn(warehouse, 'write')
    const idle = await run(warehouse)
    const statements = writes.mock.calls.flatMap(([all]) => all.map(({ sql: text }) => text))
    expect([has.mock.calls, look.mock.calls, lookups(), idle.requests]).toEqual([[], [], [], 3])
    expect(statements.filter((text) => text.includes('shared_services'))).toEqual([])
    // A run that changes orders queries the warehouse once about its changes, and goes no further.
    put(2, [12, 10], 20)
    await run(warehouse)
    expect([has.mock.calls.length, look.mock.calls.length]).toEqual([1, 0])
  })

  it('the query for written rows uses the index', async () => {
    const most = 20_000
    const rows = Array.from({ length: most }, (_, i) => ({
      tenant_id: 7,
      repair_order_id: 1 + Math.floor(i / 2),
      id: 100 + i,
      position: i % 2,
      _synced_at: stamp(0),
    }))
    for (let i = 0; i < most; i += 1000)
      await warehouse.write([
        warehouse.db
          .insertInto('repair_order_services')
          .values(rows.slice(i, i + 1000) as never)
          .compile(),
      ])
    await warehouse.dialect.bulk.optimize(known.byName.get(orders)!.tables)
    const [root, nested] = known.byName.get(orders)!.tables
    const shared = new SharedRows(warehouse, 7, root!, nested!)
    const ids = Array.from({ length: 100 }, (_, i) => 1 + i * 50)
    const query = shared.sharedBy(warehouse.db, ids).compile()
    const explained = await warehouse.db.executeQuery({
      ...query,
      sql: `explain ${kind.name === 'sqlite' ? 'query plan ' : ''}${query.sql}`,
    })
    const plan = explained.rows.flatMap((row) => Object.values(row as object)).map(String)
    expect(plan.filter((line) => /scan/i.test(line) && !/index/i.test(line))).toEqual([])
    expect(plan.join('\n')).toMatch(
      kind.name === 'sqlite' ? /SEARCH o USING .*INDEX \w+ \(tenant_id=\? AND id=\?\)/ : /Index.* Scan/,
    )
    expect(await shared.has(ids)).toBe(false)
  })

  it('names how the order was fetched, and keeps the ended version', async () => {
    const versioned = await open(kind, keeping)
    await run(versioned, { known: keeping })
    move(1, 2, 10)
    await run(versioned, { known: keeping })
    const { deps, close } = await depsOf(sandbox, versioned, { known: keeping })
    const why = await tellWhy(deps, { table: orders, id: '1', tenants: [7] })
    await close()
    expect(why.rows[0]?.brought).toMatchObject({
      certainty: 'exact',
      way: 'lookup',
      page: null,
      mode: 'sync',
    })
    expect(why.rows[0]?.source).toMatchObject({ answer: 'exists', differences: [] })
    const history = await rowsOf(versioned, `${orders}_history`)
    const servicesOf = ({ _children }: Record<string, unknown>): unknown =>
      (_children as Record<string, { id: number }[]>).repair_order_services!.map(({ id }) => id)
    expect(history.map((row) => [row.tenant_id, row.id, row._ended_by, servicesOf(row)])).toEqual([
      [7, 1, 'replaced', [10, 11]],
      [7, 2, 'replaced', [12]],
    ])
    await compare(versioned, expected(sandbox))
    await versioned.close()
  })

  it("only counts if the source doesn't answer by id", async () => {
    await moved(warehouse)
    const unanswered: Motion[] = []
    sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 }, before: unanswered }])
    lookups()
    const notices: [string, Record<string, unknown>][] = []
    expect((await run(warehouse, { notices })).status).toBe('ok')
    expect(lookups()).toEqual(['7/1', '7/2'])
    expect(notices.map(([text]) => text)).toContain(
      'The source does not answer by id; rows that two records share are counted and stay',
    )
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    expect((await rowsOf(warehouse, orders)).every(({ _deleted_at }) => _deleted_at === null)).toBe(true)
    await run(warehouse)
    expect(lookups()).toEqual([])
  })

  it("one order whose answer breaks doesn't keep others from being requested", async () => {
    put(3, [14], 0)
    await moved(warehouse)
    move(3, 2, 11)
    sandbox.script([{ when: { kind: 'item', id: 1 }, fault: { kind: 'status', status: 500 } }])
    const notices: [string, Record<string, unknown>][] = []
    await run(warehouse, { notices })
    expect(notices).toContainEqual([
      'Records that share rows with others could not be fetched by id; the next run tries again',
      { tenant_id: 7, resource: orders, records: 1 },
    ])
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    sandbox.script([])
    lookups()
    await run(warehouse)
    expect(lookups()).toEqual(['7/1'])
    await expectEqual(warehouse)
  })

  it('keeps a newer version than the source has by id; reconcile follows the source', async () => {
    put(1, [10, 11], 9)
    await run(warehouse)
    // Once stamped an hour ahead: its next version is older, and was changed before the other order.
    put(1, [11], 4)
    put(2, [12, 10], 10)
    lookups()
    await run(warehouse)
    expect(lookups()).toEqual(['7/1'])
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    await run(warehouse)
    expect(lookups()).toEqual([])
    const report = await run(warehouse, { mode: 'reconcile', full: true })
    expect(cursorOf(report)).toMatchObject({ status: 'ok', reason: 'source_went_back' })
    await expectEqual(warehouse)
    expect(await sharedOf(warehouse)).toEqual({ 7: 0, 8: 0 })
  })

  it('believes no more deletions than reconcile would', async () => {
    for (let id = 3; id <= 60; id++) put(id, [100 + id], 0)
    await run(warehouse)
    for (let id = 3; id <= 20; id++) {
      move(id, 2, 10 + id)
      sandbox.store.remove(7, orders, id)
    }
    const report = await run(warehouse)
    expect(cursorOf(report)).toMatchObject({ status: 'failed', reason: 'breaker' })
    expect((await rowsOf(warehouse, orders)).every(({ _deleted_at }) => _deleted_at === null)).toBe(true)
    const accepted = await run(warehouse, { mode: 'reconcile', acceptDeletes: true })
    expect(cursorOf(accepted)).toMatchObject({ status: 'ok', rows_deleted: 18 })
    await expectEqual(warehouse)
  })

  it('requests a hundred orders per run, and continues with the rest', async () => {
    for (let id = 3; id <= 132; id++) put(id, [1000 + id], 0)
    await run(warehouse)
    for (let id = 3; id <= 132; id++) move(id, 2, 10)
    lookups()
    const first = await run(warehouse)
    expect([lookups().length, cursorOf(first).rows_deleted, await sharedOf(warehouse)]).toEqual([
      100,
      300,
      { 7: 30, 8: 0 },
    ])
    await run(warehouse)
    expect([lookups().length, await sharedOf(warehouse)]).toEqual([30, { 7: 0, 8: 0 }])
    await expectEqual(warehouse)
  })

  it('requests nothing if ids are clearly not unique, and reports that once', async () => {
    for (let id = 3; id <= 60; id++) put(id, [10], id)
    const notices: [string, Record<string, unknown>][] = []
    lookups()
    await run(warehouse, { notices })
    for (let i = 1; i <= 3; i++) {
      put(2, [10], 100 + i)
      await run(warehouse, { notices, ...(i === 3 && { mode: 'reconcile' }) })
    }
    expect(lookups()).toEqual([])
    expect(notices.filter(([text]) => text.startsWith('So many records share nested rows'))).toHaveLength(1)
    expect(await sharedOf(warehouse)).toEqual({ 7: 1, 8: 0 })
    const many = vi.spyOn(SharedRows.prototype, 'look')
    await run(warehouse)
    expect(many).not.toHaveBeenCalled()
    // Few share it by now.
    for (let id = 6; id <= 60; id++) put(id, [100 + id], 200)
    await run(warehouse)
    expect([lookups().length > 0, await sharedOf(warehouse)]).toEqual([true, { 7: 1, 8: 0 }])
    await expectEqual(warehouse)
  })

  it('reconcile checks all services', async () => {
    // So many newer orders that neither a sync nor a comparison reads the second one again.
    for (let id = 3; id <= 152; id++) put(id, [1000 + id], 9)
    await run(warehouse)
    // An older program stored it, and recorded nothing about it.
    const stored = order(2, [service(12), service(10)], { updated_at: stamp(5 * hour) })
    await storeOrders(warehouse, [stored], fromMicros(systemClock.nowMicros()))
    lookups()
    await run(warehouse)
    expect(lookups()).toEqual([])
    await run(warehouse, { mode: 'reconcile' })
    expect(lookups()).toContain('7/1')
  })

  it('a deleted order shares nothing, and shares again when it comes back', async () => {
    await run(warehouse)
    const task = { tenantId: parseInt64('7')!, resource: known.byName.get(orders)! }
    // Its request started after the one that fetched the row: stamps may be ahead of the test's clock.
    const [askedAt = ''] = (await rowsOf(warehouse, orders))
      .map((row) => String(row._synced_at))
      .toSorted()
      .reverse()
    await markDeleted(warehouse, task, [{ id: 1, updatedAt: stamp(0), askedAt }])
    put(2, [12, 10], 10)
    lookups()
    await run(warehouse)
    expect([lookups(), await sharedOf(warehouse)]).toEqual([[], { 7: 0, 8: 0 }])
    put(3, [13], 15)
    await run(warehouse)
    put(1, [10], 20)
    await run(warehouse)
    expect([lookups(), await sharedOf(warehouse)]).toEqual([['7/2'], { 7: 1, 8: 0 }])
  })

  it('a backfill asks, too', async () => {
    await moved(warehouse)
    await run(warehouse, { mode: 'backfill', ranges: [{ from: stamp(9 * hour), to: stamp(11 * hour) }] })
    expect(lookups()).toEqual(['7/1'])
    await expectEqual(warehouse)
  })

  it('totals_check counts what is in two sums', async () => {
    const invoices = (id: number, services: readonly number[], at: number, more: Fields): void => {
      put(id, services, at)
      const record = sandbox.store.get(7, orders, id)
      sandbox.store.put(7, orders, { ...record, closed_at: stamp(at * hour), ...more } as never)
    }
    invoices(1, [10, 11], 0, {})
    invoices(2, [10, 11, 12], 24 * 40, { shop_id: 2 })
    invoices(3, [11, 13], 24 * 80, { state: 'estimate', closed_at: null })
    invoices(4, [14], 24 * 80, { shop_id: 1 })
    await run(warehouse)
    await prepareViews(warehouse)
    await run(warehouse, { mode: 'full' })
    const shared = await ask(
      warehouse,
      'totals_check',
      'select tenant_id, shop_id, month, invoices, shared_services from {view} where tenant_id = 7 order by month',
    )
    expect(shared).toMatchObject([
      { shop_id: 1, month: '2026-01', invoices: 1, shared_services: 2 },
      { shop_id: 2, month: '2026-02', invoices: 1, shared_services: 2 },
      { shop_id: 1, month: '2026-03', invoices: 1, shared_services: 0 },
    ])
    expect(await sharedOf(warehouse)).toEqual({ 7: 2, 8: 0 })
  })
})

describe('catches a wrong way:', () => {
  const own = kept(warehouses()[0]!)

  /** What the first tests of this file see, one after the other. */
  async function lose(): Promise<void> {
    const warehouse = await own.open()
    await moved(warehouse)
    put(3, [14], 20)
    await run(warehouse)
    await expectEqual(warehouse)
    move(3, 2, 30)
    sandbox.store.remove(7, orders, 3)
    await run(warehouse)
    await expectEqual(warehouse)
  }

  it('accepts the right way', async () => {
    await expect(lose()).resolves.toBeUndefined()
  })

  it.each<[string, () => unknown]>([
    [
      'what the run wrote is not looked for under other records',
      () => vi.spyOn(SharedRows.prototype, 'has').mockResolvedValue(false),
    ],
    [
      'nobody is asked',
      () => vi.spyOn(SharedLook.prototype, 'ask').mockResolvedValue({ asked: 0, ids: new Set(), unread: [] }),
    ],
    ['a 404 marks nothing', () => vi.spyOn(SharedLook.prototype, 'markGone').mockResolvedValue()],
    [
      'the record that was shown later is asked for',
      () => {
        const sound = SharedRows.prototype.look
        vi.spyOn(SharedRows.prototype, 'look').mockImplementation(async function (this: SharedRows) {
          const found = await sound.call(this)
          return {
            ...found,
            pairs: found.pairs.map(({ older, newer }) => ({ older: newer, newer: older })),
          }
        })
      },
    ],
  ])('%s', async (_name, breakIt) => {
    breakIt()
    await expect(lose()).rejects.toThrow(/expected/)
  })
})
