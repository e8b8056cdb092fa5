/** The periods that readers can choose on a day, and what each is compared with: in a shop with one invoice a month. */
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { reopen, warehouses } from '../../support/harness/warehouse.js'
import { makeReport, type Page } from './reportpage.js'

const [kind] = warehouses()
const address = await kind!.viewed()

/** The day of each business's first invoice; the others are on the second of each month. The last one has none. */
const first: Readonly<Record<number, string>> = {
  101: '2024-01-02',
  102: '2026-11-10',
  103: '2026-03-02',
  104: '9999-01-01',
}
const sandbox = await sandboxOfFile({
  data: 'none',
  tenants: Object.keys(first).map((id) => ({ id: Number(id) })),
})
const config = configure(sandbox, address, ['repair_orders'], { report: { timeZone: 'UTC' } })
afterAll(restoreTimeOfDay)

const seconds = Array.from({ length: 36 }, (_, i) =>
  new Date(Date.UTC(2024, i, 2)).toISOString().slice(0, 10),
)

/** It is this day, and what had happened by then is synced. */
async function begin(today: string): Promise<void> {
  setTimeOfDay(Date.parse(`${today}T09:00:00Z`))
  for (const [tenant, begun] of Object.entries(first))
    for (const [i, day] of [...new Set([begun, ...seconds])].entries())
      if (
        day >= begun &&
        day < today &&
        sandbox.store.get(Number(tenant), 'repair_orders', i + 1) === undefined
      ) {
        const at = `${day}T12:00:00Z`
        sandbox.store.put(Number(tenant), 'repair_orders', {
          id: i + 1,
          number: i + 1,
          created_at: at,
          updated_at: at,
          started_at: at,
          closed_at: at,
          state: 'invoice',
          shop_id: 1,
          taxable: false,
          supply_fee_cents: 0,
          payments: [],
          services: [
            {
              id: i + 1,
              title: 'Brakes',
              labor_rate_cents: 10_000,
              labors: [{ id: i + 1, hours: 1, taxable: true }],
            },
          ],
        })
      }
  if (sandbox.store.count(104, 'repair_orders') === 0)
    sandbox.store.put(104, 'repair_orders', {
      id: 1,
      created_at: `${today}T00:00:00Z`,
      updated_at: `${today}T00:00:00Z`,
      state: 'estimate',
      shop_id: 1,
      services: [],
    })
  const synced = await shopsync(['sync', '--config', config])
  expect(synced.code, synced.stdout + synced.stderr).toBe(0)
}

let page: Page

/** Each period with what its sales are compared with, and the months of the pace. */
async function periodsOf(tenant: number): Promise<string[][]> {
  ;({ page } = await makeReport(config, '--tenant', String(tenant)))
  const periods = ['last-month', 'month-to-date', 'last-12-months'].filter((id) =>
    page.has(`${tenant}-figures-${id}`),
  )
  const told = periods.map((id) => {
    const sales = page.card(`${tenant}-month-${id}`).facts.get('Sales') ?? []
    const label = page.title(`${tenant}-figures-${id}`).replace('Every figure, ', '')
    return [label, ...sales.flatMap((text) => / vs\. (.*)$/.exec(text)?.[1] ?? [])]
  })
  const [, ...pace] = page.has(`${tenant}-pace`) ? (page.table(`${tenant}-pace`)[0] ?? []) : []
  return [...told, pace.filter((name) => name !== 'Projected')]
}

it('are compared with the same number of days before: the last days of a long month with all of a short one', async () => {
  await begin('2026-03-31')
  expect(await periodsOf(101)).toEqual([
    ['February 2026', 'Jan 2026', 'Feb 2025'],
    ['March 1 to 30, 2026', 'Feb 1 to 28, 2026', 'Mar 1 to 30, 2025'],
    ['Mar 2025 to Feb 2026', 'the 12 months before'],
    ['March 2026', 'February 2026', 'March 2025'],
  ])
})

it('have no month so far on its first day', async () => {
  await begin('2026-11-01')
  expect(await periodsOf(101)).toEqual([
    ['October 2026', 'Sep 2026', 'Oct 2025'],
    ['Nov 2025 to Oct 2026', 'the 12 months before'],
    [],
  ])
})

it.each([
  [
    'the last month, the month so far and twelve months',
    101,
    [
      ['October 2026', 'Sep 2026', 'Oct 2025'],
      ['November 1 to 22, 2026', 'Oct 1 to 22, 2026', 'Nov 1 to 22, 2025'],
      ['Nov 2025 to Oct 2026', 'the 12 months before'],
      ['November 2026', 'October 2026', 'November 2025'],
    ],
  ],
  ['the first month if there is no other', 102, [['November 1 to 22, 2026'], ['November 2026']]],
  [
    'fewer than twelve months, compared with nothing',
    103,
    [
      ['October 2026', 'Sep 2026'],
      ['November 1 to 22, 2026', 'Oct 1 to 22, 2026'],
      ['Mar 2026 to Oct 2026'],
      ['November 2026', 'October 2026'],
    ],
  ],
  ['none without invoices', 104, [[]]],
])('are %s', async (_, tenant, expected) => {
  await begin('2026-11-23')
  expect(await periodsOf(tenant)).toEqual(expected)
  expect(/NaN|undefined|Infinity/.exec(page.html)).toBeNull()
  const hatched =
    tenant === 104 ? [] : ['November 2026 is incomplete', 'fill="url(#hatch-blue)"', 'id="hatch-blue"']
  const nothing = tenant === 104 ? ['No invoice has been closed yet.', 'Nothing is owed.'] : []
  for (const words of [...hatched, ...nothing])
    expect([words, page.html.includes(words)]).toEqual([words, true])
})

it('end with the data, and are whole months then', async () => {
  const warehouse = await reopen(address)
  await sql
    .raw(
      `update ${kind!.name === 'sqlite' ? '' : `"${address.schema}".`}sync_cursors set complete_through = '2026-10-12T00:00:00.000000Z'`,
    )
    .execute(warehouse.db)
  await warehouse.close()
  expect((await periodsOf(101))[1]?.[0]).toBe('October 1 to 11, 2026')
})
