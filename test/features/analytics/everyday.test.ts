/**
 * The questions of docs/everyday.md: each query runs in both warehouses as it is on the page, and returns the rows of
 * everyday.txt; for those that depend on today, the oracle's. Two tenants whose ids collide, zones, shops that joined late,
 * orders that were deleted and reopened, customers with the same name, and one tenant with absurd values.
 * `npx vitest run test/features/analytics/everyday.test.ts -u` writes the rows; read what it wrote.
 */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { done } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { root, textOf } from '../../support/harness/tree.js'
import { answer, linesOf } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import type { Fields, Row } from '../../support/oracle/business/amounts.js'
import { groups } from '../../support/oracle/business/business.js'
import { businessesOf, expectedRows } from '../../support/oracle/business/rows.js'
import { type Gone, remove, worldOf } from '../../support/oracle/business/sandboxworld.js'
import { spoil } from '../../support/world/hostile.js'

const resources = [
  ...['repair_orders', 'recommendations', 'past_recommendations', 'payments', 'inventories', 'appointments'],
  ...['purchase_records', 'customers', 'staffs', 'shops', 'vendors', 'payment_transactions'],
  ...['categories', 'canned_jobs'],
]
const report = { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } }

/** How many weeks earlier an order of a busy season happens: the generated orders span two months. */
const weeks = [0, 0, 0, 0, 0, 4, 4, 5, 8, 13, 26, 39, 51, 52, 56, 57]
const week = 7 * 86_400_000
const instants = ['created_at', 'started_at', 'closed_at', 'picked_up_at', 'due_in_at', 'due_out_at']

const earlier = (record: Fields, by: number): Fields => ({
  ...record,
  ...Object.fromEntries(
    instants.flatMap((name) => {
      const at = record[name]
      return typeof at === 'string' ? [[name, new Date(Date.parse(at) - by * week).toISOString()]] : []
    }),
  ),
})

const ofOrder = ['payments', 'payment_transactions', 'recommendations']
const weeksOf = (order: unknown): number => weeks[Number(order) % weeks.length] ?? 0

/** Spreads the orders over more than a year, and lets shops join. */
function spread({ store }: Sandbox): void {
  const joined: Readonly<Record<string, string>> = { '101-3': '2026-02-10', '102-2': '2026-10-12' }
  for (const tenant of store.tenantIds) {
    for (const id of store.ids(tenant, 'repair_orders')) {
      const order = earlier(store.stored(tenant, 'repair_orders', id) ?? {}, weeksOf(id))
      const isBefore = String(order.created_at) < (joined[`${tenant}-${order.shop_id}`] ?? '')
      store.put(tenant, 'repair_orders', isBefore ? { ...order, shop_id: 1 } : order)
    }
    for (const resource of ofOrder)
      for (const id of store.ids(tenant, resource)) {
        const record = store.stored(tenant, resource, id) as Fields
        store.put(tenant, resource, earlier(record, weeksOf(record.repair_order_id)))
      }
    for (const item of store.all(tenant, 'inventories').filter(({ id }) => Number(id) % 2 === 0))
      store.put(tenant, 'inventories', earlier(item, 56))
    for (const id of store.ids(tenant, 'recommendations').filter((one) => one % 5 === 0))
      store.change(tenant, 'recommendations', id, { approved: null, imported: true })
    for (const id of store.ids(tenant, 'recommendations').filter((one) => one % 5 === 1))
      store.change(tenant, 'recommendations', id, { approved: true, imported: false })
    for (const id of store.ids(tenant, 'customers').filter((one) => one % 9 === 0))
      store.change(tenant, 'customers', id, { first_name: 'Maria', last_name: 'Garcia' })
  }
}

/** Deletes orders with everything attached, except payments, and reopens invoices. Returns what it deleted. */
function upset(sandbox: Sandbox): Gone[] {
  const { store } = sandbox
  return store.tenantIds.flatMap((tenant) => {
    const ids = store.ids(tenant, 'repair_orders')
    const gone = ids
      .filter((_, i) => i % 23 === 0)
      .flatMap((id) => [
        remove(sandbox, tenant, 'repair_orders', id),
        ...['payment_transactions', 'recommendations'].flatMap((resource) =>
          store
            .all(tenant, resource)
            .filter(({ repair_order_id }) => repair_order_id === id)
            .map((one) => remove(sandbox, tenant, resource, Number(one.id))),
        ),
      ])
    for (const id of ids.filter((_, i) => i % 29 === 1)) {
      const isClosed = store.stored(tenant, 'repair_orders', id)?.state === 'invoice'
      const opened = { state: 'in_progress', closed_at: null, picked_up_at: null }
      if (isClosed) store.change(tenant, 'repair_orders', id, opened)
    }
    return gone
  })
}

const questions = textOf('docs/everyday.md')
  .split(/^### /m)
  .slice(1)
  .map((part) => {
    const [title = ''] = part.split('\n')
    const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(part) ?? []
    return { title, sql }
  })

type Rows = (view: string) => Row[]
const sum = (rows: readonly Row[], column: string): number =>
  rows.reduce((all, row) => all + Number(row[column] ?? 0), 0)

/** Some columns of rows. */
const only = (rows: readonly Row[], columns: string): Row[] =>
  rows.map((row) => Object.fromEntries(columns.split(' ').map((name) => [name, row[name]])))

/** Groups with these columns, what they count, and sums. */
const summed = (rows: readonly Row[], by: string, counted: string, sums: Readonly<Row>): Row[] =>
  groups(rows, (row) => by.split(' ').map((name) => row[name])).map(([first, all]) => ({
    ...only([first], by)[0],
    [counted]: all.length,
    ...Object.fromEntries(Object.entries(sums).map(([name, column]) => [name, sum(all, String(column))])),
  }))

/** What depends on today, from the oracle's rows; null where only the two databases are compared. */
const today: Readonly<Record<string, ((rows: Rows) => Row[]) | null>> = {
  // Which months are whole, oracle.test.ts compares.
  'How do sales develop, month by month?': null,
  'How many new customers did we win?': null,
  'Do we buy more parts than we sell?': null,
  'What were receivables and work in progress at the end of each month?': null,
  'How many customers have stopped coming?': (rows) =>
    summed(rows('customer_value'), 'tenant_id tenant_name standing', 'customers', {
      sales_cents: 'sales_cents',
    }),
  'Which customers who stopped coming may we write to?': (rows) => {
    const people = new Map(rows('dim_customers').map((one) => [one.customer_key, one]))
    const away = rows('customer_value')
      .filter(({ standing }) => standing === 'lapsing' || standing === 'lost')
      .map((row) => ({ ...people.get(row.customer_key), ...row }) as Row)
      .filter(({ marketing_ok }) => marketing_ok === true)
    return only(away, 'customer_key customer_name email last_visit_on sales_cents')
  },
  'How much is owed, and for how long?': (rows) =>
    summed(
      rows('receivables').filter(({ balance_cents }) => Number(balance_cents) > 0),
      'bucket',
      'invoices',
      { owed_cents: 'balance_cents' },
    ),
  'What is our stock worth, and how often does it turn?': (rows) =>
    summed(
      rows('inventory_value').filter((row) => row.on_hand_cents !== null),
      'shop_key shop_name shop_is_new',
      'items',
      { stock_cents: 'on_hand_cents', sold: 'sold_cost_cents' },
    ).map(({ shop_key, shop_name, shop_is_new, stock_cents, sold }) => {
      const turns = shop_is_new || stock_cents === 0 ? null : Number(sold) / Number(stock_cents)
      return { shop_key, shop_name, stock_cents, turns }
    }),
}

/** A business of two tenants, before anything is deleted. */
async function business(): Promise<Sandbox> {
  const sandbox = await sandboxOfFile({
    tenants: [
      { id: 101, shops: 3 },
      { id: 102, shops: 2 },
    ],
    repairOrders: 140,
    seed: 31,
    until: '2026-11-20T12:00:00Z',
  })
  spread(sandbox)
  spoil(sandbox, { every: 6, tenants: [102] })
  for (const id of sandbox.store.ids(102, 'repair_orders').filter((one) => one % 20 === 3))
    sandbox.store.change(102, 'repair_orders', id, { taxable: null })
  return sandbox
}

let sandbox: Sandbox
let gone: Gone[]
/** What is expected where everyday.txt doesn't say it: the oracle's rows, or what SQLite returned. */
const computed = new Map<string, string[]>()
const opened = new Map<string, { readonly warehouse: Warehouse; readonly answers: Map<string, Row[]> }>()
const ask = (warehouse: Warehouse, sql: string): Promise<Row[]> => {
  const runs = warehouse.dialect.views().sql.table('sync_runs')
  return answer(warehouse, sql.replace('from sync_runs', `from ${runs}`))
}

beforeAll(async () => {
  sandbox = await business()
  const addresses = await Promise.all(bothWarehouses().map((kind) => kind.viewed()))
  const onEach = async (...words: string[]): Promise<void> => {
    for (const address of addresses) await done(configure(sandbox, address, resources, { report }), ...words)
  }
  await onEach('sync')
  gone = upset(sandbox)
  await onEach('reconcile', '--full', '--accept-deletes')
  await onEach('snapshot')
  for (const [i, { name }] of bothWarehouses().entries()) {
    const warehouse = await reopen(addresses[i]!)
    const answers = new Map<string, Row[]>()
    for (const { title, sql } of questions) answers.set(title, await ask(warehouse, sql))
    opened.set(name, { warehouse, answers })
  }
})

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let answers: Map<string, Row[]>
  beforeAll(() => {
    ;({ warehouse, answers } = opened.get(kind.name)!)
  })

  it('each has the answer that was read once', async () => {
    const text = [...answers].flatMap(([title, rows]) =>
      title in today ? [] : [title, ...linesOf(rows).map((line) => `  ${line}`), ''],
    )
    await expect(text.join('\n')).toMatchFileSnapshot(join(root, 'test/features/analytics/everyday.txt'))
  })

  it.each(Object.entries(today))('%s', async (asked, expected) => {
    let found = linesOf(answers.get(asked) ?? [])
    // Time may have passed: midnight, or a promised hour.
    if (!isDeepStrictEqual(found, computed.get(asked))) {
      const businesses = businessesOf(worldOf(sandbox, report, gone))
      found = linesOf(await ask(warehouse, questions.find(({ title }) => title === asked)?.sql ?? ''))
      if (expected) computed.set(asked, linesOf(expected((view) => expectedRows(view, businesses))))
      else if (!computed.has(asked)) computed.set(asked, found)
    }
    expect(found).toEqual(computed.get(asked))
  })

  it('every column of every answer has a value somewhere', () => {
    for (const [title, found] of answers) {
      const lacking = Object.keys(found[0] ?? { rows: 0 }).filter(
        // The turns are of what was sold within a year of today: the oracle knows whether there are any.
        (column) =>
          !/_key$|_name$|_id$|^turns$/.test(column) &&
          found.every((row) => row[column] === null || row[column] === 0),
      )
      expect([title, lacking]).toEqual([title, []])
    }
  })

  it('no month is complete while a list behind the figures was never walked or is incomplete', async () => {
    const { db } = warehouse
    const whole = async (): Promise<number> =>
      (await answer(warehouse, 'select month from shop_months where is_whole')).length
    const before = await whole()
    expect(before).toBeGreaterThan(0)
    const ofPayments = db.selectFrom('sync_cursors').selectAll().where('resource', '=', 'payments')
    const cursors = await ofPayments.execute()
    const incomplete = db.updateTable('sync_cursors').set({ complete_through: null })
    await incomplete.where('resource', '=', 'payments').execute()
    expect(await whole()).toBe(0)
    await db.deleteFrom('sync_cursors').where('resource', '=', 'payments').execute()
    expect(await whole()).toBe(0)
    await db.insertInto('sync_cursors').values(cursors).execute()
    expect(await whole()).toBe(before)
  })
})

it('there are as many as before', () => {
  expect(questions.length).toBeGreaterThan(50)
})
