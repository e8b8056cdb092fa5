/** The API's records as the floor reads them. Integers beyond 2^53 are text (parse.ts). */
export type Json = Record<string, unknown>

export interface Stamped {
  id: number
  created_at: string
  updated_at: string
}
export interface Labor extends Stamped {
  name: string
  technician_id: number
  taxable: boolean
  hours: number
}
export interface Part extends Stamped {
  brand: string
  description: string
  number: string
  quoted_price_cents: number
  cost_cents: number
  part_inventory_id: number
  taxable: boolean
  quantity: number
}
export interface Hazmat extends Stamped {
  name: string
  fee_cents: number
  taxable: boolean
  quantity: number
}
export interface Sublet extends Stamped {
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
export interface Inspection extends Stamped {
  name: string
  state: string
  detail: string
}
export interface Service extends Stamped {
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
export interface Payment {
  payment_type: string
  payment_type_details: { type: string; name: string | null }
  notes: string
  amount_cents: number
}
export interface Tag extends Stamped {
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
export interface Customer extends Stamped {
  first_name: string
  last_name: string
  email: string
  phone: string
  detail: string
  address: string
  city: string
  state: string
  zip: string
  marketing_ok: boolean
  shop_ids: number[]
  phones: Phone[]
  integrator_tags: Tag[]
}
export interface Phone {
  number: string
  national: string
  international: string
  country_code: string
  label: string | null
  preferred: boolean
}
export interface Note extends Stamped {
  description: string
  repair_order_id: number
}
export interface OwnPayment extends Stamped, Payment {
  repair_order_id: number
  integrator_tags: Tag[]
}
export interface Inventory extends Stamped {
  type: string
  brand: string
  description: string
  number: string
  list_price_cents: number
  cost_cents: number
  gp_price_cents: number
  gp_optimizer_active: boolean
  quantity_on_hand: number
  min_stock: number
  max_stock: number
  hazmat_rating: string
  location: string
  misc_info: string
  part_terminology_id: string
  core_inventory_id: number | null
  supplier_extra_points: number
  tags: string[]
  integrator_tags: Tag[]
  primary_vendor_id: number
  last_vendor_id: number
  shop_id: number
  gp_exception_id: number | null
  partsplatform_part_id: string
  quantity_in_progress: number
  quantity_needed: number
  quantity_ordered: number
  quantity_ordered_for_stock: number
  quantity_returned: number
}
