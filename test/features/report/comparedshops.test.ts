/**
 * What the report compares and what it leaves empty, computed by hand: cars that came to two shops count once, and
 * before the data of a shop or business begins there is no number instead of $0.00.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import salesFigure from '../../../schema/figures/sales_cents.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { figureAmount } from '../../../src/features/report/amounts.js'
import type { ReportData, ReportScope } from '../../../src/features/report/data.js'
import { readReport } from '../../../src/features/report/read/read.js'
import { createSandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Kind, reopen, warehouses } from '../../support/harness/warehouse.js'

const now = new Date()
/** The month this many before the current one, as `YYYY-MM`. */
const month = (before: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before, 1)).toISOString().slice(0, 7)

interface Invoice {
  readonly shop: number
  readonly day: string
  readonly car: number | null
  readonly technician?: number
}

const at = (shop: number | null, day: string, ...cars: (number | null)[]): Invoice[] =>
  cars.map((car) => ({ shop: shop as number, day, car }))

/**
 * Shops 1 and 2 of the first business are compared; shop 3 opened in the last month; the shop of the second business
 * opened in the middle of the month before. Cars 1 to 4 come to several shops.
 */
const visits: Readonly<Record<number, readonly Invoice[]>> = {
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
  102: [...at(1, `${month(2)}-15`, 1, 2), ...at(1, `${month(1)}-15`, 1, 2, 3)],
  103: [...at(1, `${month(5)}-02`, 1), ...at(1, `${month(2)}-10`, 1, 2), ...at(1, `${month(1)}-10`, 1, 4, 5)],
}

function recordOf({ shop, day, car }: Invoice, id: number): Record<string, unknown> {
  const instant = `${day}T12:00:00Z`
  const labor = { id, name: 'Labor', technician_id: shop, hours: 1, taxable: true }
  return {
    ...{ id, updated_at: instant, created_at: instant, started_at: instant, closed_at: instant, number: id },
    ...{ state: 'invoice', shop_id: shop, vehicle_id: car, customer_id: car, taxable: false },
    ...{ supply_fee_cents: 0, payments: [], picked_up_at: null, due_out_at: null },
    services: [{ id, title: 'Service', completed: true, labor_rate_cents: 10_000, labors: [labor] }],
  }
}

describe.each(warehouses())('$name', (kind: Kind) => {
  let data: ReportData
  let page = ''

  beforeAll(async () => {
    const sandbox = await createSandbox({ data: 'none', tenants: [101, 102, 103].map((id) => ({ id })) })
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
      if (visit) sandbox.store.put(tenant, 'repair_orders', { ...recordOf(visit, 99), ...open })
    }
    const address = await kind.viewed()
    const config = configure(sandbox, address, ['repair_orders'], { report: { timeZone: 'UTC' } })
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const file = join(scratch(), 'report.html')
    const written = await shopsync(['report', '--out', file, '--config', config])
    expect(written.code, written.stderr).toBe(0)
    page = readFileSync(file, 'utf8')
    const warehouse = await reopen(address)
    data = await readReport({
      ...{
        warehouse,
        label: 'the warehouse',
        source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId },
        schema: undefined,
      },
      ...{ timeZone: 'UTC', staleAfterMs: 3_600_000, deletesUncheckedAfterMs: 3_600_000, tenants: null },
      nowMicros: systemClock.nowMicros(),
    })
    await warehouse.close()
    await sandbox.close()
  })

  const scope = (id: string): ReportScope => {
    const found = data.scopes.find((one) => one.id === id)
    if (!found) throw new Error(`no scope ${id}: ${data.scopes.map((one) => one.id).join(' ')}`)
    return found
  }

  /** The cars of the last month and of the one before, as they are compared. */
  function compared(id: string): unknown[] {
    const [last] = scope(id).periods
    const [before] = last?.comparisons ?? []
    const cars = (of: 'now' | 'before') => before?.[of].get('cars')?.numerator
    return [cars('now'), cars('before'), before?.shopsLeftOut]
  }

  it('a car that came to two shops counts once when months are compared, without the newer shops', () => {
    // Cars 1, 2, 3, 5, 6 against 1, 2, 3, 4; by shop it would be 8 against 6.
    expect(compared('101')).toEqual([5, 4, 1])
    expect(compared('shop-101-1')).toEqual([4, 3, 0])
    expect(compared('103')).toEqual([3, 2, 0])
    // Those of the first and of the third business.
    expect(compared('all')).toEqual([5 + 3, 4 + 2, 2])
    expect(scope('101').periods[0]?.amounts.get('cars')?.numerator).toBe(8)
    expect(data.tenants.find(({ id }) => id === '101')?.comparison?.now.get('cars')?.numerator).toBe(5)
  })

  it('a business and a shop have no numbers before their data begins', () => {
    const sales = (id: string) => scope(id).months.map((of) => figureAmount(of, salesFigure))
    // The months of the report begin with the first business; the current month has no invoice yet.
    expect(sales('101')).toEqual([10_000, 0, 10_000, 60_000, 130_000, 0])
    expect(sales('102')).toEqual([null, null, null, 20_000, 30_000, 0])
    expect(scope('102').advice).toEqual([null, null, null, ...scope('102').advice.slice(3)])
    const [, tables = ''] = page.split('id="102-sales"')
    const rows = tables.slice(0, tables.indexOf('</table>')).split('<tr>').slice(2)
    expect(rows.map((row) => row.includes('$0.00'))).toEqual([false, false, false, false, false, true])
    expect(rows[0]).toContain('<td>–</td>')
    const byShop = new Map(scope('101').soldBy.lines.map(({ name, salesCents }) => [name, salesCents]))
    expect(byShop.get('shop 1')).toEqual([10_000, 0, 0, 30_000, 50_000, 0])
    expect(byShop.get('shop 2')).toEqual([null, null, 10_000, 30_000, 40_000, 0])
    expect(byShop.get('shop 3')).toEqual([null, null, null, null, 30_000, 0])
    const lines = (id: string) => scope(id).periods[0]?.shops.map(({ key }) => key)
    expect([lines('101'), lines('102')]).toEqual([['101-1', '101-2', '101-3', null], []])
    const newest = scope('shop-101-3')
    expect(newest.periods[0]?.comparisons).toEqual([])
    expect(newest.periods[0]?.technicians.map(({ before }) => before)).toEqual([undefined])
  })
})
