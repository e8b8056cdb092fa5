/** How working shops hand over, follow up, correct and withdraw. Used by work.ts. */
import type { ApiRecord } from '../records/json.js'
import { type Recommendation, remember } from './advice.js'
import { erase, orderIn, recent, recentLike, referring, type Task } from './lookup.js'
import { type Moment, print } from './moment.js'
import { assign } from './office.js'
import type { Order } from './order.js'
import { emitCustomer, newCustomer } from './people.js'
import type { World } from './world.js'

const isPending = (assignment: ApiRecord): boolean =>
  assignment['accepted_at'] === null && assignment['cancelled_at'] === null

/** Asks a colleague to take over an order, answers a request, or withdraws one. */
export const handOver: Task = (world, shop, at) => {
  const { store, tenant, random } = world
  const pending = recentLike(world, 'assignments', isPending)
  const kind = pending === undefined ? 0 : random.weighted([0.5, 0.42, 0.08])
  if (pending === undefined || kind === 0) {
    const order = orderIn(world, 'estimate', 'in_progress')
    if (order !== undefined) assign(world, shop, order, at)
    return order !== undefined
  }
  if (kind === 2) return erase(world, 'assignments', pending.id)
  const answer = random.chance(0.8) ? 'accepted_at' : 'cancelled_at'
  return store.change(tenant, 'assignments', pending.id, { [answer]: print(at) })
}

/** What the customer did not buy becomes a past recommendation of the car. */
export function rememberUnsold(world: World, order: Order, at: Moment): void {
  const { store, tenant } = world
  const own = `"repair_order_id":${order.id},`
  const newest = store.collection(tenant, 'recommendations').newest(0, 200)
  for (const { key } of newest.filter(({ text }) => text.includes(own))) {
    const recommendation = store.stored(tenant, 'recommendations', key) as Recommendation | undefined
    if (recommendation?.repair_order_id === order.id) remember(world, order, recommendation, at, at)
  }
}

/** Sells what was recommended on an earlier visit, hears that the customer doesn't want it, or strikes it out. */
export const followUp: Task = (world, _shop, at) => {
  const { store, tenant, random } = world
  const unsold = recentLike(world, 'past_recommendations', ({ done }) => done !== true)
  if (unsold === undefined) return false
  const kind = random.weighted([0.4, 0.45, 0.15])
  if (kind === 2) return erase(world, 'past_recommendations', unsold.id)
  const approval_at = print(at)
  const declined = { approved: false, approver_id: null, approval_at, approval_type: null }
  const sold = {
    approved: true,
    approver_id: store.stored(tenant, 'vehicles', Number(unsold['vehicle_id']))?.['customer_id'] ?? null,
    approval_at,
    approval_type: random.pick(['customer', 'email', 'estimate', 'person', 'phone']),
    imported: random.chance(0.6),
    done: true,
  }
  return store.change(tenant, 'past_recommendations', unsold.id, kind === 0 ? sold : declined)
}

/** Corrects the reference of a card transaction, or removes a failed attempt. The money stays the same. */
export const correctTransaction: Task = (world) => {
  const { store, tenant, random } = world
  const failed = random.chance(0.3)
    ? recentLike(world, 'payment_transactions', ({ payment_id }) => payment_id === null)
    : undefined
  if (failed !== undefined) return erase(world, 'payment_transactions', failed.id)
  const transaction = recent(world, 'payment_transactions')
  if (transaction === undefined) return false
  const [number] = String(transaction['reference_number']).split('-')
  const reference_number = `${number}-${random.digits(6)}`
  return store.change(tenant, 'payment_transactions', transaction.id, { reference_number })
}

/** Corrects a purchase, or removes one that was entered twice. */
export const correctPurchase: Task = (world) => {
  const { store, tenant, random } = world
  const purchase = recent(world, 'purchase_records')
  if (purchase === undefined) return false
  if (random.chance(0.2)) return erase(world, 'purchase_records', purchase.id)
  const fields = random.chance(0.5)
    ? { invoice_number: `INV-${random.digits(6)}` }
    : { payment_type: random.pick(['On account', 'Company card', 'Cash']) }
  return store.change(tenant, 'purchase_records', purchase.id, fields)
}

/** A caller asks for a price. One who never brought a car may be deleted again, with the cars. */
export const inquire: Task = (world, _shop, at) => {
  const { random } = world
  const asked = world.customers.slice(-40).filter(({ visits, gone }) => visits === 0 && !gone)
  if (asked.length === 0 || random.chance(0.75)) {
    emitCustomer(world, newCustomer(world, at), at)
    return true
  }
  const customer = random.pick(asked)
  customer.gone = true
  for (const { id } of customer.vehicles) erase(world, 'vehicles', id)
  return erase(world, 'customers', customer.id)
}

const ABOUT_ORDERS = [
  'notes',
  'recommendations',
  'assignments',
  'appointments',
  'payment_transactions',
] as const

/** Removes an estimate that is no longer wanted, with everything written about it. */
export const dropEstimate: Task = (world) => {
  const order = orderIn(world, 'estimate')
  if (order === undefined || order.payments.length > 0) return false
  for (const resource of ABOUT_ORDERS)
    for (const id of referring(world, resource, 'repair_order_id', order.id)) erase(world, resource, id)
  world.open.delete(order.id)
  return erase(world, 'repair_orders', order.id)
}
