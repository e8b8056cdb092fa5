/** GENERATED from the files of this folder by ../registry.mjs (npm run build). */
import type { RowOfView, View } from '../view.js'
import appointment_load from './appointment_load.js'
import canned_job_hours from './canned_job_hours.js'
import card_attempts from './card_attempts.js'
import changes from './changes.js'
import changes_by_tenant from './changes_by_tenant.js'
import customer_value from './customer_value.js'
import cycle_times from './cycle_times.js'
import daily_sales from './daily_sales.js'
import deleted_orders from './deleted_orders.js'
import dim_customers from './dim_customers.js'
import dim_days from './dim_days.js'
import dim_shops from './dim_shops.js'
import dim_staffs from './dim_staffs.js'
import dim_tenants from './dim_tenants.js'
import dim_vehicles from './dim_vehicles.js'
import dim_vendors from './dim_vendors.js'
import earlier_recommendations from './earlier_recommendations.js'
import freshness from './freshness.js'
import handovers from './handovers.js'
import inspections from './inspections.js'
import inventory_value from './inventory_value.js'
import order_lines from './order_lines.js'
import orders from './orders.js'
import parts_margin from './parts_margin.js'
import parts_on_order from './parts_on_order.js'
import payments_check from './payments_check.js'
import payments_daily from './payments_daily.js'
import payments_ledger from './payments_ledger.js'
import purchases from './purchases.js'
import receivables from './receivables.js'
import recommendation_conversion from './recommendation_conversion.js'
import service_totals from './service_totals.js'
import shop_days from './shop_days.js'
import shop_months from './shop_months.js'
import technician_hours from './technician_hours.js'
import totals_check from './totals_check.js'
import work_in_progress from './work_in_progress.js'

const declared = {
  appointment_load,
  canned_job_hours,
  card_attempts,
  changes,
  changes_by_tenant,
  customer_value,
  cycle_times,
  daily_sales,
  deleted_orders,
  dim_customers,
  dim_days,
  dim_shops,
  dim_staffs,
  dim_tenants,
  dim_vehicles,
  dim_vendors,
  earlier_recommendations,
  freshness,
  handovers,
  inspections,
  inventory_value,
  order_lines,
  orders,
  parts_margin,
  parts_on_order,
  payments_check,
  payments_daily,
  payments_ledger,
  purchases,
  receivables,
  recommendation_conversion,
  service_totals,
  shop_days,
  shop_months,
  technician_hours,
  totals_check,
  work_in_progress,
}

/** Every declared view, in the order of their names. */
export const views: readonly View[] = Object.values(declared)

/** The views as Kysely sees them. */
export type ViewRows = { [N in keyof typeof declared]: RowOfView<(typeof declared)[N]> }
