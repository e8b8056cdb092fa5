/**
 * What the report compares and what it leaves empty, computed by hand: cars that came to two shops count once, and
 * before the data of a shop or business begins there is no number instead of $0.00.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { warehouses } from '../../support/harness/warehouse.js'
import { type Fields, order } from '../../support/world/handmade.js'
import { itIs, makeReport, type Page, sending, synced } from './reportpage.js'

itIs('2026-11-18T18:00:00Z')

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

function sentBy(tenant: number): Fields[] {
  const sent = visits[tenant]!.flatMap(([shop_id, day, ...cars]) =>
    cars.map((car) => ({ shop_id, technician_id: shop_id, vehicle_id: car, customer_id: car, day })),
  ).map(({ day, ...more }, i) =>
    order(i + 1, `${day}T12:00:00Z`, { ...more, created_at: `${day}T12:00:00Z` }),
  )
  if (tenant === 104) Object.assign((sent[1]!.services as Fields[])[0]!, { parts: [{ id: 1, ...lost }] })
  // Shop 4, and no shop in the second business, have an order and no invoice.
  if (tenant < 103) sent.push(order(99, null, { state: 'in_progress', shop_id: tenant === 101 ? 4 : null }))
  return sent
}

const sent = Object.keys(visits).map((id) => [id, { repair_orders: sentBy(Number(id)) }])
const sandbox = await sending(Object.fromEntries(sent))

describe.each(warehouses())('$name', (kind) => {
  let page: Page

  beforeAll(async () => {
    page = (await makeReport((await synced(kind, sandbox)).config)).page
  })

  /** What came in October: all of it, its change against September, and for how many shops. */
  const fact = (scope: string, label: string): (string | undefined)[] => {
    const found = page.card(`${scope}-month-last-month`).facts.get(label) ?? []
    const change = found.find((text) => text.includes(' vs. '))
    return [found[0], /[+−±]?[\d.]+%/.exec(change ?? '')?.[0], found.find((text) => text.startsWith('same '))]
  }

  it('a car that came to two shops counts once when months are compared, without the newer shops', () => {
    // Cars 1, 2, 3, 5, 6 against 1, 2, 3, 4; by shop it would be 8 against 6.
    expect(fact('101', 'Cars')).toEqual(['8', '+25.0%', 'same 2 of 3 shops'])
    expect(fact('shop-101-1', 'Cars')).toEqual(['4', '+33.3%', undefined])
    // Cars 1, 4, 5, 7, 8 against 1, 2, 3, 6: a shop that has closed was there before, and what was in no shop is there now.
    expect(fact('103', 'Cars')).toEqual(['5', '+25.0%', undefined])
    // Without the newer shops of the first and of the second business.
    expect(fact('all', 'Cars')[2]).toBe('same 6 of 8 shops')
    expect(page.card('101-month-last-month').remarks).toContain('Changes compare the same shops')
  })

  it('sums are compared for the same shops, and without rows of no shop where one is left out', () => {
    expect(fact('101', 'Sales')).toEqual(['$1,300', '+50.0%', 'same 2 of 3 shops'])
    expect(fact('103', 'Sales')).toEqual(['$500', '+25.0%', undefined])
    expect(fact('102', 'Sales')).toEqual(['$300', undefined, undefined])
    expect(page.card('102-month-last-month').remarks).toContain(
      'Not compared with the month before: no shop has data that far back.',
    )
    const compared = [...page.rows('compare-title')].map(([name, cells]) => [name, cells[1]])
    expect(compared).toEqual([
      ['tenant 101', '+50.0% same 2 of 3 shops'],
      ['tenant 103', '+25.0%'],
      ['tenant 102', '–'],
      ['tenant 104', '0.0%'],
    ])
    // From a loss to a profit, there is no percentage.
    expect(fact('104', 'Gross profit')).toEqual(['$100', undefined, undefined])
  })

  it('a business and a shop have no numbers before their data begins', () => {
    const sales = (id: string, column = 0) =>
      [...page.rows(`${id}-sales`).values()].map((cells) => cells[column])
    const [heads = []] = page.table('101-sales')
    const byShop = (name: string) => sales('101', heads.indexOf(name) - 1)
    // The months of the report begin with the first business; the current month has no invoice yet.
    expect(sales('102')).toEqual(['–', '–', '–', '$200.00', '$300.00', '$0.00'])
    expect(byShop('shop 1')).toEqual(['$100.00', '$0.00', '$0.00', '$300.00', '$500.00', '$0.00'])
    expect(byShop('shop 2')).toEqual(['–', '–', '$100.00', '$300.00', '$400.00', '$0.00'])
    expect(byShop('shop 3')).toEqual(['–', '–', '–', '–', '$300.00', '$0.00'])
    expect(page.column('101-shops-last-month', 'shop')).toEqual(['shop 1', 'shop 2', 'shop 3', 'no shop'])
    expect(page.has('102-shops-last-month')).toBe(false)
    // Nothing of a new shop is compared.
    expect(page.part('shop-101-3-technicians-last-month')).not.toContain('%')
  })
})
