/** The periods that readers can choose on a day, and what each is compared with: in a shop with one invoice a month. */
import { expect, it } from 'vitest'
import { setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { reopen, warehouses } from '../../support/harness/warehouse.js'
import { order } from '../../support/world/handmade.js'
import { itIs, makeReport, type Page, sending, synced, syncs } from './reportpage.js'

/** The day of each business's first invoice; the others are on the second of each month. The last one has none. */
const first: Readonly<Record<number, string>> = { 101: '2024-01-02', 102: '2026-11-10', 103: '2026-03-02' }
const estimate = order(1, null, { updated_at: '2026-03-30T12:00:00Z' })
itIs('2026-03-31T09:00:00Z')
const sandbox = await sending({ 101: {}, 102: {}, 103: {}, 104: { repair_orders: [estimate] } })
const { address, config } = await synced(warehouses()[0]!, sandbox)

const seconds = Array.from({ length: 36 }, (_, i) =>
  new Date(Date.UTC(2024, i, 2)).toISOString().slice(0, 10),
)

/** It is this day, and what had happened by then is synced. */
async function begin(today: string): Promise<void> {
  setTimeOfDay(Date.parse(`${today}T09:00:00Z`))
  for (const [tenant, begun] of Object.entries(first)) {
    const days = [...new Set([begun, ...seconds])].filter((day) => day >= begun && day < today)
    for (const [i, day] of days.entries()) {
      const at = `${day}T12:00:00Z`
      if (sandbox.store.get(Number(tenant), 'repair_orders', i + 1) === undefined)
        sandbox.store.put(
          Number(tenant),
          'repair_orders',
          order(i + 1, at, { started_at: at, updated_at: at }),
        )
    }
  }
  await syncs(config)
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

it.each([
  [
    'compared with the same number of days before: the last days of a long month with all of a short one',
    '2026-03-31',
    101,
    [
      ['February 2026', 'Jan 2026', 'Feb 2025'],
      ['March 1 to 30, 2026', 'Feb 1 to 28, 2026', 'Mar 1 to 30, 2025'],
      ['Mar 2025 to Feb 2026', 'the 12 months before'],
      ['March 2026', 'February 2026', 'March 2025'],
    ],
  ],
  [
    'without a month so far on its first day',
    '2026-11-01',
    101,
    [['October 2026', 'Sep 2026', 'Oct 2025'], ['Nov 2025 to Oct 2026', 'the 12 months before'], []],
  ],
  [
    'the last month, the month so far and twelve months',
    '2026-11-23',
    101,
    [
      ['October 2026', 'Sep 2026', 'Oct 2025'],
      ['November 1 to 22, 2026', 'Oct 1 to 22, 2026', 'Nov 1 to 22, 2025'],
      ['Nov 2025 to Oct 2026', 'the 12 months before'],
      ['November 2026', 'October 2026', 'November 2025'],
    ],
  ],
  [
    'the first month if there is no other',
    '2026-11-23',
    102,
    [['November 1 to 22, 2026'], ['November 2026']],
  ],
  [
    'fewer than twelve months, compared with nothing',
    '2026-11-23',
    103,
    [
      ['October 2026', 'Sep 2026'],
      ['November 1 to 22, 2026', 'Oct 1 to 22, 2026'],
      ['Mar 2026 to Oct 2026'],
      ['November 2026', 'October 2026'],
    ],
  ],
  ['none without invoices', '2026-11-23', 104, [[]]],
])('are %s', async (_, today, tenant, expected) => {
  await begin(today)
  expect(await periodsOf(tenant)).toEqual(expected)
  expect(/NaN|undefined|Infinity/.exec(page.html)).toBeNull()
  const words =
    tenant === 104
      ? ['No invoice has been closed yet.', 'Nothing is owed.']
      : today === '2026-11-23'
        ? ['November 2026 is incomplete', 'fill="url(#hatch-blue)"', 'id="hatch-blue"']
        : []
  for (const one of words) expect([one, page.html.includes(one)]).toEqual([one, true])
})

it('end with the data, and are whole months then', async () => {
  const warehouse = await reopen(address)
  await warehouse.db
    .updateTable('sync_cursors')
    .set({ complete_through: '2026-10-12T00:00:00.000000Z' })
    .execute()
  await warehouse.close()
  expect((await periodsOf(101))[1]?.[0]).toBe('October 1 to 11, 2026')
})
