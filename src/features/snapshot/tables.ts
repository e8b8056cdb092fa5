import { cents, field, id, integer, timestamp } from '../../../schema/resource.js'
import { define } from '../../engine/model/statetable.js'

/**
 * What is stored of each day for charts over time: the API keeps no history. src/features/snapshot/work.ts writes it.
 */
export const snapshotTables = {
  daily_snapshots: define({
    doc: 'Balances of each shop, one row per shop and day, written by `shopsync snapshot`. A second snapshot on the same day replaces the first.',
    after: 'sync_derived',
    key: ['tenant_id', 'shop_id', 'day'],
    fields: {
      tenant_id: id('Tenant.'),
      shop_id: id('Shop.'),
      day: field('day', "The day, in the shop's time zone."),
      stock_cents: cents('Value of the stock: units on hand times cost, for items where both are known.'),
      stock_items: integer('Inventory items.'),
      below_minimum: integer('Inventory items whose units on hand plus on order are below the minimum.'),
      work_in_progress: integer('Orders in progress.'),
      work_in_progress_sales_cents: cents('Their total so far, before supply fee and taxes.'),
      open_estimates: integer('Estimates.'),
      open_estimates_sales_cents: cents('Their total, before supply fee and taxes.'),
      receivables: integer('Invoices that are not settled.'),
      receivables_cents: cents('Sum of their known balances.'),
      receivables_0_30_cents: cents('The same, for invoices closed up to 30 days ago.'),
      receivables_31_60_cents: cents('For those closed 31 to 60 days ago.'),
      receivables_61_90_cents: cents('For those closed 61 to 90 days ago.'),
      receivables_over_90_cents: cents('For those closed more than 90 days ago.'),
      receivables_unknown: integer('Receivables whose balance is unknown.'),
      taken_at: timestamp('When the row was written.'),
      to_collect_cents: cents(
        'Sum of the positive balances. This column and the ones after it are null in snapshots of older versions.',
      ),
      to_collect_over_30_cents: cents('The same, for invoices closed more than 30 days ago.'),
      to_collect_over_60_cents: cents('For those closed more than 60 days ago.'),
      to_collect_over_90_cents: cents('For those closed more than 90 days ago.'),
      credits_cents: cents('Sum of the negative balances: what shops owe customers.'),
      deposits_held_cents: cents('Payments on estimates and orders in progress.'),
    },
  }),
} as const
