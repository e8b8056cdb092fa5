/** Repair orders to tuples, by hand: no check, no conversion, no surprise is provided for. */

export type Cell = string | number | boolean | null
export type Row = Cell[]

interface Stamped {
  id: number
  created_at: string
  updated_at: string
}
interface Labor extends Stamped {
  name: string
  technician_id: number
  taxable: boolean
  hours: number
}
interface Part extends Stamped {
  brand: string
  description: string
  number: string
  quoted_price_cents: number
  cost_cents: number
  part_inventory_id: number
  taxable: boolean
  quantity: number
}
interface Hazmat extends Stamped {
  name: string
  fee_cents: number
  taxable: boolean
  quantity: number
}
interface Sublet extends Stamped {
  name: string
  price_cents: number
  cost_cents: number
  provider: string
  invoice_number: string
  description: string
  taxable: boolean
  vendor_id: number
  invoice_date: string
}
interface Inspection extends Stamped {
  name: string
  state: string
  detail: string
}
interface Service extends Stamped {
  title: string
  completed: boolean
  category_id: number | null
  canned_job_id: number | null
  comment: string
  labor_rate_cents: number | null
  completed_at: string | null
  last_completed_at: string | null
  labors: Labor[]
  parts: Part[]
  hazmats: Hazmat[]
  sublets: Sublet[]
  inspections: Inspection[]
}
interface Payment {
  payment_type: string
  payment_type_details: { type: string; name: string | null }
  notes: string
  amount_cents: number
}
interface Tag extends Stamped {
  taggable_type: string
  taggable_id: number
  name: string
  value: string
}
export interface Order extends Stamped {
  number: number
  odometer: number | null
  odometer_out: number | null
  state: string
  status_id: number | null
  customer_id: number
  technician_id: number
  advisor_id: number
  vehicle_id: number
  shop_id: number
  detail: string
  preferred_contact_type: string
  part_discount_cents: number | null
  labor_discount_cents: number | null
  part_discount_percentage: number | null
  labor_discount_percentage: number | null
  started_at: string | null
  closed_at: string | null
  picked_up_at: string | null
  due_in_at: string
  due_out_at: string
  part_tax_rate: number
  labor_tax_rate: number
  sublet_tax_rate: number
  hazmat_tax_rate: number
  taxable: boolean
  customer_source: string
  supply_fee_cents: number | null
  services: Service[]
  payments: Payment[]
  label: { text: string; color_code: string } | null
  integrator_tags: Tag[]
}

/** The source prints milliseconds; the warehouse holds microseconds. */
const time = (text: string): string => `${text.slice(0, 23)}000Z`
const timeOrNull = (text: string | null): string | null => (text === null ? null : `${text.slice(0, 23)}000Z`)

/** Rows by table, in the order of `tableNames`. */
export class Page {
  readonly orders: Row[] = []
  readonly services: Row[] = []
  readonly labors: Row[] = []
  readonly parts: Row[] = []
  readonly hazmats: Row[] = []
  readonly sublets: Row[] = []
  readonly inspections: Row[] = []
  readonly payments: Row[] = []
  readonly tags: Row[] = []

  get tables(): Row[][] {
    const { orders, services, labors, parts, hazmats, sublets, inspections, payments, tags } = this
    return [orders, services, labors, parts, hazmats, sublets, inspections, payments, tags]
  }

  add(o: Order): void {
    this.orders.push([
      ...[o.id, time(o.created_at), time(o.updated_at), o.number, o.odometer, o.odometer_out, o.state],
      ...[o.status_id, o.customer_id, o.technician_id, o.advisor_id, o.vehicle_id, o.shop_id, o.detail],
      ...[
        o.preferred_contact_type,
        o.part_discount_cents,
        o.labor_discount_cents,
        o.part_discount_percentage,
      ],
      ...[o.labor_discount_percentage, timeOrNull(o.started_at), timeOrNull(o.closed_at)],
      ...[
        timeOrNull(o.picked_up_at),
        time(o.due_in_at),
        time(o.due_out_at),
        o.part_tax_rate,
        o.labor_tax_rate,
      ],
      ...[o.sublet_tax_rate, o.hazmat_tax_rate, o.taxable, o.customer_source, o.supply_fee_cents],
      ...[o.label === null ? null : o.label.text, o.label === null ? null : o.label.color_code, null],
    ])
    for (let i = 0; i < o.services.length; i++) this.#service(o.id, i, o.services[i] as Service)
    for (let i = 0; i < o.payments.length; i++) {
      const p = o.payments[i] as Payment
      const { type, name } = p.payment_type_details
      this.payments.push([o.id, i, p.payment_type, type, name, p.notes, p.amount_cents])
    }
    for (const t of o.integrator_tags)
      this.tags.push([
        t.id,
        time(t.created_at),
        time(t.updated_at),
        t.taggable_type,
        t.taggable_id,
        t.name,
        t.value,
        null,
      ])
  }

  #service(order: number, position: number, s: Service): void {
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
    this.#work(order, s)
    for (let i = 0; i < s.sublets.length; i++) {
      const x = s.sublets[i] as Sublet
      this.sublets.push([
        order,
        s.id,
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
    for (let i = 0; i < s.inspections.length; i++) {
      const x = s.inspections[i] as Inspection
      const [created, updated] = [time(x.created_at), time(x.updated_at)]
      this.inspections.push([order, s.id, i, x.id, created, updated, x.name, x.state, x.detail])
    }
  }

  #work(order: number, s: Service): void {
    for (let i = 0; i < s.labors.length; i++) {
      const x = s.labors[i] as Labor
      const [created, updated] = [time(x.created_at), time(x.updated_at)]
      this.labors.push([order, s.id, i, x.id, created, updated, x.name, x.technician_id, x.taxable, x.hours])
    }
    for (let i = 0; i < s.parts.length; i++) {
      const x = s.parts[i] as Part
      this.parts.push([
        order,
        s.id,
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
    for (let i = 0; i < s.hazmats.length; i++) {
      const x = s.hazmats[i] as Hazmat
      const [created, updated] = [time(x.created_at), time(x.updated_at)]
      this.hazmats.push([order, s.id, i, x.id, created, updated, x.name, x.fee_cents, x.taxable, x.quantity])
    }
  }
}

/** The tables of a page's rows, in its order. */
export const tableNames = [
  'repair_orders',
  'repair_order_services',
  'repair_order_labors',
  'repair_order_parts',
  'repair_order_hazmats',
  'repair_order_sublets',
  'repair_order_inspections',
  'repair_order_payments',
  'integrator_tags',
] as const

export function flatten(body: Buffer): Page {
  const page = new Page()
  const { results } = JSON.parse(body.toString('utf8')) as { results: Order[] }
  for (const order of results) page.add(order)
  return page
}
