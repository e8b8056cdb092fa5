/**
 * Figures of invoices that are easy to get wrong, computed by hand (test/support/world/oddinvoices.ts), in both warehouses:
 * first visits, days to close, and the sums of a day and a month that have an absurd line.
 */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { viewText } from '../../../src/features/analytics/viewwords.js'
import { createSandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import { ask } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { odd, oddDay, putOddInvoices } from '../../support/world/oddinvoices.js'

const report = { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } }

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
    putOddInvoices(sandbox)
    const address = await kind.viewed()
    const ended = await shopsync([
      'sync',
      '--config',
      configure(sandbox, address, ['repair_orders'], { report }),
    ])
    expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    await sandbox.close()
    warehouse = await reopen(address)
  })
  afterAll(() => warehouse.close())

  /** Values as plain numbers. */
  const numbers = async (view: string, text: string): Promise<unknown[][]> =>
    (await ask(warehouse, view, text)).map((row) =>
      Object.values(row).map((value) => (value === null ? null : Number(value))),
    )

  it('the first visit of a day is the invoice that was closed first; at one instant, the lower id', async () => {
    const visits = await ask(
      warehouse,
      'orders',
      'select repair_order_id, is_first_visit, closed_on from {view} order by repair_order_id',
    )
    const isFirst = new Map(visits.map((row) => [Number(row.repair_order_id), row.is_first_visit]))
    expect(Object.entries(odd).map(([name, id]) => [name, isFirst.get(id)])).toEqual([
      ...[
        ['morning', true],
        ['evening', false],
      ],
      ...[
        ['twin', true],
        ['otherTwin', false],
      ],
      ...[
        ['kathmandu', true],
        ['chicago', false],
      ],
      ...[
        ['unstarted', true],
        ['absurd', true],
      ],
    ])
    const [[newCustomers] = []] = await numbers('shop_months', 'select sum(new_customers) as n from {view}')
    expect(newCustomers).toBe(5)
  })

  it('an invoice whose work never started counts in the days to close', async () => {
    const minutes = `select minutes_to_start, minutes_in_work, minutes_to_close from {view} where repair_order_id`
    expect(await numbers('cycle_times', `${minutes} = ${odd.unstarted}`)).toEqual([[null, null, 4320]])
    expect(await numbers('cycle_times', `${minutes} = ${odd.twin}`)).toEqual([[1440, 1680, 3120]])
    const figure = 'days_to_close_numerator, days_to_close_denominator, days_to_close_left_out'
    expect(await numbers('shop_days', `select ${figure} from {view} where day = '2026-09-17'`)).toEqual([
      [4320, 1, 0],
    ])
  })

  it('a line with absurd values leaves the sums of its day and month known, without it', async () => {
    const lines = `select quantity, price_cents, amount_cents from {view} where repair_order_id = ${odd.absurd} order by line_id`
    expect(await numbers('order_lines', lines)).toEqual([
      [null, 1, 0],
      [1, null, 0],
      [2, 500, 1000],
      [null, 10000, 0],
      [2, 10000, 20000],
    ])
    const order = `select labor_hours, sales_cents, total_cents, lines_without_price, lines_without_cost from {view}`
    expect(await numbers('orders', `${order} where repair_order_id = ${odd.absurd}`)).toEqual([
      [2, 21_000, null, 3, 1],
    ])
    // Of the other invoices of the shop and day, each has an hour.
    const day = `select labor_hours, sales_cents, invoices_without_total from {view} where shop_id = 1 and day = '${oddDay}'`
    expect(await numbers('daily_sales', day)).toEqual([[7, 71_000, 1]])
    const technician = `select sold_hours, rated_hours, hours_unknown from {view} where shop_id = 1 and day = '${oddDay}'`
    expect(await numbers('technician_hours', technician)).toEqual([[7, 7, 1]])
    const figures =
      'hours_sold, hours_sold_left_out, hours_per_order_numerator, effective_labor_rate_denominator'
    expect(
      await numbers('shop_months', `select ${figures} from {view} where shop_id = 1 and month = '2026-09'`),
    ).toEqual([[8, 1, 8, 8]])
  })

  it('each view is wrong if it reads them otherwise', async () => {
    if (warehouse.dialect.sql.numbers !== 'double') return
    const closedAt = /\b([bt])\.closed_at\b/g
    const readings: readonly (readonly [view: string, from: RegExp, to: string])[] = [
      ['orders', closedAt, '1'],
      ['orders', closedAt, '$1.closed_at_local'],
      ['technician_hours', /99999\.9999999995/g, '999999999.9999999995'],
      ['order_lines', /99999\.9999999995/g, '999999999.9999999995'],
      ['order_lines', /1000000000 /g, '9000000000 '],
    ]
    for (const [name, from, to] of readings) {
      const view = views.find((one) => one.name === name)
      if (!view) throw new Error(name)
      const { query: text } = viewText(view, warehouse.dialect.views().sql, {
        model: known,
        unlisted: 'keep',
      })
      const rows = async (of: string) => (await sql.raw(of).execute(warehouse.db)).rows
      expect(text).not.toBe(text.replace(from, to))
      expect([name, to, await rows(text.replace(from, to))]).not.toEqual([name, to, await rows(text)])
    }
  })
})
