/** List resources whose paths the document shows. */
export const DOCUMENTED = [
  'appointments',
  'assignments',
  'canned_jobs',
  'categories',
  'customers',
  'gp_exceptions',
  'integrator_tags',
  'inventories',
  'notes',
  'past_recommendations',
  'payment_transactions',
  'payments',
  'purchase_records',
  'recommendations',
] as const

/** Referred to by the document, which does not show their paths: served by the convention of the others. */
export const CONVENTIONAL = ['repair_orders', 'staffs', 'shops', 'vehicles', 'statuses', 'vendors'] as const

export const RESOURCES: readonly string[] = [...DOCUMENTED, ...CONVENTIONAL]

/** What IntegratorTag.taggable_type may say, and where such records are listed. */
export const TAGGABLE: Readonly<Record<string, string>> = {
  Appointment: 'appointments',
  Assignment: 'assignments',
  CannedJob: 'canned_jobs',
  Category: 'categories',
  Customer: 'customers',
  GpException: 'gp_exceptions',
  Inventory: 'inventories',
  Payment: 'payments',
  PaymentTransaction: 'payment_transactions',
  PurchaseRecord: 'purchase_records',
  Recommendation: 'recommendations',
  RepairOrder: 'repair_orders',
  Shop: 'shops',
  Staff: 'staffs',
  Status: 'statuses',
  Vehicle: 'vehicles',
  Vendor: 'vendors',
}

/** The payload types that the document names for webhook events. */
export const EVENT_TYPES: Readonly<Record<string, string>> = {
  assignments: 'Assignment',
  categories: 'Category',
  customers: 'Customer',
  staffs: 'Staff',
  inventories: 'Inventory',
  past_recommendations: 'PastRecommendation',
  shops: 'Shop',
  vehicles: 'Vehicle',
  payment_transactions: 'PaymentTransaction',
  statuses: 'Status',
  repair_orders: 'RepairOrder',
  purchase_records: 'PurchaseRecord',
}

const snake = (type: string): string =>
  type.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()

export type Action = 'created' | 'updated' | 'deleted'

/** undefined when the document names no event for the resource. */
export function eventName(resource: string, action: Action): string | undefined {
  const type = EVENT_TYPES[resource]
  return type === undefined ? undefined : `${snake(type)}.${action}`
}

export function isEventName(name: unknown): boolean {
  return typeof name === 'string' && /^[a-z]+(_[a-z]+)*\.(created|updated|deleted)$/.test(name)
}
