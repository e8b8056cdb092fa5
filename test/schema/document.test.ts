/**
 * Compares the declarations with the API's own document, whose tables are copied here. A field, an enumeration value or
 * a "nullable" that is missing on one side is reported. Children of recommendations have the same fields as those of
 * repair orders.
 */
import { expect, test } from 'vitest'
import { authorizations } from '../../schema/authorizations.js'
import { resources } from '../../schema/index.js'
import type { Field, Member, Shape } from '../../schema/resource.js'

/** A type and its fields, with `?` marking nullable ones; before them, the array or object that contains them. */
const service = (at: string): string[] => [
  `${at} stamps`,
  `${at} string title comment`,
  `${at} boolean completed`,
  `${at} integer category_id? canned_job_id? labor_rate_cents?`,
  `${at} timestamp completed_at? last_completed_at?`,
  ...['labors', 'parts', 'hazmats', 'sublets', 'inspections'].map((name) => `${at}${name}[]. stamps`),
  ...['labors', 'hazmats', 'sublets', 'inspections'].map((name) => `${at}${name}[]. string name`),
  ...['labors', 'parts', 'hazmats', 'sublets'].map((name) => `${at}${name}[]. boolean taxable`),
  `${at}labors[]. integer technician_id`,
  `${at}labors[]. number hours`,
  `${at}parts[]. string brand description number`,
  `${at}parts[]. integer quoted_price_cents cost_cents part_inventory_id`,
  `${at}parts[]. number quantity`,
  `${at}hazmats[]. integer fee_cents`,
  `${at}hazmats[]. number quantity`,
  `${at}sublets[]. integer price_cents cost_cents vendor_id`,
  `${at}sublets[]. string provider invoice_number description`,
  `${at}sublets[]. timestamp invoice_date`,
  `${at}inspections[]. string state detail`,
]

const documented: Readonly<Record<string, readonly string[]>> = {
  integrator_tags: ['stamps', 'string taggable_type name value', 'integer taggable_id'],
  appointments: [
    'stamps',
    'integer staff_id? repair_order_id shop_id',
    'string title description?',
    'timestamp start_at end_at',
  ],
  assignments: [
    'stamps',
    'integer repair_order_id transfer_to_id transfer_from_id',
    'string message',
    'timestamp accepted_at? cancelled_at?',
  ],
  canned_jobs: [
    'stamps',
    'string title',
    'boolean all_vehicles auto_applied optimizer_enabled',
    'number frequency',
    'integer category_id shop_id',
    ...['sublets', 'inspections', 'vehicles', 'hazmats', 'parts', 'labors'].map(
      (name) => `${name}[]. stamps`,
    ),
    ...['sublets', 'inspections', 'hazmats', 'labors'].map((name) => `${name}[]. string name`),
    ...['sublets', 'hazmats', 'parts', 'labors'].map((name) => `${name}[]. boolean taxable`),
    'sublets[]. integer price_cents',
    'vehicles[]. string year make model engine',
    'hazmats[]. integer fee_cents',
    'hazmats[]. number quantity',
    'parts[]. integer part_inventory_id',
    'parts[]. number quantity',
    'labors[]. number hours',
  ],
  categories: ['stamps', 'string text'],
  customers: [
    'stamps',
    'string first_name last_name email phone detail address city zip state',
    'boolean marketing_ok',
    'integer shop_ids[]',
    'phones[]. string number national international country_code label?',
    'phones[]. boolean preferred',
  ],
  repair_orders: [
    'stamps',
    'integer number odometer? odometer_out? status_id? customer_id technician_id advisor_id vehicle_id shop_id',
    'string state detail preferred_contact_type customer_source',
    'integer part_discount_cents? labor_discount_cents? supply_fee_cents?',
    'number part_discount_percentage? labor_discount_percentage?',
    'timestamp started_at? closed_at? picked_up_at? due_in_at due_out_at',
    'number part_tax_rate labor_tax_rate sublet_tax_rate hazmat_tax_rate',
    'boolean taxable',
    ...service('services[].'),
    'payments[]. string payment_type notes',
    'payments[].payment_type_details. string type name?',
    'payments[]. integer amount_cents',
    'object label?',
    'label. string text color_code',
  ],
  gp_exceptions: ['stamps', 'string name', 'integer shop_id', 'number percent'],
  inventories: [
    'stamps',
    'string type brand description number hazmat_rating location misc_info part_terminology_id',
    'integer list_price_cents cost_cents gp_price_cents core_inventory_id? supplier_extra_points',
    'boolean gp_optimizer_active',
    'number quantity_on_hand min_stock max_stock',
    'string tags[] partsplatform_part_id',
    'integer primary_vendor_id last_vendor_id shop_id gp_exception_id?',
    'number quantity_in_progress quantity_needed quantity_ordered quantity_ordered_for_stock quantity_returned',
  ],
  notes: ['stamps', 'string description', 'integer repair_order_id'],
  past_recommendations: [
    'stamps',
    'string description approval_type?',
    'boolean approved? imported done',
    'integer approver_id? vehicle_id recommendation_id',
    'timestamp approval_at?',
  ],
  payment_transactions: [
    'stamps',
    'integer payment_id? repair_order_id staff_id requested_amount_cents amount_cents',
    'string status serial_number mid reference_number account name response_code response_text',
    'string currency bin_type entry_mode avs_response cvv_response authorization_code',
  ],
  payments: [
    'stamps',
    'integer repair_order_id amount_cents',
    'string payment_type notes',
    'payment_type_details. string type name?',
  ],
  purchase_records: [
    'stamps',
    'integer shop_id vendor_id',
    'string invoice_number payment_type ecomm_integrator_order_id',
    'boolean is_return',
    'line_items[]. integer inventory_id list_price_cents cost_cents',
    'line_items[]. number quantity',
    'line_items[]. string ecomm_integrator_part_id',
  ],
  recommendations: [
    'stamps',
    'string description? approval_type?',
    'boolean approved? imported',
    'integer approver_id? quick_price_cents? repair_order_id',
    'timestamp approval_at?',
    ...service('service.'),
  ],
  staffs: ['stamps', 'string first_name last_name email', 'boolean advisor technician active'],
  // About these, the document only says that vendors, like all records of a shop, contain its id.
  shops: ['stamps'],
  vehicles: ['stamps'],
  statuses: ['stamps'],
  vendors: ['stamps', 'integer shop_id'],
  // A list of texts, whose column has no name in the document.
  customer_payment_types: ['string name'],
}

const states =
  'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK ' +
  'OR PA RI SC SD TN TX UT VT WA WV WI WY AB BC MB NB NF NS ON PE PQ SK VA PR'

const enumerations: Readonly<Record<string, string>> = {
  'integrator_tags.taggable_type':
    'Appointment Assignment CannedJob Category Customer GpException Inventory Payment PaymentTransaction ' +
    'PurchaseRecord Recommendation RepairOrder Shop Staff Status Vehicle Vendor',
  'customers.state': states,
  'repair_orders.state': 'estimate in_progress invoice',
  'repair_orders.preferred_contact_type': 'Waiting Phone Email Text',
  'repair_orders.services[].inspections[].state': 'yellow green unchecked red',
  'recommendations.service.inspections[].state': 'yellow green unchecked red',
  'inventories.type': 'PartInventory CoreInventory',
  'inventories.hazmat_rating': 'caution danger warning none',
  'past_recommendations.approval_type': 'customer email estimate person phone',
  'recommendations.approval_type': 'customer email person phone',
  'payment_transactions.status':
    'approved retry declined authentication_error invalid_hsn request_error server_error ' +
    'terminal_not_connected_error terminal_in_use_error transaction_cancelled_error pin_debit_not_supported ' +
    'decryption_failure signature_not_supported',
  'payments.payment_type_details.type': 'Credit_Card Check Cash Other',
}

const STAMPS = ['integer id', 'timestamp created_at', 'timestamp updated_at']

/** One line per field: its type, its path, and `?` if it is nullable. */
const linesOf = (groups: readonly string[]): string[] =>
  groups.flatMap((group) => {
    const words = group.split(' ')
    const at = words[0]!.endsWith('.') ? words.shift()! : ''
    const [type, ...names] = words
    if (type === 'stamps') return STAMPS.map((line) => line.replace(' ', ` ${at}`))
    return names.map((name) => `${type} ${at}${name}`)
  })

const TYPES = { id: 'integer', cents: 'integer', integer: 'integer', text: 'string' } as const
const typeOf = ({ kind }: Field): string => TYPES[kind as keyof typeof TYPES] ?? kind

const declaredLines = (shape: Shape, at = ''): string[] =>
  Object.entries(shape).flatMap(([name, member]) => linesOfMember(`${at}${name}`, member))

function linesOfMember(path: string, member: Member): string[] {
  switch (member.type) {
    case 'field':
      return [`${typeOf(member)} ${path}${member.nullable ? '?' : ''}`]
    case 'scalars':
      return [`${typeOf(member.of)} ${path}[]`]
    case 'object':
      return [...(member.nullable ? [`object ${path}?`] : []), ...declaredLines(member.fields, `${path}.`)]
    case 'one':
      return declaredLines(member.fields, `${path}.`)
    case 'many':
      return declaredLines(member.fields, `${path}[].`)
  }
}

function declaredValues(shape: Shape, at: string): [string, readonly string[]][] {
  return Object.entries(shape).flatMap(([name, member]: [string, Member]): [string, readonly string[]][] => {
    const path = `${at}${name}`
    if (member.type === 'field') return member.values === undefined ? [] : [[path, member.values]]
    return 'fields' in member
      ? declaredValues(member.fields, member.type === 'many' ? `${path}[].` : `${path}.`)
      : []
  })
}

test.each(Object.entries(documented))("%s has the document's fields", (name, groups) => {
  expect(declaredLines(resources[name]!.fields).sort()).toEqual(linesOf(groups).sort())
})

test("authorizations have the document's fields", () => {
  expect(declaredLines(authorizations.fields).sort()).toEqual(
    linesOf(['integer id api_partner_id tenant_id? api_tenant_id', 'boolean writable']).sort(),
  )
})

test("enumerations contain the document's values, each once", () => {
  const found = Object.keys(documented).flatMap((name) => declaredValues(resources[name]!.fields, `${name}.`))
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(
      Object.entries(enumerations).map(([path, words]) => [
        path,
        words.split(' ').map((word) => word.replace('_C', ' C')),
      ]),
    ),
  )
})
