/**
 * What the report compares and what it leaves empty, computed by hand: cars that came to two shops count once, and
 * before the data of a shop or business begins there is no number instead of $0.00.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { type Kind, warehouses } from '../../support/harness/warehouse.js'
import { makeReport, type Page } from './reportpage.js'

const now = new Date()
/** The month this many before the current one, as `YYYY-MM`. */
const month = (before: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before, 1)).toISOString().slice(0, 7)

interface Visit {
  readonly shop: number | null
  readonly day: string
  readonly car: number | null
  /** What a part of it costs, which nobody pays for. */
  readonly lost?: number
}

const at = (shop: number | null, day: string, ...cars: (number | null)[]): Visit[] =>
  cars.map((car) => ({ shop, day, car }))

/**
 * Shops 1 and 2 of the first business are compared; shop 3 opened in the last month; the shop of the second business
 * opened on the fourth of the month before, a day too late to be compared. In the third one, shop 2 has closed since, shop 3
 * opened in time, and two visits were in no shop. The fourth one made a loss before. Cars 1 to 4 come to several shops.
 */
const visits: Readonly<Record<number, readonly Visit[]>> = {
  101: [
    ...at(1, `${month(5)}-02`, 1),
    ...at(2, `${month(3)}-02`, 2),
    ...at(1, `${month(2)}-10`, 1, 2, 3),
    ...at(2, `${month(2)}-12`, 1, 2, 4),
    ...at(1, `${month(1)}-10`, 1, 2, 3, 5, 5),
    ...at(2, `${month(1)}-12`, 1, 2, 3, 6),
    ...at(3, `${month(1)}-20`, 1, 7, 8),
    ...at(null, `${month(1)}-20`, 9),
  ],
  102: [...at(1, `${month(2)}-04`, 1, 2), ...at(1, `${month(1)}-15`, 1, 2, 3)],
  103: [
    ...at(1, `${month(5)}-02`, 1),
    ...at(1, `${month(2)}-10`, 1, 2),
    ...at(2, `${month(2)}-02`, 3),
    ...at(3, `${month(2)}-03`, 6),
    ...at(1, `${month(1)}-10`, 1, 4, 5),
    ...at(null, `${month(1)}-10`, 7, 8),
  ],
  104: [
    ...at(1, `${month(5)}-02`, 1),
    ...at(1, `${month(2)}-10`, 1).map((visit) => ({ ...visit, lost: 30_000 })),
    ...at(1, `${month(1)}-10`, 1),
  ],
}

function recordOf({ shop, day, car, lost = 0 }: Visit, id: number): Record<string, unknown> {
  const instant = `${day}T12:00:00Z`
  const labor = { id, name: 'Labor', technician_id: shop, hours: 1, taxable: true }
  const parts =
    lost === 0 ? [] : [{ id, quantity: 1, quoted_price_cents: 0, cost_cents: lost, taxable: true }]
  return {
    id,
    updated_at: instant,
    created_at: instant,
    started_at: instant,
    closed_at: instant,
    number: id,
    state: 'invoice',
    shop_id: shop,
    vehicle_id: car,
    customer_id: car,
    taxable: false,
    supply_fee_cents: 0,
    payments: [],
    picked_up_at: null,
    due_out_at: null,
    services: [{ id, title: 'Service', completed: true, labor_rate_cents: 10_000, labors: [labor], parts }],
  }
}

describe.each(warehouses())('$name', (kind: Kind) => {
  let page: Page

  beforeAll(async () => {
    const sandbox = await createSandbox({ data: 'none', tenants: [101, 102, 103, 104].map((id) => ({ id })) })
    for (const [tenant, list] of Object.entries(visits))
      for (const [i, visit] of list.entries())
        sandbox.store.put(Number(tenant), 'repair_orders', recordOf(visit, i + 1))
    // Shop 4, and no shop in the second business, have an order and no invoice.
    for (const [tenant, shop] of [
      [101, 4],
      [102, null],
    ] as const) {
      const [visit] = at(shop, `${month(1)}-10`, 9)
      const open = { state: 'in_progress', closed_at: null }
      sandbox.store.put(tenant, 'repair_orders', { ...recordOf(visit!, 99), ...open })
    }
    const config = configure(sandbox, await kind.viewed(), ['repair_orders'], { report: { timeZone: 'UTC' } })
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    page = (await makeReport(config)).page
    await sandbox.close()
  })

  /** What came in the last month: all of it, its change against the month before, and for how many shops. */
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
