/**
 * Compares the business views with values computed by hand, in both warehouses: two tenants whose ids collide, deleted
 * records of every kind, refunds, discounts, null fees, lines without prices. test/support/world/business.ts has the
 * business.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import type { RowsOf } from '../../../src/engine/model/statetable.js'
import type { snapshotTables } from '../../../src/features/snapshot/tables.js'
import { ask } from '../../support/harness/views.js'
import { bothWarehouses, type Db, type Warehouse } from '../../support/harness/warehouse.js'
import { type BusinessPlace, businessIn } from '../../support/world/business.js'

const withSnapshots = (db: Db) => db.withTables<RowsOf<typeof snapshotTables>>()

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let run: BusinessPlace['run']
  beforeAll(async () => {
    ;({ warehouse, run } = await businessIn(kind))
  })
  afterAll(() => warehouse.close())

  /** Rows of a view as lists of these columns' values, ordered by these columns. */
  async function rows(view: string, columns: string, rest = 'where tenant_id = 1'): Promise<unknown[][]> {
    const list = columns.split(' ')
    const found = await ask(warehouse, view, `select ${list.join(', ')} from {view} ${rest}`)
    return found.map((row) => list.map((name) => row[name]))
  }

  it('order_lines distributes discounts so that they add up to those of the order', async () => {
    const columns =
      'kind line_id quantity price_cents amount_cents discount_cents net_cents cost_cents price_unknown gross_profit_cents net_where_profit_known_cents'
    expect(
      await rows(
        'order_lines',
        columns,
        'where tenant_id = 1 and repair_order_id = 1 order by kind, line_id',
      ),
    ).toEqual([
      ['hazmat', 131, 2, 355, 710, 0, 710, null, false, 710, 710],
      ['labor', 111, 0.35, 10_250, 3588, 124, 3464, null, false, 3464, 3464],
      ['labor', 112, 1.5, 10_250, 15_375, 531, 14_844, null, false, 14_844, 14_844],
      ['labor', 121, 1, 10_000, 10_000, 345, 9655, null, false, 9655, 9655],
      ['part', 113, 3, 1999, 5997, 600, 5397, 3600, false, 1797, 5397],
      ['part', 122, 1.5, 333, 500, 50, 450, 150, false, 300, 450],
      ['sublet', 132, 1, 9900, 9900, 0, 9900, 6400, false, 3500, 9900],
    ])
    expect(
      await rows(
        'order_lines',
        columns,
        'where tenant_id = 1 and repair_order_id in (2, 6) order by line_id',
      ),
    ).toEqual([
      ['labor', 211, 1, null, 0, 0, 0, null, true, null, 0],
      ['labor', 212, 0, null, 0, 0, 0, null, false, 0, 0],
      ['part', 213, 1, null, 0, 0, 0, 500, true, null, 0],
      ['part', 214, 2, 1000, 2000, 0, 2000, null, false, null, 0],
      ['part', 215, 0, null, 0, 0, 0, 0, false, 0, 0],
      ['part', 611, null, 100, 0, 0, 0, null, true, null, 0],
      ['part', 612, 1, null, 0, 0, 0, 100, true, null, 0],
      ['hazmat', 613, 1, 355, 355, 0, 355, null, false, 355, 355],
    ])
    expect(
      await rows(
        'order_lines',
        'description technician_name brand inventory_id shop_name tenant_name',
        'where tenant_id = 1 and line_id in (112, 113) order by line_id',
      ),
    ).toEqual([
      ['Labor 112', 'Grace Hopper', null, null, 'Phoenix', 'Desert Auto'],
      ['Part 113', null, 'Bosch', 34, 'Phoenix', 'Desert Auto'],
    ])
  })

  it('service_totals add up to their order, and show where profit is unknown', async () => {
    const columns =
      'service_id labor_hours labor_cents labor_discount_cents parts_cents parts_discount_cents sublets_cents hazmats_cents sales_cents cost_cents gross_profit_cents rated_hours'
    expect(
      await rows(
        'service_totals',
        columns,
        'where tenant_id = 1 and repair_order_id in (1, 2) order by service_id',
      ),
    ).toEqual([
      [11, 1.85, 18_963, 655, 5997, 600, 0, 0, 23_705, 3600, 20_105, 1.85],
      [12, 1, 10_000, 345, 500, 50, 0, 0, 10_105, 150, 9955, 1],
      [13, 0, 0, 0, 0, 0, 9900, 710, 10_610, 6400, 4210, 0],
      [21, 1, 0, 0, 2000, 0, 0, 0, 2000, 500, null, 0],
    ])
    expect(
      await rows(
        'service_totals',
        'title category completed closed_on service_key',
        'where tenant_id = 1 and service_id = 11',
      ),
    ).toEqual([['Service 11', 'Brakes', true, '2026-03-04', '1-1-11']])
  })

  it("daily_sales uses the shop's own day, and counts what it leaves out", async () => {
    const columns =
      'tenant_id shop_id day invoices cars customers labor_hours sales_cents discount_cents supply_fee_cents tax_cents total_cents invoices_without_total gross_profit_cents invoices_without_profit paid_cents paid_where_total_known_cents'
    expect(
      await rows(
        'daily_sales',
        columns,
        "where day between '2026-03-01' and '2026-03-31' order by tenant_id, shop_id",
      ),
    ).toEqual([
      [1, 1, '2026-03-04', 2, 2, 2, 3.85, 46_420, 1650, 500, 524, 45_444, 1, 34_270, 1, 45_444, 45_444],
      [1, 2, '2026-03-05', 1, 1, 1, 2, 10_000, 0, 0, 0, 0, 1, 10_000, 0, 4000, 0],
      [2, 1, '2026-03-04', 1, 1, 1, 3, 778_886, 0, 0, 40_425, 819_311, 0, 778_837, 0, 0, 0],
      [2, 2, '2026-03-04', 1, 1, 1, 1, 1234, 0, 0, 0, 1234, 0, 1234, 0, 1234, 1234],
    ])
  })

  it('technician_hours keeps lines without a technician separate', async () => {
    const columns =
      'tenant_id shop_id day technician_id technician_name invoices sold_hours rated_hours labor_cents'
    expect(
      await rows(
        'technician_hours',
        columns,
        "where day between '2026-03-01' and '2026-03-31' order by tenant_id, shop_id, coalesce(technician_id, 0)",
      ),
    ).toEqual([
      [1, 1, '2026-03-04', null, null, 1, 1, 0, 0],
      [1, 1, '2026-03-04', 7, 'Ada Lovelace', 1, 1.35, 1.35, 13_588],
      [1, 1, '2026-03-04', 8, 'Grace Hopper', 1, 1.5, 1.5, 15_375],
      [1, 2, '2026-03-05', 7, 'Ada Lovelace', 1, 2, 2, 10_000],
      [2, 1, '2026-03-04', 7, 'Ada Lovelace 2', 1, 3, 3, 288_886],
      [2, 2, '2026-03-04', 7, 'Ada Lovelace 2', 1, 1, 1, 1234],
    ])
  })

  it('parts_margin has a margin where price and cost are known', async () => {
    const columns =
      'part_id quantity quoted_price_cents unit_cost_cents sold_cents cost_cents margin_cents cost_band'
    expect(
      await rows(
        'parts_margin',
        columns,
        'where tenant_id = 1 and repair_order_id in (1, 2) order by part_id',
      ),
    ).toEqual([
      [113, 3, 1999, 1200, 5997, 3600, 2397, '1 5 to 20'],
      [122, 1.5, 333, 100, 500, 150, 350, '0 under 5'],
      [213, 1, null, 500, 0, 500, null, '1 5 to 20'],
      [214, 2, 1000, null, 2000, null, null, 'unknown'],
      [215, 0, null, null, 0, 0, 0, 'unknown'],
    ])
  })

  it('recommendation_conversion distinguishes what was decided at once from what was sold later', async () => {
    const columns = 'recommendation_id recommended_on shop_id kind decision imported sold_later value_cents'
    expect(
      await rows('recommendation_conversion', columns, 'where tenant_id = 1 order by recommendation_id'),
    ).toEqual([
      [1, '2026-03-04', 1, 'quick', 'approved', true, false, 5000],
      [2, '2026-03-05', 2, 'service', 'undecided', false, true, 13_600],
      [3, '2026-03-01', 1, 'service', 'declined', false, false, null],
      [4, '2026-03-01', 1, 'service', 'undecided', false, false, null],
      [5, '2026-03-01', 2, 'service', 'declined', false, true, 10_000],
    ])
  })

  it('recommendation_conversion has the vehicle of its order', async () => {
    const columns = 'recommendation_id vehicle_id vehicle_key vehicle_name'
    expect(
      await rows('recommendation_conversion', columns, 'where tenant_id = 1 order by recommendation_id'),
    ).toEqual([
      [1, 1, '1-1', 'Car 1'],
      [2, 1, '1-1', 'Car 1'],
      [3, 1, '1-1', 'Car 1'],
      [4, 1, '1-1', 'Car 1'],
      [5, 1, '1-1', 'Car 1'],
    ])
  })

  it('earlier_recommendations has what was unsold on earlier visits, and what became of it', async () => {
    const order = 'order by past_recommendation_id'
    const columns =
      'past_recommendation_id recommended_on unsold_on shop_id repair_order_key number customer_name decision imported done is_to_sell value_cents'
    expect(await rows('earlier_recommendations', columns, `where tenant_id = 1 ${order}`)).toEqual([
      [1, '2026-03-05', '2026-03-01', 2, '1-4', 1004, 'Customer 1', 'approved', true, true, false, 13_600],
      [2, '2026-03-01', '2026-03-01', 1, '1-1', 1001, 'Customer 1', 'undecided', false, true, false, null],
      [3, '2026-03-01', '2026-03-01', 2, '1-4', 1004, 'Customer 1', 'undecided', true, true, false, 10_000],
      [4, null, '2026-03-01', null, null, null, null, 'declined', false, false, true, null],
      [5, '2026-03-04', '2026-03-01', 1, '1-1', 1001, 'Customer 1', 'approved', false, false, false, 5000],
      [6, '2026-03-01', '2026-03-01', 1, '1-1', 1001, 'Customer 1', 'approved', false, false, false, null],
    ])
    const vehicle =
      'past_recommendation_key recommendation_key vehicle_key vehicle_name description category decided_on decided_at_local recommended_at_local unsold_at_local'
    const [first, , , fourth] = await rows('earlier_recommendations', vehicle, `where tenant_id = 1 ${order}`)
    const unsold = ['2026-03-01 17:45:00', '2026-03-01 05:00:00']
    expect(first).toEqual([
      '1-1',
      '1-2',
      '1-1',
      'Car 1',
      null,
      'Brakes',
      '2026-03-11',
      '2026-03-11 01:45:00',
      '2026-03-05 00:00:00',
      unsold[0],
    ])
    expect(fourth).toEqual([
      '1-4',
      '1-90',
      '1-5',
      'Car 5',
      'Wipers',
      null,
      '2026-03-04',
      '2026-03-04 23:30:00',
      null,
      unsold[1],
    ])
    expect(
      await rows(
        'earlier_recommendations',
        'decision value_cents',
        'where tenant_id = 2 and past_recommendation_id = 3',
      ),
    ).toEqual([['undecided', null]])
  })

  it('payments_daily has live payments, those of the deleted order too, by type', async () => {
    expect(
      await rows(
        'payments_daily',
        'shop_id day type type_name payments amount_cents refunds refund_payments refund_cents',
        'where tenant_id = 1 order by shop_id, type',
      ),
    ).toEqual(
      expect.arrayContaining([
        [1, '2026-03-04', '(none)', '(none)', 1, 1, 0, 0, 0],
        [1, '2026-03-04', 'Cash', '(none)', 2, 46_443, 0, 0, 0],
        [2, '2026-03-05', 'Credit Card', 'Visa', 2, 4000, 1, 1, -500],
      ]),
    )
    expect(await rows('payments_daily', 'payments')).toHaveLength(3)
  })

  it('payments_ledger has live payments one by one', async () => {
    const columns = 'payment_id paid_on paid_at_local is_deposit is_refund paid_so_far_cents settled_on'
    expect(await rows('payments_ledger', columns, 'where tenant_id = 1 order by payment_id')).toEqual([
      [1, '2026-03-04', '2026-03-04 19:00:00', false, false, 45_444, '2026-03-04'],
      [2, '2026-03-05', '2026-03-05 07:45:00', false, false, 4500, null],
      [3, '2026-03-05', '2026-03-05 07:45:00', false, true, 4000, null],
      [4, '2026-03-04', '2026-03-04 19:00:00', false, false, 999, null],
      [5, '2026-03-04', '2026-03-04 19:00:00', false, false, 45_445, null],
    ])
  })

  it('inspections have their service and order, handovers the names of both', async () => {
    const found = 'inspection_id name result detail service_title customer_name inspected_at_local'
    expect(await rows('inspections', found, 'where tenant_id = 1 order by inspection_id')).toEqual([
      [141, 'Pads', 'red', 'Pads: red', 'Service 11', 'Customer 1', '2026-09-30 17:00:00'],
      [142, 'Rotors', 'green', 'Rotors: green', 'Service 11', 'Customer 1', '2026-09-30 17:00:00'],
      [441, 'Tires', 'green', 'Tires: green', 'Service 41', 'Customer 1', '2026-10-01 05:45:00'],
    ])
    const handed = 'assignment_id day number from_staff_name to_staff_name outcome minutes_to_accept'
    expect(await rows('handovers', handed, 'where tenant_id = 1 order by assignment_id')).toEqual([
      [1, '2026-03-04', 1001, 'Ada Lovelace', 'Grace Hopper', 'accepted', 20],
      [2, '2026-03-04', null, 'Grace Hopper', null, 'open', null],
      [3, '2026-03-05', 1004, 'Ada Lovelace', 'Alan Turing', 'cancelled', 1],
    ])
  })

  it('card_attempts finds what made up for a failure', async () => {
    const columns = 'payment_transaction_id day reader status failed failed_then_approved staff_name'
    expect(
      await rows('card_attempts', columns, 'where tenant_id = 1 order by payment_transaction_id'),
    ).toEqual([
      [1, '2026-03-04', 'HSN-1', 'declined', true, true, 'Alan Turing'],
      [2, '2026-03-04', 'HSN-1', 'approved', false, false, 'Alan Turing'],
      [3, '2026-03-04', 'HSN-1', null, true, false, 'Alan Turing'],
      [4, '2026-03-04', 'HSN-1', 'declined', true, true, 'Alan Turing'],
      [5, '2026-03-04', 'HSN-1', 'approved', false, false, 'Alan Turing'],
      [6, '2026-03-05', 'HSN-1', 'approved', false, false, 'Alan Turing'],
    ])
  })

  it('inventory_value rounds stock to the cent, and covers 365 days of sales', async () => {
    const columns =
      'inventory_id shop_id quantity_on_hand min_stock cost_cents on_hand_cents below_min sold_12_months turns vendor_name'
    expect(await rows('inventory_value', columns, 'where tenant_id = 1 order by inventory_id')).toEqual([
      [31, 1, 2.5, 3, 333, 833, false, 4, 1.6, 'Parts & Co'],
      [32, 1, 0, 1, null, 0, true, 0, null, null],
      [33, 2, null, null, 100, null, null, 0, null, null],
    ])
    expect(
      await rows(
        'inventory_value',
        'inventory_id quantity_ordered_for_stock units_short',
        'where tenant_id = 1 order by inventory_id',
      ),
    ).toEqual([
      [31, 0.5, 0],
      [32, 0, 1],
      [33, null, null],
    ])
    expect(
      await rows('inventory_value', 'sold_12_months turns', 'where tenant_id = 2 and inventory_id = 31'),
    ).toEqual([[0, 0]])
  })

  it('parts_on_order has the parts of open orders, with what is known of their stock item', async () => {
    const columns =
      'repair_order_key part_key inventory_key quantity needed ordered received returned on_hand vendor_name is_estimate'
    expect(await rows('parts_on_order', columns, 'order by part_key')).toEqual([
      ['1-6', '1-6-611', '1-34', null, null, null, 0, null, null, null, false],
      ['1-6', '1-6-612', '1-31', 1, 3, 2, 0, null, 2.5, 'Parts & Co', false],
    ])
  })

  it('canned_job_hours has the hours that a job plans beside those that were sold', async () => {
    const columns =
      'canned_job_key shop_name category book_hours times_sold hours_sold book_lines_without_hours lines_without_hours'
    expect(await rows('canned_job_hours', columns, 'order by canned_job_key')).toEqual([
      ['1-61', 'Phoenix', 'Brakes', 1.6, 1, 1.85, 1, 0],
      ['1-65', null, null, 0, 0, 0, 0, 0],
      ['2-61', 'Phoenix 2', 'Brakes', 1.6, 0, 0, 1, 0],
      ['2-65', null, null, 0, 0, 0, 0, 0],
    ])
  })

  it('deleted_orders has the money of orders that are gone, by the day on which that was found', async () => {
    const found = await rows(
      'deleted_orders',
      'repair_order_key state customer_name shop_name sales_cents paid_cents',
      'order by repair_order_key',
    )
    expect(found).toEqual([
      ['1-11', 'invoice', 'Customer 3', 'Phoenix', 1400, 300],
      ['1-3', 'invoice', 'Customer 3', 'Phoenix', 795_096, 0],
    ])
    const [[on, local] = []] = await rows('deleted_orders', 'deleted_on deleted_at_local')
    expect(String(local).startsWith(String(on))).toBe(true)
    expect(Math.abs(Date.parse(`${on}T12:00:00Z`) - Date.now())).toBeLessThan(36 * 3_600_000)
  })

  it('purchases are negative if they are returns', async () => {
    const columns =
      'purchase_record_id position day shop_id vendor_name is_return inventory_id quantity unit_cost_cents amount_cents'
    expect(
      await rows('purchases', columns, 'where tenant_id = 1 order by purchase_record_id, position'),
    ).toEqual([
      [1, 0, '2026-03-04', 1, 'Parts & Co', false, 31, 2.5, 333, 833],
      [1, 1, '2026-03-04', 1, 'Parts & Co', false, 32, null, 5, null],
      [2, 0, '2026-03-05', 2, 'Parts & Co', true, 33, -1, 1000, -1000],
      [2, 1, '2026-03-05', 2, 'Parts & Co', true, 33, 0, null, 0],
    ])
  })

  it('appointment_load and card_attempts have the clock of the shop', async () => {
    const booked = 'appointment_id start_at_local created_on created_at_local'
    const inMarch = 'where tenant_id = 1 and appointment_id < 5 order by appointment_id'
    expect(await rows('appointment_load', booked, inMarch)).toEqual([
      [1, '2026-03-04 18:00:00', '2026-03-01', '2026-03-01 05:00:00'],
      [2, '2026-03-05 08:15:30', '2026-03-01', '2026-03-01 17:45:00'],
      [3, '2026-03-04 18:00:00', '2026-03-01', '2026-03-01 05:00:00'],
      [4, null, '2026-03-01', '2026-03-01 05:00:00'],
    ])
    const attempted = 'payment_transaction_id shop_id attempted_at_local'
    const ofThree = 'where tenant_id = 1 and payment_transaction_id in (1, 4, 6)'
    expect(await rows('card_attempts', attempted, `${ofThree} order by payment_transaction_id`)).toEqual([
      [1, 1, '2026-03-04 19:10:00'],
      [4, 1, '2026-03-04 19:10:00'],
      [6, 2, '2026-03-05 08:35:00'],
    ])
  })

  it('dim_customers has the phone and the address by which a customer is reached', async () => {
    expect(
      await rows('dim_customers', 'customer_id phone email', 'where tenant_id = 1 order by customer_id'),
    ).toEqual([
      [1, '(602) 555-0102', 'one@example.com'],
      [2, '+16025550103', null],
      [3, '555-0104', null],
      [4, '(602) 555-0105', null],
      [5, null, null],
      [6, null, null],
      [90, null, null],
    ])
  })

  it('shop_days tells open days from others with a row', async () => {
    const inMarch = "where tenant_id = 1 and day between '2026-03-01' and '2026-03-31'"
    expect(await rows('shop_days', 'shop_id day is_open_day', `${inMarch} order by shop_id, day`)).toEqual([
      // Recommendations only.
      [1, '2026-03-01', false],
      // Work began on two orders.
      [1, '2026-03-02', true],
      [1, '2026-03-04', true],
      [2, '2026-03-01', false],
      [2, '2026-03-02', true],
      [2, '2026-03-05', true],
    ])
    // The only invoice of the day is deleted.
    const gone = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10)
    expect(
      await rows('shop_days', 'is_open_day', `where tenant_id = 1 and day = '${gone}' and is_open_day`),
    ).toEqual([])
  })

  it('dim_days has the weeks from Monday and from Sunday, across years too', async () => {
    const days = ['2026-03-01', '2026-03-02', '2026-03-07', '2027-01-01', '2027-01-03']
    const found = `where day in (${days.map((day) => `'${day}'`).join(', ')}) order by day`
    expect(await rows('dim_days', 'day weekday_name week week_from_sunday', found)).toEqual([
      ['2026-03-01', 'Sunday', '2026-02-23', '2026-03-01'],
      ['2026-03-02', 'Monday', '2026-03-02', '2026-03-01'],
      ['2026-03-07', 'Saturday', '2026-03-02', '2026-03-01'],
      ['2027-01-01', 'Friday', '2026-12-28', '2026-12-27'],
      ['2027-01-03', 'Sunday', '2026-12-28', '2027-01-03'],
    ])
  })

  it('appointment_load rounds minutes down, even below zero', async () => {
    expect(
      await rows(
        'appointment_load',
        'appointment_id day minutes outcome',
        'where tenant_id = 1 order by appointment_id',
      ),
    ).toEqual([
      [1, '2026-03-04', 90, 'came'],
      [2, '2026-03-05', -31, 'no order'],
      [3, '2026-03-04', null, 'order gone'],
      [4, null, 0, 'order gone'],
      [5, expect.any(String), 60, 'to come'],
      [6, expect.any(String), 60, 'work not begun'],
    ])
  })

  it('cycle_times and work_in_progress measure in whole minutes, and show what is late', async () => {
    const columns =
      'repair_order_id minutes_to_start minutes_in_work minutes_to_pick_up minutes_in_all is_late'
    expect(
      await rows(
        'cycle_times',
        columns,
        'where tenant_id = 1 and repair_order_id in (1, 2, 5, 6) order by repair_order_id',
      ),
    ).toEqual([
      [1, 1440, 3690, 720, 5850, false],
      [2, 1440, 4019, null, null, true],
      [5, null, null, null, null, true],
      [6, 2879, null, null, null, false],
    ])
    const open = await rows(
      'work_in_progress',
      'repair_order_id state sales_cents is_late customer_name minutes_open',
      'where tenant_id = 1 order by repair_order_id',
    )
    expect(open.map((row) => row.slice(0, 5))).toEqual([
      [5, 'estimate', 8000, true, 'Customer 5'],
      [6, 'in_progress', 355, false, 'Customer 6'],
    ])
    const minutes = open.map((row) => Number(row[5]))
    expect(
      [14_401, 2881].map((least, i) => (minutes[i] ?? 0) - least).every((more) => more >= 0 && more < 30),
    ).toBe(true)
  })

  it('receivables are unsettled invoices, by age', async () => {
    const columns =
      'repair_order_id customer_name total_cents sales_cents paid_cents balance_cents bucket at_least_due_cents'
    expect(await rows('receivables', columns, 'where tenant_id = 1 order by repair_order_id')).toEqual([
      [2, 'Customer 2', null, 2000, 0, null, 'over 90', 2000],
      [4, 'Customer 1', null, 10_000, 4000, null, 'over 90', 6000],
      [7, 'Customer 3', 10_000, 10_000, 0, 10_000, '31 to 60', 10_000],
      [8, 'Customer 4', 5000, 5000, 5003, -3, 'over 90', 0],
      [10, 'Customer 5', 7000, 7000, 1000, 6000, 'over 90', 6000],
    ])
    const days = await rows(
      'receivables',
      'days',
      'where tenant_id = 1 and repair_order_id in (7, 8, 10) order by repair_order_id',
    )
    // Midnight may pass between the creation of the records and the query.
    expect(
      [45, 200, 500].map((age, i) => Number(days[i]?.[0]) - age).every((more) => more === 0 || more === 1),
    ).toBe(true)
  })

  it('customer_value counts invoices as visits, and shows who still comes', async () => {
    const columns = 'customer_id visits sales_cents gross_profit_cents invoices_without_profit vehicles'
    expect(await rows('customer_value', columns, 'where tenant_id = 1 order by customer_id')).toEqual([
      [1, 2, 54_420, 44_270, 0, 1],
      [2, 1, 2000, 0, 1, 1],
      [3, 1, 10_000, 8668, 0, 1],
      [4, 1, 5000, 5000, 0, 1],
      [5, 2, 13_000, -20_300, 0, 2],
      [6, 0, 0, 0, 0, 0],
    ])
    expect(
      await rows(
        'customer_value',
        'standing',
        'where tenant_id = 1 and customer_id > 2 order by customer_id',
      ),
    ).toEqual([['active'], ['lapsing'], ['lost'], ['never']])
    expect(
      await rows(
        'customer_value',
        'first_visit_on last_visit_on customer_name',
        'where tenant_id = 1 and customer_id in (1, 6) order by customer_id',
      ),
    ).toEqual([
      ['2026-03-04', '2026-03-05', 'Customer 1'],
      [null, null, 'Customer 6'],
    ])
  })

  it('totals_check puts every invoice into one of five columns', async () => {
    const columns = 'invoices unpaid total_unknown equal_to_the_cent off_by_rounding off_by_more'
    expect(
      await rows(
        'totals_check',
        `shop_id ${columns}`,
        "where tenant_id = 1 and month = '2026-03' order by shop_id",
      ),
    ).toEqual([
      [1, 2, 0, 1, 1, 0, 0],
      [2, 1, 0, 1, 0, 0, 0],
    ])
    const sums = columns.split(' ').map((name) => `sum(${name}) as ${name}`)
    const [all] = await ask(
      warehouse,
      'totals_check',
      `select ${sums.join(', ')} from {view} where tenant_id = 1`,
    )
    expect(Object.values(all ?? {}).map(Number)).toEqual([7, 1, 2, 2, 1, 1])
  })

  it('payments_check compares the payments of orders with their own list', async () => {
    const columns = 'shop_id orders equal differ difference_cents'
    expect(
      await rows('payments_check', columns, "where tenant_id = 1 and month = '2026-03' order by shop_id"),
    ).toEqual([
      [1, 1, 0, 1, 1],
      [2, 1, 1, 0, 0],
    ])
    const [all] = await ask(
      warehouse,
      'payments_check',
      'select sum(orders) as orders, sum(differ) as differ, sum(difference_cents) as difference_cents from {view} where tenant_id = 1',
    )
    expect(Object.values(all ?? {}).map(Number)).toEqual([5, 4, 1 - 5003 - 6000 - 1000])
  })

  it("a snapshot stores the shops' state, and replaces one from the same day", async () => {
    const { db } = warehouse
    const taken = async (): Promise<number[][]> => {
      const found = await withSnapshots(db)
        .selectFrom('daily_snapshots')
        .selectAll()
        .orderBy('tenant_id')
        .orderBy('shop_id')
        .execute()
      return found.map(({ day: _day, taken_at: _at, ...row }) => Object.values(row).map(Number))
    }
    const expected = [
      [1, 1, 833, 2, 1, 1, 355, 1, 8000, 4, 15_997, 0, 10_000, 0, 5997, 1, 16_000, 16_000, 6000, 6000, -3, 0],
      [1, 2, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
      [
        2, 1, 833, 2, 1, 0, 0, 1, 0, 2, 819_311, 0, 0, 0, 819_311, 1, 819_311, 819_311, 819_311, 819_311, 0,
        0,
      ],
      [2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    expect((await run(['snapshot'])).stdout).toContain('4 shops')
    expect(await taken()).toEqual(expected)
    await withSnapshots(db).updateTable('daily_snapshots').set({ stock_cents: 1 }).execute()
    expect((await run(['snapshot', '--json'])).json()).toMatchObject({ status: 'ok', shops: 4 })
    expect((await taken()).slice(-4)).toEqual(expected)
    const days = await withSnapshots(db).selectFrom('daily_snapshots').select(['day', 'taken_at']).execute()
    for (const { day, taken_at } of days) {
      const apart = Date.parse(String(taken_at)) - Date.parse(`${day}T12:00:00Z`)
      expect([day, Math.abs(apart) < 36 * 3_600_000]).toEqual([day, true])
    }
    expect((await run(['forget', '--tenant', '2', '--yes'])).code).toBe(0)
    expect((await taken()).every(([tenant]) => tenant === 1)).toBe(true)
  })
})

it('every business view is tested here', () => {
  const own = [
    'changes',
    'changes_by_tenant',
    'dim_customers',
    'dim_days',
    'dim_shops',
    'dim_staffs',
    'dim_tenants',
    'dim_vehicles',
    'dim_vendors',
    'freshness',
    'orders',
    'shop_days',
    'shop_months',
  ]
  expect(views.map(({ name }) => name).filter((name) => !own.includes(name))).toHaveLength(24)
})
