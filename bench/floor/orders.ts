/** Repair orders to tuples, by hand: no check, no conversion, no surprise but unknown fields is provided for. */
import { Extra, members, names } from './extra.js'
import { type Row, tagRow, time, timeOrNull } from './rows.js'
import { totalsRow } from './totals.js'
import type { Hazmat, Inspection, Labor, Order, Part, Payment, Service, Sublet } from './types.js'

const known = {
  order: names(
    'id created_at updated_at number odometer odometer_out state status_id customer_id technician_id advisor_id vehicle_id shop_id detail preferred_contact_type part_discount_cents labor_discount_cents part_discount_percentage labor_discount_percentage started_at closed_at picked_up_at due_in_at due_out_at part_tax_rate labor_tax_rate sublet_tax_rate hazmat_tax_rate taxable customer_source supply_fee_cents services payments label integrator_tags',
  ),
  label: names('text color_code'),
  service: names(
    'id created_at updated_at title completed category_id canned_job_id comment labor_rate_cents completed_at last_completed_at labors parts hazmats sublets inspections',
  ),
  labor: names('id created_at updated_at name technician_id taxable hours'),
  part: names(
    'id created_at updated_at brand description number quoted_price_cents cost_cents part_inventory_id taxable quantity',
  ),
  hazmat: names('id created_at updated_at name fee_cents taxable quantity'),
  sublet: names(
    'id created_at updated_at name price_cents cost_cents provider invoice_number description taxable vendor_id invoice_date',
  ),
  inspection: names('id created_at updated_at name state detail'),
  payment: names('payment_type payment_type_details notes amount_cents'),
  details: names('type name'),
}

/** Rows by table, in the order of `tablesOf.repair_orders` (flatten.ts). */
export class Orders {
  readonly #extra = new Extra()
  readonly orders: Row[] = []
  readonly services: Row[] = []
  readonly labors: Row[] = []
  readonly parts: Row[] = []
  readonly hazmats: Row[] = []
  readonly sublets: Row[] = []
  readonly inspections: Row[] = []
  readonly payments: Row[] = []
  readonly tags: Row[] = []
  readonly totals: Row[] = []

  constructor(private readonly tenant: number) {}

  get tables(): Row[][] {
    const { orders, services, labors, parts, hazmats, sublets, inspections, payments, tags, totals } = this
    return [orders, services, labors, parts, hazmats, sublets, inspections, payments, tags, totals]
  }

  add(o: Order): void {
    const { id, label } = o
    if (members(o) !== known.order.size) this.#extra.add(o, known.order, '')
    if (label !== null && members(label) !== known.label.size) this.#extra.add(label, known.label, 'label.')
    for (let i = 0; i < o.services.length; i++) this.#service(id, i, o.services[i] as Service)
    for (let i = 0; i < o.payments.length; i++) this.#payment(id, i, o.payments[i] as Payment)
    for (const t of o.integrator_tags) this.tags.push(tagRow(t))
    this.totals.push(totalsRow(this.tenant, o))
    this.orders.push([
      id,
      time(o.created_at),
      time(o.updated_at),
      o.number,
      o.odometer,
      o.odometer_out,
      o.state,
      o.status_id,
      o.customer_id,
      o.technician_id,
      o.advisor_id,
      o.vehicle_id,
      o.shop_id,
      o.detail,
      o.preferred_contact_type,
      o.part_discount_cents,
      o.labor_discount_cents,
      o.part_discount_percentage,
      o.labor_discount_percentage,
      timeOrNull(o.started_at),
      timeOrNull(o.closed_at),
      timeOrNull(o.picked_up_at),
      time(o.due_in_at),
      time(o.due_out_at),
      o.part_tax_rate,
      o.labor_tax_rate,
      o.sublet_tax_rate,
      o.hazmat_tax_rate,
      o.taxable,
      o.customer_source,
      o.supply_fee_cents,
      label === null ? null : label.text,
      label === null ? null : label.color_code,
      this.#extra.take(),
    ])
  }

  #payment(order: number, i: number, p: Payment): void {
    const details = p.payment_type_details
    if (members(p) !== known.payment.size) this.#extra.add(p, known.payment, `payments[${i}].`)
    if (members(details) !== known.details.size)
      this.#extra.add(details, known.details, `payments[${i}].payment_type_details.`)
    this.payments.push([order, i, p.payment_type, details.type, details.name, p.notes, p.amount_cents])
  }

  #service(order: number, position: number, s: Service): void {
    if (members(s) !== known.service.size) this.#extra.add(s, known.service, `services[${position}].`)
    this.services.push([
      order,
      position,
      s.id,
      time(s.created_at),
      time(s.updated_at),
      s.title,
      s.completed,
      s.category_id,
      s.canned_job_id,
      s.comment,
      s.labor_rate_cents,
      timeOrNull(s.completed_at),
      timeOrNull(s.last_completed_at),
    ])
    for (let i = 0; i < s.labors.length; i++) this.#labor(order, position, s.id, i, s.labors[i] as Labor)
    for (let i = 0; i < s.parts.length; i++) this.#part(order, position, s.id, i, s.parts[i] as Part)
    for (let i = 0; i < s.hazmats.length; i++) this.#hazmat(order, position, s.id, i, s.hazmats[i] as Hazmat)
    for (let i = 0; i < s.sublets.length; i++) this.#sublet(order, position, s.id, i, s.sublets[i] as Sublet)
    for (let i = 0; i < s.inspections.length; i++)
      this.#inspection(order, position, s.id, i, s.inspections[i] as Inspection)
  }

  #labor(order: number, at: number, service: number, i: number, x: Labor): void {
    if (members(x) !== known.labor.size) this.#extra.add(x, known.labor, `services[${at}].labors[${i}].`)
    const [created, updated] = [time(x.created_at), time(x.updated_at)]
    this.labors.push([order, service, i, x.id, created, updated, x.name, x.technician_id, x.taxable, x.hours])
  }

  #part(order: number, at: number, service: number, i: number, x: Part): void {
    if (members(x) !== known.part.size) this.#extra.add(x, known.part, `services[${at}].parts[${i}].`)
    this.parts.push([
      order,
      service,
      i,
      x.id,
      time(x.created_at),
      time(x.updated_at),
      x.brand,
      x.description,
      x.number,
      x.quoted_price_cents,
      x.cost_cents,
      x.part_inventory_id,
      x.taxable,
      x.quantity,
    ])
  }

  #hazmat(order: number, at: number, service: number, i: number, x: Hazmat): void {
    if (members(x) !== known.hazmat.size) this.#extra.add(x, known.hazmat, `services[${at}].hazmats[${i}].`)
    const [created, updated] = [time(x.created_at), time(x.updated_at)]
    this.hazmats.push([order, service, i, x.id, created, updated, x.name, x.fee_cents, x.taxable, x.quantity])
  }

  #sublet(order: number, at: number, service: number, i: number, x: Sublet): void {
    if (members(x) !== known.sublet.size) this.#extra.add(x, known.sublet, `services[${at}].sublets[${i}].`)
    this.sublets.push([
      order,
      service,
      i,
      x.id,
      time(x.created_at),
      time(x.updated_at),
      x.name,
      x.price_cents,
      x.cost_cents,
      x.provider,
      x.invoice_number,
      x.description,
      x.taxable,
      x.vendor_id,
      time(x.invoice_date),
    ])
  }

  #inspection(order: number, at: number, service: number, i: number, x: Inspection): void {
    if (members(x) !== known.inspection.size)
      this.#extra.add(x, known.inspection, `services[${at}].inspections[${i}].`)
    const [created, updated] = [time(x.created_at), time(x.updated_at)]
    this.inspections.push([order, service, i, x.id, created, updated, x.name, x.state, x.detail])
  }
}
