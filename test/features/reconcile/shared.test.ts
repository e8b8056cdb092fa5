/**
 * Services that two live orders show (docs/reconcile.md): the source is queried once, by id, for the order that was
 * shown earlier, and what is still double is counted. Two tenants have orders and services with the same ids.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { transfer } from '../../../src/sandbox/index.js'
import { why } from '../../support/harness/commands.js'
import {
  type CursorReport,
  known,
  markDeleted,
  type RunOptions,
  type RunReport,
  sync,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
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
  const made = services.flatMap((one) => order(one, [service(one)]).services as object[])
  sandbox.store.put(tenant, orders, {
    ...order(id, [], { updated_at: stamp(at * hour) }),
    services: made,
  })
}

/** Moves a service; the order that gets it is changed in that hour, and no other. */
function move(from: number, to: number, at: number): void {
  transfer(sandbox.store, 7, orders, { from, to, n: 1, stamps: 'none' })
  sandbox.store.put(7, orders, { ...sandbox.store.get(7, orders, to), updated_at: stamp(at * hour) } as never)
}

const unanswered = (status: number, id?: number): void =>
  sandbox.script([
    { when: { kind: 'item', ...(id !== undefined && { id }) }, fault: { kind: 'status', status } },
  ])

describe.each(bothWarehouses())('$name', (kind) => {
  const own = kept(kind)
  let warehouse: Warehouse
  let notices: [string, Record<string, unknown>][]
  beforeEach(async () => {
    sandbox.reset()
    notices = []
    for (const tenant of [8, 7]) {
      sandbox.store.addTenant({ id: tenant })
      put(1, [10, 11], 0, tenant)
      put(2, [12], 5, tenant)
    }
    warehouse = await own.open()
  })
  afterEach(() => vi.restoreAllMocks())
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  const run = (options: RunOptions = {}): Promise<RunReport> => {
    sandbox.resetRequests()
    return sync(sandbox, warehouse, { resources: [orders], concurrency: 1, clock, notices, ...options })
  }
  /** A run, the orders that it requests by id, and how many services are shared by then. */
  async function runAsking(
    /** Which orders; or how many, where Postgres may choose others first. */
    asked: readonly string[] | number,
    shared: number,
    options: RunOptions = {},
  ): Promise<CursorReport> {
    const { cursors } = await run(options)
    const ids = sandbox.requests.filter(({ resource, id }) => resource === orders && id !== null)
    const names = ids.map(({ tenant, id }) => `${tenant}/${id}`)
    expect(typeof asked === 'number' ? names.length : names.sort()).toEqual(asked)
    const { tenants } = await statusOf(sandbox, warehouse, {
      nowMicros: clock.nowMicros(),
      resources: [orders],
    })
    const counts = tenants.map(({ tenant_id, shared_services }) => [tenant_id, shared_services])
    expect(Object.fromEntries(counts)).toEqual({ 7: shared, 8: 0 })
    return cursors.find(({ resource, tenant_id }) => resource === orders && tenant_id === 7)!
  }
  async function expectEqual(): Promise<void> {
    await compare(warehouse, expected(sandbox))
    await expectOracle(warehouse)
  }
  /** What was stored before a service moved without a new stamp of its order. */
  async function moved(): Promise<void> {
    await run()
    move(1, 2, 10)
  }
  const noneDeleted = async (): Promise<void> =>
    expect((await rowsOf(warehouse, orders)).filter((row) => row._deleted_at !== null)).toEqual([])

  it('requests the order that lost a service without a new stamp', async () => {
    await moved()
    // The list of each tenant, and the order. A service, with its labor and part, moved from one order to the other.
    const found = { status: 'ok', completeness: 'proven', requests: 2 }
    const cursor = await runAsking(['7/1'], 0)
    expect(cursor).toMatchObject({ ...found, rows_deleted: 3, records: 2, records_changed: 1 })
    await expectEqual()
  })

  test('marks the missing order deleted in the same run', async () => {
    await moved()
    move(1, 2, 11)
    sandbox.store.remove(7, orders, 1)
    // One of the existing orders is requested, too: the source answers by id.
    expect(await runAsking(['7/1', '7/2'], 0)).toMatchObject({ status: 'ok' })
    const [gone] = await rowsOf(warehouse, 'repair_order_totals')
    expect(gone).toMatchObject({ repair_order_id: 1, _deleted_at: expect.any(String) })
    await expectEqual()
    await runAsking([], 0)
  })

  test('asks once about a service that two orders have, and again when one of them changes', async () => {
    put(3, [10], 5)
    await runAsking(['7/1'], 1)
    await runAsking([], 1)
    put(3, [10, 13], 10)
    await runAsking(['7/1'], 1)
    await runAsking([], 1)
    await runAsking([], 1, { mode: 'reconcile' })
    put(3, [10], 20)
    await runAsking(['7/1'], 1)
    await expectEqual()
    put(3, [13], 30)
    await runAsking([], 0)
    await expectEqual()
  })

  test('leaves the check to the next run if the current one ends before it', async () => {
    await moved()
    unanswered(401)
    await expect(run()).rejects.toThrow()
    sandbox.script([])
    // Nothing has changed since.
    expect((await runAsking(['7/1'], 0)).rows_deleted).toBe(3)
    await expectEqual()
  })

  test('an idle run queries neither source nor warehouse', async () => {
    await moved()
    await run()
    const has = vi.spyOn(SharedRows.prototype, 'has')
    const look = vi.spyOn(SharedRows.prototype, 'look')
    const writes = vi.spyOn(warehouse, 'write')
    await runAsking([], 0)
    const statements = writes.mock.calls.flatMap(([all]) => all.map(({ sql: text }) => text))
    expect([has.mock.calls, look.mock.calls]).toEqual([[], []])
    expect(statements.filter((text) => text.includes('shared_services'))).toEqual([])
    // A run that changes orders queries the warehouse once about its changes, and goes no further.
    put(2, [12, 10], 20)
    await run()
    expect([has.mock.calls.length, look.mock.calls.length]).toEqual([1, 0])
  })

  test('the query for written rows uses the index', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({
      tenant_id: 7,
      repair_order_id: 1 + Math.floor(i / 2),
      id: 100 + i,
      position: i % 2,
      _synced_at: stamp(0),
    }))
    const insert = warehouse.db.insertInto('repair_order_services')
    for (let i = 0; i < rows.length; i += 1000)
      await warehouse.write([insert.values(rows.slice(i, i + 1000) as never).compile()])
    const { tables } = known.byName.get(orders)!
    await warehouse.dialect.bulk.optimize(tables)
    const shared = new SharedRows(warehouse, 7, tables[0]!, tables[1]!)
    const ids = Array.from({ length: 100 }, (_, i) => 1 + i * 50)
    const query = shared.sharedBy(warehouse.db, ids).compile()
    const isSqlite = kind.name === 'sqlite'
    const sql = `explain ${isSqlite ? 'query plan ' : ''}${query.sql}`
    const explained = await warehouse.db.executeQuery({ ...query, sql })
    const plan = explained.rows.flatMap((row) => Object.values(row as object)).map(String)
    expect(plan.filter((line) => /scan/i.test(line) && !/index/i.test(line))).toEqual([])
    const indexed = isSqlite ? /SEARCH o USING .*INDEX \w+ \(tenant_id=\? AND id=\?\)/ : /Index.* Scan/
    expect(plan.join('\n')).toMatch(indexed)
    expect(await shared.has(ids)).toBe(false)
  })

  test('names how the order was fetched, and keeps the ended version', async () => {
    warehouse = await open(kind, keeping)
    await run({ known: keeping })
    move(1, 2, 10)
    await run({ known: keeping })
    const told = await why(sandbox, warehouse, { table: orders, id: 1, tenants: [7] }, { known: keeping })
    const brought = { certainty: 'exact', way: 'lookup', page: null, mode: 'sync' }
    expect(told.rows).toMatchObject([{ brought, source: { answer: 'exists', differences: [] } }])
    const servicesOf = ({ _children }: Record<string, unknown>): unknown =>
      (_children as Record<string, { id: number }[]>).repair_order_services!.map(({ id }) => id)
    const history = await rowsOf(warehouse, `${orders}_history`)
    expect(history.map((row) => [row.tenant_id, row.id, row._ended_by, servicesOf(row)])).toEqual([
      [7, 1, 'replaced', [10, 11]],
      [7, 2, 'replaced', [12]],
    ])
    await compare(warehouse, expected(sandbox))
    await warehouse.close()
  })

  test("only counts if the source doesn't answer by id", async () => {
    await moved()
    unanswered(404)
    expect((await runAsking(['7/1', '7/2'], 1)).status).toBe('ok')
    expect(notices.map(([text]) => text)).toContain(
      'The source does not answer by id; rows that two records share are counted and stay',
    )
    await noneDeleted()
    await runAsking([], 1)
  })

  test("one order whose answer breaks doesn't keep others from being requested", async () => {
    put(3, [14], 0)
    await moved()
    move(3, 2, 11)
    unanswered(500, 1)
    await run()
    expect(notices).toContainEqual([
      'Records that share rows with others could not be fetched by id; the next run tries again',
      { tenant_id: 7, resource: orders, records: 1 },
    ])
    sandbox.script([])
    await runAsking(['7/1'], 0)
    await expectEqual()
  })

  test('keeps a newer version than the source has by id; reconcile follows the source', async () => {
    put(1, [10, 11], 9)
    await run()
    // Once stamped an hour ahead: its next version is older, and was changed before the other order.
    put(1, [11], 4)
    put(2, [12, 10], 10)
    await runAsking(['7/1'], 1)
    await runAsking([], 1)
    const { cursors } = await run({ mode: 'reconcile', full: true })
    expect(cursors).toContainEqual(
      expect.objectContaining({ tenant_id: 7, status: 'ok', reason: 'source_went_back' }),
    )
    await runAsking([], 0)
    await expectEqual()
  })

  test('believes no more deletions than reconcile would', async () => {
    for (let id = 3; id <= 60; id++) put(id, [100 + id], 0)
    await run()
    for (let id = 3; id <= 20; id++) {
      move(id, 2, 10 + id)
      sandbox.store.remove(7, orders, id)
    }
    const of7 = ({ cursors }: RunReport): unknown => cursors.find(({ tenant_id }) => tenant_id === 7)
    expect(of7(await run())).toMatchObject({ status: 'failed', reason: 'breaker' })
    await noneDeleted()
    const accepted = await run({ mode: 'reconcile', acceptDeletes: true })
    expect(of7(accepted)).toMatchObject({ status: 'ok', rows_deleted: 18 })
    await expectEqual()
  })

  test('requests a hundred orders per run, and continues with the rest', async () => {
    const all = Array.from({ length: 130 }, (_, i) => i + 3)
    for (const id of all) put(id, [1000 + id], 0)
    await run()
    for (const id of all) move(id, 2, 10)
    const { rows_deleted } = await runAsking(100, 30)
    expect(rows_deleted).toBe(300)
    await runAsking(30, 0)
    await expectEqual()
  })

  test('requests nothing if ids are clearly not unique, and reports that once', async () => {
    for (let id = 3; id <= 60; id++) put(id, [10], id)
    await runAsking([], 1)
    for (let i = 1; i <= 3; i++) {
      put(2, [10], 100 + i)
      await runAsking([], 1, i === 3 ? { mode: 'reconcile' } : {})
    }
    expect(notices.filter(([text]) => text.startsWith('So many records share nested rows'))).toHaveLength(1)
    const many = vi.spyOn(SharedRows.prototype, 'look')
    await run()
    expect(many).not.toHaveBeenCalled()
    // Few share it by now.
    for (let id = 6; id <= 60; id++) put(id, [100 + id], 200)
    await run()
    expect(sandbox.requests.filter(({ id }) => id !== null).length).toBeGreaterThan(0)
    await expectEqual()
  })

  test('reconcile checks all services', async () => {
    // So many newer orders that neither a sync nor a comparison reads the second one again.
    for (let id = 3; id <= 152; id++) put(id, [1000 + id], 9)
    await run()
    // An older program stored it, and recorded nothing about it.
    const stored = order(2, [service(12), service(10)], { updated_at: stamp(5 * hour) })
    await storeOrders(warehouse, [stored], fromMicros(systemClock.nowMicros()))
    await run()
    expect(sandbox.requests.filter(({ id }) => id !== null)).toEqual([])
    await run({ mode: 'reconcile' })
    expect(sandbox.requests).toContainEqual(expect.objectContaining({ tenant: 7, id: 1 }))
  })

  test('a deleted order shares nothing, and shares again when it comes back', async () => {
    await run()
    // Its request started after the one that fetched the row: stamps may be ahead of the test's clock.
    const stamps = (await rowsOf(warehouse, orders)).map((row) => String(row._synced_at)).toSorted()
    const gone = { id: 1, updatedAt: stamp(0), askedAt: stamps.at(-1) ?? '' }
    await markDeleted(warehouse, { tenantId: 7, resource: known.byName.get(orders)! }, [gone])
    put(2, [12, 10], 10)
    await runAsking([], 0)
    put(3, [13], 15)
    await run()
    put(1, [10], 20)
    await runAsking(['7/2'], 1)
  })

  test('a backfill asks, too', async () => {
    await moved()
    const ranges = [{ from: stamp(9 * hour), to: stamp(11 * hour) }]
    await runAsking(['7/1'], 0, { mode: 'backfill', ranges })
    await expectEqual()
  })
})
