/** Many businesses: what those are called that the configuration doesn't name, and how many can still be told apart. */
import { beforeAll, expect, it } from 'vitest'
import { warehouses } from '../../support/harness/warehouse.js'
import { order } from '../../support/world/handmade.js'
import { itIs, makeReport, type Page, sending, synced } from './reportpage.js'

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
const at = '2026-10-03T12:00:00Z'
itIs('2026-11-18T18:00:00Z')

/** Each shop of the first business sells an hour, each of the second one two. */
const sent = businesses.map(([shops], i) => {
  const ids = shops.map((name, n) => ({ id: n + 1, name: name || undefined }))
  return [
    idOf(i),
    {
      shops: ids.map((shop) => ({ ...shop, created_at: at, updated_at: at, time_zone: 'UTC' })),
      repair_orders: ids.map(({ id }) => order(id, at, { shop_id: id }, i + 1)),
    },
  ] as const
})

const sandbox = await sending(Object.fromEntries(sent))

let config = ''
let page: Page
beforeAll(async () => {
  ;({ config } = await synced(warehouses()[0]!, sandbox, { tenantNames: { 110: 'Configured' } }))
  page = (await makeReport(config)).page
})

it('are called by what their shops have in common', () => {
  expect([...page.rows('compare-title').keys()].sort()).toEqual(businesses.map(([, name]) => name).sort())
})

it('are compared in a table that shows the first 15 until asked, and can be searched', () => {
  const shown = ['data-search', 'The first 15 of 18 businesses are shown.', 'data-all>Show all 18<']
  for (const part of [...shown, 'class="stack cut"'])
    expect([part, page.html.includes(part)]).toEqual([part, true])
  // Too many to choose one.
  expect(page.choices('scope')).toEqual([])
})

/** By what the columns of sales are divided: shops while their colors can be told apart, then businesses, then nothing. */
it.each([
  ['eight shops', [103, 108, 109, 110, 111, 112, 113, 114], 8, ' and shop'],
  ['nine shops of eight businesses', [101, 108, 109, 110, 111, 112, 113, 114], 8, ' and business'],
  ['many of both', [], 1, ''],
])('%s', async (_, tenants, columns, by) => {
  const { page: shown } =
    tenants.length === 0
      ? { page }
      : await makeReport(config, ...tenants.flatMap((id) => ['--tenant', String(id)]))
  expect(shown.title('all-sales')).toBe(`Sales and gross profit by month${by}`)
  const sold = shown
    .rows('all-sales')
    .get('Oct 2026')!
    .slice(0, -3)
    .map((text) => Number(text.replaceAll(/[$,]/g, '')))
  const hours = businesses.flatMap(([shops], i) =>
    tenants.length === 0 || tenants.includes(idOf(i)) ? shops.map(() => i + 1) : [],
  )
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0)
  expect([sold.length, sum(sold)]).toEqual([columns, 100 * sum(hours)])
  // Most sales first.
  expect(sold).toEqual(sold.toSorted((a, b) => b - a))
})

it('one has no choice and no comparison', async () => {
  const { page: one, document } = await makeReport(config, '--tenant', '103')
  expect([one.choices('scope'), one.has('compare-title'), document.tenants]).toEqual([[], false, 1])
})
