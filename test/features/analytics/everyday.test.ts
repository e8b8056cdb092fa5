/**
 * The questions of docs/everyday.md and everyday-2.md: each query runs in both warehouses as it is on the page, and
 * returns what everydayanswers.ts computes from the records. Two tenants whose ids collide, zones, shops that joined
 * late, orders that were deleted and reopened, customers with the same name, and one tenant with absurd values.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sized } from '../../support/harness/size.js'
import { query } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import type { Fields, Row } from '../../support/oracle/business/amounts.js'
import { type Gone, remove, worldOf } from '../../support/oracle/business/sandboxworld.js'
import { spoil } from '../../support/world/hostile.js'
import { answers } from './everydayanswers.js'
import { Facts } from './everydayfacts.js'

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

const pages = ['everyday.md', 'everyday-2.md'].map((name) =>
  readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'),
)
const questions = pages
  .flatMap((page) => page.split(/^### /m).slice(1))
  .map((part, i) => {
    const [title = ''] = part.split('\n')
    const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(part) ?? []
    return { title, sql, answer: answers[i] }
  })

/** Tests write views in braces. */
const inBraces = (sql: string): string =>
  views.reduce(
    (text, { name }) => text.replaceAll(new RegExp(`\\b(from|join) ${name}\\b`, 'g'), `$1 {${name}}`),
    sql,
  )

/** Numbers with twelve digits, however the driver returns them. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return Number(value).toPrecision(12)
  if (typeof value === 'string' && !/^-?\d+(\.\d+)?$/.test(value)) return value
  const number = Number(value)
  return (number === 0 ? 0 : number).toPrecision(12)
}

const texts = (rows: readonly Row[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).map(([name, one]) => [name, plain(one)]))),
    )
    .sort()

const isName = (column: string): boolean => /_key$|_name$|_id$/.test(column)

/** A business of two tenants, before anything is deleted. */
async function business(): Promise<Sandbox> {
  const sandbox = await createSandbox({
    tenants: [
      { id: 101, shops: 3 },
      { id: 102, shops: 2 },
    ],
    ...{ repairOrders: sized(140, 280), seed: 31, until: '2026-11-20T12:00:00Z' },
  })
  spread(sandbox)
  spoil(sandbox, { every: 6, tenants: [102] })
  for (const id of sandbox.store.ids(102, 'repair_orders').filter((one) => one % 20 === 3))
    sandbox.store.change(102, 'repair_orders', id, { taxable: null })
  return sandbox
}

const october = (day: string): string => `${day} between '2026-10-01' and '2026-10-31'`

/** What people type instead: it returns a different value for a column of a question. */
const mistakes: readonly (readonly [title: string, column: string, sql: string])[] = [
  [
    'How much did each shop sell last month?',
    'sales_cents',
    `select sum(sales_cents) as sales_cents from orders where ${october('created_on')}`,
  ],
  [
    'How do sales develop, month by month?',
    'sales_cents',
    'select sum(sales_cents) as sales_cents from shop_months',
  ],
  [
    'How does this month to date compare with last month to the same day?',
    'last_month_cents',
    `select sum(sales_cents) as last_month_cents from shop_days where ${october('day')}`,
  ],
  [
    'How much did the same shops grow in a year?',
    'this_year_cents',
    "select sum(sales_cents) as this_year_cents from shop_months where month = '2026-10'",
  ],
  [
    'What is the average repair order?',
    'average_cents',
    `select avg(total_cents) as average_cents from orders where ${october('created_on')} group by shop_key`,
  ],
  [
    'What is our gross margin?',
    'gross_margin_percent',
    `select 100.0 * sum(gross_profit_cents) / sum(sales_cents) as gross_margin_percent
     from orders where state = 'invoice' and ${october('closed_on')} group by shop_key`,
  ],
  [
    'How many cars and customers came last month?',
    'cars',
    `select sum(cars) as cars from daily_sales where ${october('day')}`,
  ],
  [
    'How many cars and customers came last month?',
    'customers',
    `select sum(customers) as customers from daily_sales where ${october('day')}`,
  ],
  [
    'Who are our best customers of the last twelve months?',
    'sales_cents',
    `select sum(sales_cents) as sales_cents from orders where state = 'invoice'
     and closed_on between '2025-11-01' and '2026-10-31' group by customer_name order by sum(sales_cents) desc limit 10`,
  ],
  [
    'What is in progress now, and what is it worth?',
    'orders',
    'select count(*) as orders from work_in_progress',
  ],
  [
    'What share of recommended work is sold?',
    'close_rate_percent',
    `select 100.0 * sum(case when decision = 'approved' then 1 else 0 end) / count(*) as close_rate_percent
     from recommendation_conversion where recommended_on between '2026-08-01' and '2026-10-31' group by shop_key`,
  ],
  [
    'How much did we collect last month, by type of payment?',
    'collected_cents',
    `select sum(paid_cents) as collected_cents from orders where ${october('closed_on')}`,
  ],
  [
    'How much did we refund?',
    'refund_cents',
    `select sum(refunds) as refund_cents from payments_daily where ${october('day')}`,
  ],
  [
    'How much sales tax is due for last month?',
    'tax_cents',
    `select sum(tax_cents) as tax_cents from orders where state = 'invoice' and ${october('closed_on')}`,
  ],
  [
    'Which sales are exempt from tax?',
    'exempt_sales_cents',
    `select sum(net_cents) as exempt_sales_cents from order_lines
     where not taxable and state = 'invoice' and ${october('closed_on')}`,
  ],
  [
    'How much is owed, and for how long?',
    'owed_cents',
    'select sum(balance_cents) as owed_cents from orders where balance_cents > 0',
  ],
  [
    'What is our stock worth, and how often does it turn?',
    'turns',
    'select avg(turns) as turns from inventory_value group by shop_key',
  ],
  [
    "Which stock doesn't move?",
    'items',
    `select count(*) as items from inventory_value where (last_sold_on < '2025-11-20' or last_sold_on is null)
     and type <> 'CoreInventory' and sold_unknown = 0 and on_hand_cents > 0`,
  ],
]

const total = (rows: readonly Row[], column: string): string =>
  rows.reduce((all, row) => all + Number(row[column] ?? 0), 0).toPrecision(6)

/** The answers by title. */
const computed = new Map<string, string[]>()

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let sandbox: Sandbox
  let facts: Facts | undefined
  let gone: Gone[]
  /** Before the name of a table. */
  let place = ''
  beforeAll(async () => {
    sandbox = await business()
    const address = await kind.viewed()
    place = address.url.startsWith('sqlite:') ? '' : `"${address.schema}".`
    const config = configure(sandbox, address, resources, { report })
    const run = async (...words: string[]) => {
      const ended = await shopsync([...words, '--config', config])
      expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    }
    await run('sync')
    gone = upset(sandbox)
    await run('sync')
    await run('reconcile')
    warehouse = await reopen(address)
    await run('snapshot')
  })
  afterAll(async () => {
    await warehouse.close()
    await sandbox.close()
  })

  it.each(questions)('$title', async ({ title, sql, answer }) => {
    const found = await query(warehouse, inBraces(sql).replace('from sync_runs', `from ${place}sync_runs`))
    const shown = texts(found)
    // The world is the same for both; time may have passed, at midnight or past a promised hour.
    if (!isDeepStrictEqual(computed.get(title), shown)) {
      if (computed.has(title)) facts = undefined
      facts ??= new Facts(worldOf(sandbox, report, gone))
      computed.set(title, texts(answer?.(facts) ?? []))
    }
    expect(shown).toEqual(computed.get(title))
    const [first = {}] = found
    const values = Object.keys(first).filter((column) => !isName(column))
    for (const column of values)
      expect(
        found.some((row) => row[column] !== null && row[column] !== 0),
        column,
      ).toBe(true)
  })

  // Whether the data would show a mistake doesn't depend on the database.
  it.runIf(warehouses().includes(kind)).each(mistakes)(
    '%s A different %s by %s',
    async (asked, column, sql) => {
      const found = await query(
        warehouse,
        inBraces(questions.find(({ title }) => title === asked)?.sql ?? ''),
      )
      expect(found.some((row) => row[column] !== null)).toBe(true)
      const wrong = await query(warehouse, inBraces(sql))
      expect(total(wrong, column)).not.toBe(total(found, column))
    },
  )

  it('no month is complete while a list behind the figures was never walked or is incomplete', async () => {
    const { db } = warehouse
    const whole = async (): Promise<number> =>
      (await query(warehouse, 'select month from {shop_months} where is_whole')).length
    const before = await whole()
    expect(before).toBeGreaterThan(0)
    const cursors = await db
      .selectFrom('sync_cursors')
      .selectAll()
      .where('resource', '=', 'payments')
      .execute()
    await db
      .updateTable('sync_cursors')
      .set({ complete_through: null })
      .where('resource', '=', 'payments')
      .execute()
    expect(await whole()).toBe(0)
    await db.deleteFrom('sync_cursors').where('resource', '=', 'payments').execute()
    expect(await whole()).toBe(0)
    await db.insertInto('sync_cursors').values(cursors).execute()
    expect(await whole()).toBe(before)
  })
})

it('each has an answer', () => {
  expect(questions.length).toBeGreaterThan(50)
  expect(answers).toHaveLength(questions.length)
})
