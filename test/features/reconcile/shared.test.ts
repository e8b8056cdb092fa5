/** The stories of shared.txt, and what they cost the warehouse. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type Rule, transfer } from '../../../src/sandbox/index.js'
import { why } from '../../support/harness/commands.js'
import { known, markDeleted, type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
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
import { shown } from '../../support/world/runstory.js'
import {
  fieldsOf,
  idsOf,
  plain,
  Steps,
  storyTests,
  type WordsOf,
  wordsOf,
} from '../../support/world/stories.js'

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

function begin(): void {
  sandbox.reset()
  for (const tenant of [8, 7]) {
    sandbox.store.addTenant({ id: tenant })
    put(1, [10, 11], 0, tenant)
    put(2, [12], 5, tenant)
  }
}

const askedById = (): string[] =>
  sandbox.requests
    .filter(({ resource, id }) => resource === orders && id !== null)
    .map(({ tenant, id }) => `${tenant}/${id}`)
    .sort()

interface Shared {
  readonly warehouse: Warehouse
  notices: NonNullable<RunOptions['notices']>
}

/** How it ended, the orders that it requested by id, and how many services are shared by then. */
async function run({ warehouse, notices }: Shared, options: RunOptions): Promise<string> {
  sandbox.resetRequests()
  const { cursors } = await sync(sandbox, warehouse, {
    resources: [orders],
    concurrency: 1,
    clock,
    notices,
    ...options,
  })
  const { status, reason, rows_deleted } = cursors.find(({ tenant_id }) => tenant_id === 7)!
  const asked = askedById()
  const whom = asked.length > 4 ? `${asked.length} orders` : asked.join(' ')
  const now = { nowMicros: clock.nowMicros(), resources: [orders] }
  const { tenants } = await statusOf(sandbox, warehouse, now)
  const shared = tenants.map(({ tenant_id, shared_services }) => `${tenant_id} shares ${shared_services}`)
  const ended = wordsOf(`${status} ${reason ?? ''}`).join(' ')
  return `${ended}, asks for ${whom || 'none'}, ${rows_deleted} deleted, ${shared.sort().join(', ')}`
}

const each = (ids: string, does: (id: number) => void): void => idsOf(ids).forEach(does)

const words: WordsOf<Shared> = {
  'order N has IDS at N': (_, id, services, at) => put(Number(id), idsOf(services!), Number(at)),
  'orders IDS each have one[ at N]': (_, ids, at = '0') =>
    each(ids!, (id) => put(id, [1000 + id], Number(at))),
  'orders IDS have N': (_, ids, one) => each(ids!, (id) => put(id, [Number(one)], id)),
  'order N goes': (_, id) => void sandbox.store.remove(7, orders, Number(id)),
  'move from N to N at N': (_, from, to, at) => move(Number(from), Number(to), Number(at)),
  'IDS move to 2': (_, ids) => each(ids!, (id) => move(id, 2, 10 + id)),
  'IDS move to 2 and go': (_, ids) =>
    each(ids!, (id) => {
      move(id, 2, 10 + id)
      sandbox.store.remove(7, orders, id)
    }),
  'by id N[ for N]': (_, status, id) => {
    const when: Rule['when'] = id === undefined ? { kind: 'item' } : { kind: 'item', id: Number(id) }
    sandbox.script([{ when, fault: { kind: 'status', status: Number(status) } }])
  },
  'no rules': () => sandbox.script([]),
  'run[ REST]': (shared, how = '') =>
    run(shared, fieldsOf(wordsOf(how))).catch(({ message }: Error) => `stops: ${message}`),
  'backfill from N to N': (shared, from, to) => {
    const ranges = [{ from: stamp(Number(from) * hour), to: stamp(Number(to) * hour) }]
    return run(shared, { mode: 'backfill', ranges })
  },
  equal: async ({ warehouse }) => {
    await compare(warehouse, expected(sandbox))
    await expectOracle(warehouse)
    return 'equal'
  },
  'show WORD REST': ({ warehouse }, table, columns) => shown(warehouse, table!, columns!),
  deleted: async ({ warehouse }) => {
    const gone = (await rowsOf(warehouse, 'repair_order_totals')).filter((row) => row._deleted_at !== null)
    return `deleted: ${gone.map((row) => `${row.tenant_id}/${row.repair_order_id}`).join(' ') || 'none'}`
  },
  notices: ({ notices }) =>
    notices
      .splice(0)
      .map(([text, fields]) => `${text} ${plain(fields)}`)
      .join(' / '),
  'reports of many': ({ notices }) =>
    String(notices.filter(([text]) => text.startsWith('So many records share nested rows')).length),
  'stored: order N has IDS at N': async ({ warehouse }, id, services, at) => {
    const stored = order(Number(id), idsOf(services!).map(service), { updated_at: stamp(Number(at) * hour) })
    await storeOrders(warehouse, [stored], fromMicros(systemClock.nowMicros()))
  },
  // Its request started after the one that fetched the row: stamps may be ahead of the test's clock.
  'row of N marked deleted': async ({ warehouse }, id) => {
    const stamps = (await rowsOf(warehouse, orders)).map((row) => String(row._synced_at)).toSorted()
    const gone = { id: Number(id), updatedAt: stamp(0), askedAt: stamps.at(-1) ?? '' }
    await markDeleted(warehouse, { tenantId: 7, resource: known.byName.get(orders)! }, [gone])
  },
}

storyTests('test/features/reconcile/shared.txt', new Steps(words), (kind) => {
  const place = kept(kind)
  return async () => {
    begin()
    return { warehouse: await place.open(), notices: [] }
  }
})

describe.each(bothWarehouses())('$name', (kind) => {
  const own = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    begin()
    warehouse = await own.open()
  })
  afterEach(() => vi.restoreAllMocks())
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  const run = (options: RunOptions = {}): Promise<RunReport> =>
    sync(sandbox, warehouse, { resources: [orders], concurrency: 1, clock, ...options })

  test('an idle run queries neither source nor warehouse', async () => {
    await run()
    move(1, 2, 10)
    await run()
    const has = vi.spyOn(SharedRows.prototype, 'has')
    const look = vi.spyOn(SharedRows.prototype, 'look')
    const writes = vi.spyOn(warehouse, 'write')
    await run()
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
  })
})
