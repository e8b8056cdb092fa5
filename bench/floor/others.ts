/** Customers, notes, payments and inventory items to tuples, by hand, as in orders.ts. */
import { Extra, members, names } from './extra.js'
import { type Row, tagRow, time } from './rows.js'
import type { Customer, Inventory, Note, OwnPayment } from './types.js'

const known = {
  customer: names(
    'id created_at updated_at first_name last_name email phone detail address city state zip marketing_ok shop_ids phones integrator_tags',
  ),
  phone: names('number national international country_code label preferred'),
  note: names('id created_at updated_at description repair_order_id'),
  payment: names(
    'id created_at updated_at repair_order_id payment_type payment_type_details notes amount_cents integrator_tags',
  ),
  details: names('type name'),
  inventory: names(
    'id created_at updated_at type brand description number list_price_cents cost_cents gp_price_cents gp_optimizer_active quantity_on_hand min_stock max_stock hazmat_rating location misc_info part_terminology_id core_inventory_id supplier_extra_points tags integrator_tags primary_vendor_id last_vendor_id shop_id gp_exception_id partsplatform_part_id quantity_in_progress quantity_needed quantity_ordered quantity_ordered_for_stock quantity_returned',
  ),
}
const extra = new Extra()

export function customers(records: readonly Customer[]): Row[][] {
  const [roots, shops, phones, tags]: [Row[], Row[], Row[], Row[]] = [[], [], [], []]
  for (const c of records) {
    if (members(c) !== known.customer.size) extra.add(c, known.customer, '')
    for (const [i, shop] of c.shop_ids.entries()) shops.push([c.id, i, shop])
    for (const [i, p] of c.phones.entries()) {
      if (members(p) !== known.phone.size) extra.add(p, known.phone, `phones[${i}].`)
      phones.push([c.id, i, p.number, p.national, p.international, p.country_code, p.label, p.preferred])
    }
    for (const t of c.integrator_tags) tags.push(tagRow(t))
    roots.push([
      c.id,
      time(c.created_at),
      time(c.updated_at),
      c.first_name,
      c.last_name,
      c.email,
      c.phone,
      c.detail,
      c.address,
      c.city,
      c.state,
      c.zip,
      c.marketing_ok,
      extra.take(),
    ])
  }
  return [roots, shops, phones, tags]
}

export function notes(records: readonly Note[]): Row[][] {
  const roots: Row[] = []
  for (const n of records) {
    if (members(n) !== known.note.size) extra.add(n, known.note, '')
    const [created, updated] = [time(n.created_at), time(n.updated_at)]
    roots.push([n.id, created, updated, n.description, n.repair_order_id, extra.take()])
  }
  return [roots]
}

export function payments(records: readonly OwnPayment[]): Row[][] {
  const [roots, tags]: [Row[], Row[]] = [[], []]
  for (const p of records) {
    const details = p.payment_type_details
    if (members(p) !== known.payment.size) extra.add(p, known.payment, '')
    if (members(details) !== known.details.size) extra.add(details, known.details, 'payment_type_details.')
    for (const t of p.integrator_tags) tags.push(tagRow(t))
    roots.push([
      p.id,
      time(p.created_at),
      time(p.updated_at),
      p.repair_order_id,
      p.payment_type,
      details.type,
      details.name,
      p.notes,
      p.amount_cents,
      extra.take(),
    ])
  }
  return [roots, tags]
}

export function inventories(records: readonly Inventory[]): Row[][] {
  const [roots, words, tags]: [Row[], Row[], Row[]] = [[], [], []]
  for (const v of records) {
    if (members(v) !== known.inventory.size) extra.add(v, known.inventory, '')
    for (const [i, word] of v.tags.entries()) words.push([v.id, i, word])
    for (const t of v.integrator_tags) tags.push(tagRow(t))
    roots.push(inventory(v))
  }
  return [roots, words, tags]
}

function inventory(v: Inventory): Row {
  return [
    v.id,
    time(v.created_at),
    time(v.updated_at),
    v.type,
    v.brand,
    v.description,
    v.number,
    v.list_price_cents,
    v.cost_cents,
    v.gp_price_cents,
    v.gp_optimizer_active,
    v.quantity_on_hand,
    v.min_stock,
    v.max_stock,
    v.hazmat_rating,
    v.location,
    v.misc_info,
    v.part_terminology_id,
    v.core_inventory_id,
    v.supplier_extra_points,
    v.primary_vendor_id,
    v.last_vendor_id,
    v.shop_id,
    v.gp_exception_id,
    v.partsplatform_part_id,
    v.quantity_in_progress,
    v.quantity_needed,
    v.quantity_ordered,
    v.quantity_ordered_for_stock,
    v.quantity_returned,
    extra.take(),
  ]
}
