/**
 * The one oracle of the business: the rows of each view, in memory, from the records as the API sends them. Written from
 * docs/totals.md and the columns' descriptions, not from the SQL of the views or the rule of the totals. Shares no code
 * with the product.
 */
import type { Row } from './amounts.js'
import { otherViews } from './besides.js'
import { Business, type World } from './business.js'
import { lineViews } from './lines.js'
import { orderViews } from './orders.js'
import { paymentViews } from './payments.js'
import { periodViews } from './periods.js'

const views: Readonly<Record<string, (business: Business) => Row[]>> = {
  ...orderViews,
  ...lineViews,
  ...paymentViews,
  ...otherViews,
  ...periodViews,
}

export const checkedViews = Object.keys(views).sort()

/** The rows of a view for all tenants. They may have more columns than the view. */
export function expectedRows(view: string, businesses: readonly Business[]): Row[] {
  const rows = views[view]
  if (!rows) throw new Error(`no oracle of ${view}`)
  return businesses.flatMap((business) => rows(business).map((row) => business.completed(row)))
}

/** What the rows are made from. */
export const businessesOf = (world: World): Business[] =>
  world.tenants.map((records) => new Business(records, world))
