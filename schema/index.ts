/** GENERATED from the files of this folder by registry.mjs (npm run build). */
import appointments from './appointments.js'
import assignments from './assignments.js'
import canned_jobs from './canned_jobs.js'
import categories from './categories.js'
import customer_payment_types from './customer_payment_types.js'
import customers from './customers.js'
import type { Derived, TableOfDerived } from './derive.js'
import repair_order_totals from './derived/repair_order_totals.js'
import gp_exceptions from './gp_exceptions.js'
import integrator_tags from './integrator_tags.js'
import inventories from './inventories.js'
import notes from './notes.js'
import past_recommendations from './past_recommendations.js'
import payment_transactions from './payment_transactions.js'
import payments from './payments.js'
import purchase_records from './purchase_records.js'
import recommendations from './recommendations.js'
import repair_orders from './repair_orders.js'
import type { Resource, TablesOf } from './resource.js'
import shops from './shops.js'
import staffs from './staffs.js'
import statuses from './statuses.js'
import vehicles from './vehicles.js'
import vendors from './vendors.js'

const declared = {
  appointments,
  assignments,
  canned_jobs,
  categories,
  customer_payment_types,
  customers,
  gp_exceptions,
  integrator_tags,
  inventories,
  notes,
  past_recommendations,
  payment_transactions,
  payments,
  purchase_records,
  recommendations,
  repair_orders,
  shops,
  staffs,
  statuses,
  vehicles,
  vendors,
}

/** Every declared resource, by name. */
export const resources: Readonly<Record<string, Resource>> = declared

/** The warehouse's tables, as Kysely sees them: computed from the declarations, one by one. */
export interface ResourceTables
  extends Tables<'appointments'>,
    Tables<'assignments'>,
    Tables<'canned_jobs'>,
    Tables<'categories'>,
    Tables<'customer_payment_types'>,
    Tables<'customers'>,
    Tables<'gp_exceptions'>,
    Tables<'integrator_tags'>,
    Tables<'inventories'>,
    Tables<'notes'>,
    Tables<'past_recommendations'>,
    Tables<'payment_transactions'>,
    Tables<'payments'>,
    Tables<'purchase_records'>,
    Tables<'recommendations'>,
    Tables<'repair_orders'>,
    Tables<'shops'>,
    Tables<'staffs'>,
    Tables<'statuses'>,
    Tables<'vehicles'>,
    Tables<'vendors'> {}
type Tables<N extends keyof typeof declared> = TablesOf<(typeof declared)[N]>

const declaredDerived = {
  repair_order_totals,
}

/** Every derived table, by name. */
export const derivedTables: Readonly<Record<string, Derived>> = declaredDerived

/** The derived tables, as Kysely sees them. */
export interface DerivedRows extends DerivedRow<'repair_order_totals'> {}
type DerivedRow<N extends keyof typeof declaredDerived> = TableOfDerived<(typeof declaredDerived)[N]>
