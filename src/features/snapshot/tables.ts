import { cents, field, id, integer, timestamp } from '../../../schema/resource.js'
import { define } from '../../engine/model/statetable.js'

/**
 * What is stored of each day for charts over time: the API keeps no history. src/features/snapshot/sql.ts writes it.
 */
export const snapshotTables = {
  daily_snapshots: define({
    doc: 'How each shop stood on a day: one row a shop and day, written by `shopsync snapshot`; a second one of the same day replaces the first.',
    after: 'sync_derived',
    key: ['tenant_id', 'shop_id', 'day'],
    fields: {
      tenant_id: id('Tenant.'),
      shop_id: id('Shop.'),
      day: field('day', "The shop's day."),
      stock_cents: cents('Value of the stock: units on hand at cost, of items for which both are known.'),
      stock_items: integer('Inventory items.'),
      below_minimum: integer(
        'Inventory items of which fewer units are on hand and ordered than the minimum.',
      ),
      work_in_progress: integer('Orders in progress.'),
      work_in_progress_sales_cents: cents('What they come to so far, before supply fee and taxes.'),
      open_estimates: integer('Estimates.'),
      open_estimates_sales_cents: cents('What they would come to, before supply fee and taxes.'),
      receivables: integer('Invoices that are not settled.'),
      receivables_cents: cents('Sum of their known balances.'),
      receivables_0_30_cents: cents('The same, of invoices closed up to 30 days ago.'),
      receivables_31_60_cents: cents('Of those closed 31 to 60 days ago.'),
      receivables_61_90_cents: cents('Of those closed 61 to 90 days ago.'),
      receivables_over_90_cents: cents('Of those closed more than 90 days ago.'),
      receivables_unknown: integer('Those of the receivables whose balance is unknown.'),
      taken_at: timestamp('When the row was written.'),
      to_collect_cents: cents(
        'Sum of the positive balances. This column and those after it are null in snapshots of former versions.',
      ),
      to_collect_over_30_cents: cents('The same, of invoices closed more than 30 days ago.'),
      to_collect_over_60_cents: cents('Of those closed more than 60 days ago.'),
      to_collect_over_90_cents: cents('Of those closed more than 90 days ago.'),
      credits_cents: cents('Sum of the negative balances: what is owed to customers.'),
    },
  }),
} as const
