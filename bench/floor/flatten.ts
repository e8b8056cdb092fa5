import type { ResourceName } from '../source/climate.js'
import { Orders } from './orders.js'
import { customers, inventories, notes, payments } from './others.js'
import type { Row } from './rows.js'
import type { Customer, Inventory, Note, Order, OwnPayment } from './types.js'

/** The tables of a resource's records, in the order in which `flatten` gives their rows. */
export const tablesOf: Record<ResourceName, readonly string[]> = {
  repair_orders: [
    'repair_orders',
    'repair_order_services',
    'repair_order_labors',
    'repair_order_parts',
    'repair_order_hazmats',
    'repair_order_sublets',
    'repair_order_inspections',
    'repair_order_payments',
    'integrator_tags',
    'repair_order_totals',
  ],
  customers: ['customers', 'customer_shops', 'customer_phones', 'integrator_tags'],
  notes: ['notes'],
  payments: ['payments', 'integrator_tags'],
  inventories: ['inventories', 'inventory_tags', 'integrator_tags'],
}

function orders(tenant: number, records: readonly Order[]): Row[][] {
  const page = new Orders(tenant)
  for (const order of records) page.add(order)
  return page.tables
}

export function flatten(tenant: number, resource: ResourceName, records: readonly unknown[]): Row[][] {
  if (resource === 'repair_orders') return orders(tenant, records as Order[])
  if (resource === 'customers') return customers(records as Customer[])
  if (resource === 'notes') return notes(records as Note[])
  if (resource === 'payments') return payments(records as OwnPayment[])
  return inventories(records as Inventory[])
}
