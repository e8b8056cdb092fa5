/**
 * What the report says of businesses made by hand (handmade.txt), with one record for each way in which a number could be wrong:
 * what it compares, which periods it offers, what it calls many businesses, and what it leaves empty.
 */
import { beforeAll, expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { done } from '../../support/harness/call.js'
import { setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { reopen } from '../../support/harness/warehouse.js'
import { type Fields, order as handmade, payment, stamps } from '../../support/world/handmade.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'
import { itIs, makeReport, type Page, sending, synced } from './reportpage.js'

const now = '2026-11-18T18:00:00Z'
itIs(now)
const today = (hour: number): string => `2026-11-18T${hour}:00:00Z`

/** An order of so many hours at 100 dollars. */
const order = (id: number, state: string, closed: string | null, more: Fields = {}, hours = 1): Fields =>
  handmade(id, closed && `${closed}T12:00:00Z`, { state, vehicle_id: id, ...more }, hours)
const paid = (id: number, cents: number): Fields => ({
  payments: [payment(id, id, '2026-10-29T12:00:00Z', cents)],
})

/** Three hours, and half of one without a rate; its part has no cost, so its profit is unknown. */
const unknown = order(4, 'invoice', '2026-10-08', paid(4, 35_000), 3)
;(unknown.services as Fields[]).push({
  id: 40,
  title: 'A part',
  completed: true,
  labor_rate_cents: null,
  parts: [{ id: 4, name: 'Pads', quantity: 1, quoted_price_cents: 5000, cost_cents: null, taxable: true }],
  labors: [{ id: 40, name: 'Free', technician_id: 1, hours: 0.5, taxable: true }],
})

const orders: readonly Fields[] = [
  order(1, 'invoice', '2026-11-08'),
  order(2, 'invoice', '2026-10-09', {}, 2),
  // Nobody knows when it was closed, so its age is unknown.
  order(3, 'invoice', null, { started_at: '2026-09-29T12:00:00Z' }, 0.5),
  unknown,
  order(5, 'estimate', null, { due_out_at: today(19) }),
  order(6, 'in_progress', null, { started_at: '2026-11-17T18:00:00Z', due_out_at: today(19) }),
  order(7, 'estimate', null, { shop_id: 2, ...paid(7, 700) }),
  order(8, 'estimate', null),
  order(9, 'invoice', '2026-11-06', { shop_id: 3, ...paid(9, 10_000) }),
  order(10, 'invoice', '2026-11-08', paid(10, 12_000)),
]

const appointment = (id: number, hour: number, repair_order_id: number | null): Fields => ({
  id,
  ...stamps('2026-11-15T12:00:00Z'),
  title: `Visit ${id}`,
  shop_id: 1,
  staff_id: 1,
  start_at: today(hour),
  end_at: today(hour).replace(':00', ':30'),
  repair_order_id,
})
/** One order of two hours, or one, on each of these days. */
const sold = (shop_id: number, hours: number, ...days: string[]): Fields[] =>
  days.map((day, i) => order(100 * shop_id + i, 'invoice', `2026-${day}`, { shop_id }, hours))
const begun = { ...stamps('2026-08-20T12:00:00Z'), time_zone: 'UTC' }

const smallest = {
  101: {
    shops: [1, 2, 3].map((id) => ({ id, ...begun, name: `Shop ${id}` })),
    staffs: [{ id: 1, ...begun, first_name: 'Bo', last_name: 'Ray' }],
    customers: [{ id: 1, ...begun, first_name: 'Ann', last_name: 'Lee' }],
    repair_orders: orders,
    appointments: [
      appointment(1, 16, null),
      appointment(2, 16, 8),
      appointment(3, 17, 6),
      appointment(4, 19, null),
      appointment(5, 20, 8),
    ],
    payments: [
      { ...payment(7, 7, '2026-10-29T12:00:00Z', 700), shop_id: 2 },
      { ...payment(8, 99, '2026-10-29T12:00:00Z', 700), shop_id: null },
    ],
  },
  102: {
    shops: [{ id: 1, ...begun, name: 'Other' }],
    repair_orders: [
      order(1, 'invoice', '2026-09-02', paid(1, 10_000)),
      order(2, 'invoice', '2026-10-02', paid(2, 10_000)),
    ],
  },
  103: {
    shops: [1, 2].map((id) => ({ id, ...begun, name: `Open ${id}` })),
    repair_orders: [
      // In four weeks it was open on every Tuesday, on half of the Fridays, and once on a Monday.
      ...sold(1, 1, '10-20', '10-27', '11-03', '11-06', '11-09', '11-10', '11-13', '11-17'),
      // On Wednesdays.
      ...sold(2, 2, '11-04', '11-11'),
    ],
  },
}

/** Cars that came to a shop on a day, each for an hour. */
type Visits = readonly [shop: number | null, day: string, ...cars: number[]]

/**
 * Shops 1 and 2 of the first business are compared; shop 3 opened in October; the shop of the second business opened on
 * the fourth of September, a day too late to be compared. In the third one, shop 2 has closed since, shop 3 opened in
 * time, and two visits were in no shop. The fourth one made a loss in September. Cars 1 to 4 come to several shops.
 */
const visits: Readonly<Record<number, readonly Visits[]>> = {
  101: [
    [1, '2026-06-02', 1],
    [2, '2026-08-02', 2],
    [1, '2026-09-10', 1, 2, 3],
    [2, '2026-09-12', 1, 2, 4],
    [1, '2026-10-10', 1, 2, 3, 5, 5],
    [2, '2026-10-12', 1, 2, 3, 6],
    [3, '2026-10-20', 1, 7, 8],
    [null, '2026-10-20', 9],
  ],
  102: [
    [1, '2026-09-04', 1, 2],
    [1, '2026-10-15', 1, 2, 3],
  ],
  103: [
    [1, '2026-06-02', 1],
    [1, '2026-09-10', 1, 2],
    [2, '2026-09-02', 3],
    [3, '2026-09-03', 6],
    [1, '2026-10-10', 1, 4, 5],
    [null, '2026-10-10', 7, 8],
  ],
  104: [
    [1, '2026-06-02', 1],
    [1, '2026-09-10', 1],
    [1, '2026-10-10', 1],
  ],
}
/** What is used up for the fourth business's order of September, and nobody pays for. */
const lost = { quantity: 1, quoted_price_cents: 0, cost_cents: 30_000, taxable: true }

function visitsOf(tenant: number): Fields[] {
  const came = visits[tenant]!.flatMap(([shop_id, day, ...cars]) =>
    cars.map((car) => ({ shop_id, day, car })),
  )
  const sent = came.map(({ shop_id, day, car }, i) => {
    const more = { shop_id, technician_id: shop_id, vehicle_id: car, customer_id: car }
    return handmade(i + 1, `${day}T12:00:00Z`, { ...more, created_at: `${day}T12:00:00Z` })
  })
  if (tenant === 104) Object.assign((sent[1]!.services as Fields[])[0]!, { parts: [{ id: 1, ...lost }] })
  // Shop 4, and no shop in the second business, have an order and no invoice.
  if (tenant < 103)
    sent.push(handmade(99, null, { state: 'in_progress', shop_id: tenant === 101 ? 4 : null }))
  return sent
}

/** The names of the shops of many businesses: each shop of the first one sells an hour, each of the second one two. */
const called: readonly (readonly string[])[] = [
  ['Main Street Auto – Smyrna', 'Main Street Auto – Gallatin'],
  ['Main Street', 'Main Strand'],
  ['Lakeside Auto Care'],
  ['North Loop', 'Riverside'],
  ['', ''],
  ['', 'Old Mill, East', 'Old Mill, West'],
  ['A Garage', 'A Shop'],
  ['Eastside'],
  ['Eastside'],
  ['Westside'],
  ...Array<readonly string[]>(8).fill(['Many']),
]
const oct = '2026-10-03T12:00:00Z'
const ofShops = (names: readonly string[], hours: number): Record<string, Fields[]> => ({
  shops: names.map((name, i) => ({
    id: i + 1,
    name: name || undefined,
    created_at: oct,
    updated_at: oct,
    time_zone: 'UTC',
  })),
  repair_orders: names.map((_, i) => handmade(i + 1, oct, { shop_id: i + 1 }, hours)),
})

/** The day of each business's first invoice; the others are on the second of each month. 104 has none. */
const first: Readonly<Record<number, string>> = { 101: '2024-01-02', 102: '2026-11-10', 103: '2026-03-02' }
const estimate = handmade(1, null, { updated_at: '2026-03-30T12:00:00Z' })
const seconds = Array.from({ length: 36 }, (_, i) =>
  new Date(Date.UTC(2024, i, 2)).toISOString().slice(0, 10),
)

/** What has happened by a day, and nothing else. */
function putUntil({ store }: Sandbox, day: string): void {
  for (const [tenant, from] of Object.entries(first).map(([id, from]) => [Number(id), from] as const))
    for (const [i, one] of [...new Set([from, ...seconds])].filter((some) => some >= from).entries()) {
      const at = `${one}T12:00:00Z`
      const isThere = store.get(tenant, 'repair_orders', i + 1) !== undefined
      if (isThere && one >= day) store.remove(tenant, 'repair_orders', i + 1)
      if (!isThere && one < day)
        store.put(tenant, 'repair_orders', handmade(i + 1, at, { started_at: at, updated_at: at }))
    }
}

const sources = {
  smallest: await sending(smallest),
  compared: await sending(
    Object.fromEntries(Object.keys(visits).map((id) => [id, { repair_orders: visitsOf(Number(id)) }])),
  ),
  many: await sending(Object.fromEntries(called.map((names, i) => [101 + i, ofShops(names, i + 1)]))),
  monthly: await sending({ 101: {}, 102: {}, 103: {}, 104: { repair_orders: [estimate] } }),
}

interface Reader {
  /** The warehouse of each source, and how it is configured. */
  readonly places: ReadonlyMap<string, Awaited<ReturnType<typeof synced>>>
  readonly pages: Map<string, Page>
  page: Page
}

async function read(reader: Reader, source = '', tenants = ''): Promise<void> {
  const { config } = reader.places.get(source)!
  const asked = `${source} ${tenants}`
  const scope = tenants
    .split(' ')
    .filter(Boolean)
    .flatMap((id) => ['--tenant', id])
  reader.page = reader.pages.get(asked) ?? (await makeReport(config, ...scope)).page
  reader.pages.set(asked, reader.page)
  expect(/NaN|undefined|Infinity/.exec(reader.page.html)).toBeNull()
}

const inLines = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => cells.join(' | ')).join('\n') || 'nothing'

const words: WordsOf<Reader> = {
  'the report of WORD': read,
  'the report of WORD on IDS': read,
  'it is WORD': async (reader, day = '') => {
    const { config } = reader.places.get('monthly')!
    setTimeOfDay(Date.parse(`${day}T09:00:00Z`))
    putUntil(sources.monthly, day)
    await done(config, 'sync')
    reader.pages.clear()
  },
  'the data of N in WORD ends on WORD': async (reader, tenant, source = '', day) => {
    const warehouse = await reopen(reader.places.get(source)!.address)
    const ended = { complete_through: `${day}T12:00:00.000000Z` }
    const cursors = warehouse.db.updateTable('sync_cursors').set(ended)
    await cursors.where('tenant_id', '=', Number(tenant)).execute()
    await warehouse.close()
    reader.pages.clear()
  },
  headings: ({ page }) => page.headings().join('\n'),
  'table WORD': ({ page }, id = '') => inLines(page.table(id)),
  'head of WORD': ({ page }, id = '') => (page.table(id)[0] ?? []).join(' | ') || 'nothing',
  'column WORD: TEXT': ({ page }, id = '', head = '') => page.column(id, head).join(' | ') || 'nothing',
  'title of WORD': ({ page }, id = '') => page.title(id),
  'caption of WORD': ({ page }, id = '') => page.caption(id),
  'choices of a scope': ({ page }) => page.choices('scope').join(' | ') || 'none',
  'answer of WORD': ({ page }, id = '') =>
    page.card(id).answer.replace(/up to .* before/, 'up to AGE before'),
  'remarks of WORD': ({ page }, id = '') => page.card(id).remarks,
  'WORD: TEXT': ({ page }, id = '', label = '') =>
    (page.card(id).facts.get(label) ?? ['nothing']).join(' | '),
  'parts WORD': ({ page }, beginning = '') => page.ids(beginning).join(' ') || 'none',
  'say REST': ({ page }, text = '') => (page.html.includes(text) ? 'yes' : 'no'),
  'what changed in WORD': ({ page }, id = '') => (page.part(id).includes('%') ? 'yes' : 'nothing'),
  /** Each period with what its sales are compared with, and the months of the pace. */
  'periods of N': ({ page }, tenant) => {
    const periods = ['last-month', 'month-to-date', 'last-12-months'].filter((id) =>
      page.has(`${tenant}-figures-${id}`),
    )
    const told = periods.map((id) => {
      const sales = page.card(`${tenant}-month-${id}`).facts.get('Sales') ?? []
      const label = page.title(`${tenant}-figures-${id}`).replace('Every figure, ', '')
      return [label, ...sales.flatMap((text) => / vs\. (.*)$/.exec(text)?.[1] ?? [])]
    })
    const [, ...pace] = page.has(`${tenant}-pace`) ? (page.table(`${tenant}-pace`)[0] ?? []) : []
    return inLines([...told, ['pace', ...pace]])
  },
}

storyTests('test/features/report/handmade.txt', new Steps(words), (kind) => {
  const places = new Map<string, Awaited<ReturnType<typeof synced>>>()
  const pages = new Map<string, Page>()
  beforeAll(async () => {
    setTimeOfDay(Date.parse(now))
    putUntil(sources.monthly, '2024-01-01')
    for (const [name, source] of Object.entries(sources))
      places.set(name, await synced(kind, source, { tenantNames: { 110: 'Configured' } }))
  })
  return () => {
    setTimeOfDay(Date.parse(now))
    return { places, pages, page: undefined as never }
  }
})
