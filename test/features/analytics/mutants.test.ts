/**
 * The hand-computed business distinguishes a right view from a wrong one. For every view, each join and subquery
 * without the tenant, and each one without the check for deletions, shows different rows. Only on SQLite: the text has
 * the same meaning.
 */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { known } from '../../support/harness/runs.js'
import { someOf } from '../../support/harness/size.js'
import { viewText } from '../../support/harness/views.js'
import { type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { businessIn } from '../../support/world/business.js'

/** What a careless author leaves out. */
const forgotten = [
  /\b\w+\.tenant_id = \w+\.tenant_id and /g,
  / and \w+\._deleted_at is null\b/g,
  /\bwhere \w+\._deleted_at is null(?! and)/g,
]

/** Where a mutant shows the same rows, and why it must. */
const harmless: Readonly<Record<string, RegExp>> = {
  // No attempt and no recommendation of the business belongs to a deleted order; figures.test.ts has such cases.
  card_attempts: /repair_order_id and o\._deleted_at is null/,
  earlier_recommendations: /repair_order_id and o\._deleted_at is null/,
  recommendation_conversion: /repair_order_id and o\._deleted_at is null/,
  // Whose today it is only affects the ages for a few hours a day.
  customer_value: /select v\.shop_id|todays w on/,
  // The deleted invoice is no shop's first, and an order of both tenants was closed on one day.
  inventory_value: /todays w on|min\(o\.closed_on\)|max\(o\.closed_on\)/,
  deleted_orders: /report_zones/,
  // Only one tenant has open orders with parts; in oracle.test.ts both have, with the same ids.
  parts_on_order: /./,
  // No invoice of the business is settled by its payments. byhand.test.ts has such invoices and deleted payments,
  // oracle.test.ts two tenants.
  payments_ledger: /from "payments" [ef] where/,
  receivables: /report_zones/,
  // No service of the business is in two orders; test/features/reconcile/shared.test.ts has such cases, for two
  // tenants.
  totals_check: /r_order_services|held|shared_services/,
}

/** shop_days and shop_months consist of the other views' queries: figures.test.ts tests them separately. changes has no records. */
const business = views.filter(
  ({ name }) => !/^(dim_|orders$|freshness$|changes|shop_(days|months)$)/.test(name),
)

/** The text of the view, each time without one of its precautions. */
function mutantsOf(text: string): { readonly without: string; readonly text: string }[] {
  return forgotten.flatMap((pattern) =>
    [...text.matchAll(pattern)].map((found) => ({
      without: text
        .slice(Math.max(0, found.index - 160), found.index + found[0].length + 40)
        .replaceAll(/\s+/g, ' '),
      text: text.slice(0, found.index) + text.slice(found.index + found[0].length),
    })),
  )
}

const [kind] = warehouses()
describe('a view that forgets', () => {
  let warehouse: Warehouse
  beforeAll(async () => {
    if (kind) warehouse = (await businessIn(kind)).warehouse
  })
  afterAll(() => warehouse.close())

  const rowsOf = async (text: string): Promise<string> => {
    const { rows } = await sql.raw(text).execute(warehouse.db)
    // Minutes until now differ from query to query.
    return rows
      .map((row) => JSON.stringify({ ...(row as object), minutes_open: 0 }))
      .sort()
      .join('\n')
  }

  it.each(someOf(4, business).map((view) => [view.name, view] as const))('%s', async (name, view) => {
    const { query: text } = viewText(view, warehouse.dialect.views().sql, { model: known, unlisted: 'keep' })
    const right = await rowsOf(text)
    const mutants = mutantsOf(text)
    expect(mutants.length).toBeGreaterThan(0)
    const survivors: string[] = []
    for (const mutant of mutants) if ((await rowsOf(mutant.text)) === right) survivors.push(mutant.without)
    expect([name, survivors.filter((without) => !harmless[name]?.test(without))]).toEqual([name, []])
  })
})
