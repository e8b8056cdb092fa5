/** Many businesses: what those are called that the configuration doesn't name, and how many can still be told apart. */
import { beforeAll, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { makeReport, type Page } from './reportpage.js'

/** The shops of each business, and how it is called. */
const businesses: readonly [shops: readonly string[], name: string][] = [
  // The words that all begin with, whole ones only; the id if they say nothing.
  [['Main Street Auto – Smyrna', 'Main Street Auto – Gallatin'], 'Main Street Auto'],
  [['Main Street', 'Main Strand'], 'Main'],
  [['Lakeside Auto Care'], 'Lakeside Auto Care'],
  [['North Loop', 'Riverside'], 'tenant 104'],
  // Those without names.
  [['', ''], 'tenant 105'],
  [['', 'Old Mill, East', 'Old Mill, West'], 'Old Mill'],
  [['A Garage', 'A Shop'], 'tenant 107'],
  // The configured name comes first; two with the same name have their ids behind it.
  [['Eastside'], 'Eastside (108)'],
  [['Eastside'], 'Eastside (109)'],
  [['Westside'], 'Configured'],
  ...Array.from({ length: 8 }, (_, i): [string[], string] => [['Many'], `Many (${111 + i})`]),
]
const idOf = (i: number): number => 101 + i
const month = new Date(Date.now() - 35 * 86_400_000).toISOString().slice(0, 7)
const at = `${month}-03T12:00:00Z`

const sandbox = await sandboxOfFile({ data: 'none', tenants: businesses.map((_, i) => ({ id: idOf(i) })) })
for (const [i, [shops]] of businesses.entries())
  for (const [n, name] of shops.entries()) {
    const id = n + 1
    const stamps = { id, created_at: at, updated_at: at }
    sandbox.store.put(idOf(i), 'shops', { ...stamps, ...(name !== '' && { name }), time_zone: 'UTC' })
    sandbox.store.put(idOf(i), 'repair_orders', {
      ...stamps,
      number: id,
      started_at: at,
      closed_at: at,
      picked_up_at: at,
      state: 'invoice',
      shop_id: id,
      taxable: false,
      supply_fee_cents: 0,
      payments: [],
      services: [
        { id, title: 'Brakes', labor_rate_cents: 10_000, labors: [{ id, hours: i + 1, taxable: true }] },
      ],
    })
  }

let config = ''
let page: Page
beforeAll(async () => {
  const [kind] = warehouses()
  const report = { timeZone: 'UTC', tenantNames: { 110: 'Configured' } }
  config = configure(sandbox, await kind!.viewed(), ['repair_orders', 'shops'], { report })
  const synced = await shopsync(['sync', '--config', config])
  expect(synced.code, synced.stderr).toBe(0)
  page = (await makeReport(config)).page
})

it('are called by what their shops have in common', () => {
  expect([...page.rows('compare-title').keys()].sort()).toEqual(businesses.map(([, name]) => name).sort())
})

it('are compared in a table that shows the first 15 until asked, and can be searched', () => {
  for (const part of [
    'data-search',
    'The first 15 of 18 businesses are shown.',
    'data-all>Show all 18<',
    'class="stack cut"',
  ])
    expect([part, page.html.includes(part)]).toEqual([part, true])
  // Too many to choose one.
  expect(page.choices('scope')).toEqual([])
})

/** By what the columns of sales are divided: shops while their colors can be told apart, then businesses, then nothing. */
it.each([
  ['eight shops', [103, 108, 109, 110, 111, 112, 113, 114], 8, 'Sales and gross profit by month and shop'],
  [
    'nine shops of eight businesses',
    [101, 108, 109, 110, 111, 112, 113, 114],
    8,
    'Sales and gross profit by month and business',
  ],
  ['many of both', [], 1, 'Sales and gross profit by month'],
])('%s', async (_, tenants, columns, title) => {
  const { page: shown } =
    tenants.length === 0
      ? { page }
      : await makeReport(config, ...tenants.flatMap((id) => ['--tenant', String(id)]))
  expect(shown.title('all-sales')).toBe(title)
  const [, cells = []] = [...shown.rows('all-sales')].find(([name]) => name.startsWith(monthName())) ?? []
  const sold = cells.slice(0, -3).map((text) => Number(text.replaceAll(/[$,]/g, '')))
  const all = businesses.flatMap(([shops], i) =>
    tenants.length === 0 || tenants.includes(idOf(i)) ? [100 * (i + 1) * shops.length] : [],
  )
  expect([sold.length, sold.reduce((sum, one) => sum + one, 0)]).toEqual([
    columns,
    all.reduce((sum, one) => sum + one, 0),
  ])
  // Most sales first.
  expect(sold).toEqual([...sold].sort((a, b) => b - a))
})

const monthName = (): string =>
  new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' }).format(new Date(at))

it('one has no choice and no comparison', async () => {
  const { page: one, document } = await makeReport(config, '--tenant', '103')
  expect([one.choices('scope'), one.has('compare-title'), document.tenants]).toEqual([[], false, 1])
})
