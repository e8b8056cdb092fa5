/* The order in which people look for figures: what was sold first, then what it took, who came, and what is open. */
import type { DeclaredFigure } from './figure.js'

const order: readonly string[] = [
  ...['sales_cents', 'gross_profit_cents', 'gross_margin', 'invoices', 'average_repair_order', 'cars'],
  ...['customers', 'new_customers', 'invoiced_cents', 'discounts_cents', 'supply_fees_cents'],
  ...['hours_sold', 'hours_per_order', 'hours_per_car', 'technician_hours', 'effective_labor_rate'],
  ...['gross_profit_per_hour', 'service_sales_cents', 'parts_cost_cents', 'parts_margin'],
  ...['line_gross_profit_cents', 'line_gross_margin'],
  ...['collected_cents', 'deposits_cents', 'deposits_held_cents', 'refunds_cents', 'declined_cards'],
  ...['receivables_cents', 'receivables_over_30_cents', 'receivables_over_60_cents'],
  ...['receivables_over_90_cents', 'credits_cents'],
  ...['tax_cents', 'labor_tax_cents', 'parts_tax_cents', 'sublets_tax_cents', 'hazmats_tax_cents'],
  ...['taxable_sales_cents', 'untaxed_sales_cents', 'exempt_sales_cents'],
  ...['orders_in_progress', 'work_in_progress_cents', 'open_estimates', 'open_estimates_cents'],
  ...['estimate_close_rate', 'recommendation_close_rate', 'to_sell_cents'],
  ...['days_to_close', 'share_late', 'appointments_kept'],
  ...['inventory_value_cents', 'inventory_turns', 'purchases_cents'],
]

/** Those that the list doesn't name come last, by their names. */
export function inReadingOrder(figures: readonly DeclaredFigure[]): DeclaredFigure[] {
  const place = ({ name }: DeclaredFigure): number => {
    const found = order.indexOf(name)
    return found === -1 ? order.length : found
  }
  return [...figures].sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1))
}
