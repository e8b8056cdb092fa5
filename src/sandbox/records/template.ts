import type { Fields } from './json.js'

/** A plain, complete record of each resource: every documented field, nested ids derived from the record's own. */
export function template(resource: string, id: number, time: string): Fields {
  const stamps = { id, created_at: time, updated_at: time }
  const fields = TEMPLATES[resource]?.(id, time) ?? { name: `${resource} ${id}` }
  return { ...stamps, ...fields }
}

type Template = (id: number, time: string) => Fields

const child = (id: number, time: string): Fields => ({ id, created_at: time, updated_at: time })
const tags = { integrator_tags: [] }

export function serviceTemplate(id: number, time: string): Fields {
  const own = child(id, time)
  return {
    ...own,
    title: 'Oil change',
    completed: false,
    category_id: 1,
    canned_job_id: null,
    comment: '',
    labor_rate_cents: 12_000,
    completed_at: null,
    last_completed_at: null,
    labors: [{ ...own, name: 'Change oil', technician_id: 1, taxable: true, hours: 0.5 }],
    parts: [
      {
        ...own,
        brand: 'Mobil',
        description: '5W-30, 1 qt',
        number: 'M530',
        quoted_price_cents: 1099,
        cost_cents: 612,
        part_inventory_id: 1,
        taxable: true,
        quantity: 5,
      },
    ],
    hazmats: [{ ...own, name: 'Oil disposal', fee_cents: 350, taxable: false, quantity: 1 }],
    sublets: [],
    inspections: [{ ...own, name: 'Drain plug', state: 'green', detail: '' }],
  }
}

const repairOrder: Template = (id, time) => ({
  number: 10_000 + id,
  odometer: 84_210,
  odometer_out: null,
  state: 'estimate',
  status_id: 1,
  customer_id: 1,
  technician_id: 1,
  advisor_id: 2,
  vehicle_id: 1,
  shop_id: 1,
  detail: 'Customer waits',
  preferred_contact_type: 'Phone',
  part_discount_cents: 0,
  labor_discount_cents: 0,
  part_discount_percentage: null,
  labor_discount_percentage: null,
  started_at: null,
  closed_at: null,
  picked_up_at: null,
  due_in_at: time,
  due_out_at: time,
  part_tax_rate: 8.25,
  labor_tax_rate: 0,
  sublet_tax_rate: 0,
  hazmat_tax_rate: 0,
  taxable: true,
  customer_source: 'Repeat',
  supply_fee_cents: 500,
  services: [serviceTemplate(id * 10, time)],
  payments: [],
  label: null,
  ...tags,
})

const inventory: Template = (id) => ({
  type: 'PartInventory',
  brand: 'Bosch',
  description: 'Oil filter',
  number: `F${id}`,
  list_price_cents: 1299,
  cost_cents: 640,
  gp_price_cents: 1349,
  gp_optimizer_active: false,
  quantity_on_hand: 4,
  min_stock: 2,
  max_stock: 10,
  hazmat_rating: 'none',
  location: 'A-1',
  misc_info: '',
  part_terminology_id: '6192',
  core_inventory_id: null,
  supplier_extra_points: 0,
  tags: ['filter'],
  primary_vendor_id: 1,
  last_vendor_id: 1,
  shop_id: 1,
  gp_exception_id: null,
  partsplatform_part_id: `PP-${id}`,
  quantity_in_progress: 0,
  quantity_needed: 0,
  quantity_ordered: 0,
  quantity_ordered_for_stock: 0,
  quantity_returned: 0,
  ...tags,
})

const cannedJob: Template = (id, time) => {
  const own = child(id * 10, time)
  return {
    title: 'Front brakes',
    all_vehicles: true,
    frequency: 3,
    category_id: 1,
    auto_applied: false,
    shop_id: 1,
    optimizer_enabled: true,
    sublets: [{ ...own, name: 'Resurface rotors', price_cents: 4000, taxable: true }],
    inspections: [{ ...own, name: 'Brake hoses' }],
    vehicles: [{ ...own, year: '2018', make: 'Ford', model: 'F-150', engine: '3.5L V6' }],
    hazmats: [{ ...own, name: 'Brake cleaner', fee_cents: 250, taxable: false, quantity: 1 }],
    parts: [{ ...own, part_inventory_id: 1, taxable: true, quantity: 1 }],
    labors: [{ ...own, name: 'Replace pads', taxable: true, hours: 1.5 }],
    ...tags,
  }
}

const customer: Template = (id) => ({
  first_name: 'Ada',
  last_name: 'Miller',
  email: `ada.${id}@example.com`,
  phone: '(512) 555-0100',
  detail: '',
  address: '1 Main St',
  city: 'Austin',
  zip: '78701',
  state: 'TX',
  marketing_ok: true,
  shop_ids: [1],
  phones: [
    {
      number: '+15125550100',
      national: '(512) 555-0100',
      international: '+1 512-555-0100',
      country_code: '1',
      label: null,
      preferred: true,
    },
  ],
  ...tags,
})

const transaction: Template = (id) => ({
  payment_id: 1,
  repair_order_id: 1,
  staff_id: 2,
  status: 'approved',
  serial_number: 'C000001',
  mid: '800000000264',
  requested_amount_cents: 12_345,
  amount_cents: 12_345,
  reference_number: `R${id}`,
  account: '************1111',
  name: 'ADA MILLER',
  response_code: '00',
  response_text: 'Approval',
  currency: 'USD',
  bin_type: 'visa',
  entry_mode: 'EMV',
  avs_response: 'Y',
  cvv_response: 'M',
  authorization_code: 'A12345',
  ...tags,
})

const undecided = { approved: null, approver_id: null, approval_at: null, approval_type: null }

const TEMPLATES: Readonly<Record<string, Template>> = {
  appointments: (_id, time) => ({
    staff_id: null,
    title: 'Oil change',
    description: null,
    start_at: time,
    end_at: time,
    repair_order_id: 1,
    shop_id: 1,
    ...tags,
  }),
  assignments: () => ({
    repair_order_id: 1,
    transfer_to_id: 1,
    transfer_from_id: 2,
    message: 'Please take over',
    accepted_at: null,
    cancelled_at: null,
    ...tags,
  }),
  canned_jobs: cannedJob,
  categories: () => ({ text: 'Maintenance', ...tags }),
  customers: customer,
  gp_exceptions: () => ({ name: 'Tires', shop_id: 1, percent: 24.5, ...tags }),
  integrator_tags: () => ({ taggable_type: 'Customer', taggable_id: 1, name: 'crm', value: 'x1' }),
  inventories: inventory,
  notes: () => ({ description: 'Called the customer', repair_order_id: 1 }),
  past_recommendations: () => ({
    description: 'Replace wiper blades',
    ...undecided,
    imported: false,
    vehicle_id: 1,
    done: false,
    recommendation_id: 1,
  }),
  payment_transactions: transaction,
  payments: () => ({
    repair_order_id: 1,
    payment_type: 'Cash',
    payment_type_details: { type: 'Cash', name: null },
    notes: '',
    amount_cents: 12_345,
    ...tags,
  }),
  purchase_records: () => ({
    shop_id: 1,
    invoice_number: 'INV-1',
    vendor_id: 1,
    payment_type: 'On account',
    ecomm_integrator_order_id: '',
    is_return: false,
    line_items: [
      { inventory_id: 1, quantity: 2, list_price_cents: 1299, cost_cents: 640, ecomm_integrator_part_id: '' },
    ],
    ...tags,
  }),
  recommendations: (id, time) => ({
    description: 'Replace wiper blades',
    ...undecided,
    imported: false,
    quick_price_cents: null,
    service: serviceTemplate(id * 10 + 1, time),
    repair_order_id: 1,
    ...tags,
  }),
  repair_orders: repairOrder,
  staffs: () => ({
    first_name: 'Sam',
    last_name: 'Ortiz',
    advisor: false,
    technician: true,
    active: true,
    email: 'sam@example.com',
  }),
  shops: () => ({ name: 'Main Street', city: 'Austin', state: 'TX', time_zone: 'America/Chicago' }),
  vehicles: () => ({
    customer_id: 1,
    year: 2018,
    make: 'Ford',
    model: 'F-150',
    engine: '3.5L V6',
    vin: null,
  }),
  statuses: () => ({ name: 'Waiting for parts', color_code: '#f0ad4e', position: 1 }),
  vendors: () => ({ name: 'Parts Depot', shop_id: 1, account_number: '1001' }),
}
