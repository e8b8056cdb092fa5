/** GENERATED from the files of this folder by ../registry.mjs (npm run build). */
import type { DeclaredFigure } from '../figure.js'
import appointments_kept from './appointments_kept.js'
import average_repair_order from './average_repair_order.js'
import cars from './cars.js'
import collected_cents from './collected_cents.js'
import credits_cents from './credits_cents.js'
import customers from './customers.js'
import days_to_close from './days_to_close.js'
import declined_cards from './declined_cards.js'
import deposits_cents from './deposits_cents.js'
import deposits_held_cents from './deposits_held_cents.js'
import discounts_cents from './discounts_cents.js'
import effective_labor_rate from './effective_labor_rate.js'
import estimate_close_rate from './estimate_close_rate.js'
import exempt_sales_cents from './exempt_sales_cents.js'
import gross_margin from './gross_margin.js'
import gross_profit_cents from './gross_profit_cents.js'
import gross_profit_per_hour from './gross_profit_per_hour.js'
import hazmats_tax_cents from './hazmats_tax_cents.js'
import hours_per_car from './hours_per_car.js'
import hours_per_order from './hours_per_order.js'
import hours_sold from './hours_sold.js'
import inventory_turns from './inventory_turns.js'
import inventory_value_cents from './inventory_value_cents.js'
import invoiced_cents from './invoiced_cents.js'
import invoices from './invoices.js'
import labor_tax_cents from './labor_tax_cents.js'
import line_gross_margin from './line_gross_margin.js'
import line_gross_profit_cents from './line_gross_profit_cents.js'
import new_customers from './new_customers.js'
import open_estimates from './open_estimates.js'
import open_estimates_cents from './open_estimates_cents.js'
import orders_in_progress from './orders_in_progress.js'
import parts_cost_cents from './parts_cost_cents.js'
import parts_margin from './parts_margin.js'
import parts_tax_cents from './parts_tax_cents.js'
import purchases_cents from './purchases_cents.js'
import receivables_cents from './receivables_cents.js'
import receivables_over_30_cents from './receivables_over_30_cents.js'
import receivables_over_60_cents from './receivables_over_60_cents.js'
import receivables_over_90_cents from './receivables_over_90_cents.js'
import recommendation_close_rate from './recommendation_close_rate.js'
import refunds_cents from './refunds_cents.js'
import sales_cents from './sales_cents.js'
import service_sales_cents from './service_sales_cents.js'
import share_late from './share_late.js'
import sublets_tax_cents from './sublets_tax_cents.js'
import supply_fees_cents from './supply_fees_cents.js'
import tax_cents from './tax_cents.js'
import taxable_sales_cents from './taxable_sales_cents.js'
import technician_hours from './technician_hours.js'
import to_sell_cents from './to_sell_cents.js'
import untaxed_sales_cents from './untaxed_sales_cents.js'
import work_in_progress_cents from './work_in_progress_cents.js'

const declared = {
  appointments_kept,
  average_repair_order,
  cars,
  collected_cents,
  credits_cents,
  customers,
  days_to_close,
  declined_cards,
  deposits_cents,
  deposits_held_cents,
  discounts_cents,
  effective_labor_rate,
  estimate_close_rate,
  exempt_sales_cents,
  gross_margin,
  gross_profit_cents,
  gross_profit_per_hour,
  hazmats_tax_cents,
  hours_per_car,
  hours_per_order,
  hours_sold,
  inventory_turns,
  inventory_value_cents,
  invoiced_cents,
  invoices,
  labor_tax_cents,
  line_gross_margin,
  line_gross_profit_cents,
  new_customers,
  open_estimates,
  open_estimates_cents,
  orders_in_progress,
  parts_cost_cents,
  parts_margin,
  parts_tax_cents,
  purchases_cents,
  receivables_cents,
  receivables_over_30_cents,
  receivables_over_60_cents,
  receivables_over_90_cents,
  recommendation_close_rate,
  refunds_cents,
  sales_cents,
  service_sales_cents,
  share_late,
  sublets_tax_cents,
  supply_fees_cents,
  tax_cents,
  taxable_sales_cents,
  technician_hours,
  to_sell_cents,
  untaxed_sales_cents,
  work_in_progress_cents,
}

/** Every declared figure, in the order of their names. */
export const figures: readonly DeclaredFigure[] = Object.values(declared)
