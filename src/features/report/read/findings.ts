/* Everything that the views return, as rows by tenant and shop. fold.ts turns them into the report's scopes. */
import { askCustomers, askPayments, askReceivables, askShops, askTotals } from './asksales.js'
import type { ListsFound } from './asktrust.js'
import { askCycles, askLate, askRecommendations, askUndecided } from './askwork.js'
import { groupedBy, type Subject } from './reportdays.js'

export async function findingsOf(
  subject: Subject,
  { lists, unread }: ListsFound,
  {
    from,
    undecidedSince,
  }: {
    /** The first month of the report. */
    readonly from: string
    /** From this day on, recommendations without a decision are followed up. */
    readonly undecidedSince: string
  },
) {
  const [shops, customers, receivables, totals, payments] = await Promise.all([
    askShops(subject),
    askCustomers(subject),
    askReceivables(subject),
    askTotals(subject),
    askPayments(subject),
  ])
  const [recommendations, undecided, cycles, late] = await Promise.all([
    askRecommendations(subject, from),
    askUndecided(subject, undecidedSince),
    askCycles(subject, from),
    askLate(subject),
  ])
  const ofMoney = { customers, receivables, totals, payments }
  return { shops, lists, unread, ...ofMoney, recommendations, undecided, cycles, late }
}

export type Findings = Awaited<ReturnType<typeof findingsOf>>

/** The part of all findings that a scope covers. A row without a shop belongs to its tenant. */
export interface Part {
  readonly tenant?: string
  readonly shop?: string
}

interface Located {
  readonly tenant_id: unknown
  readonly shop_key?: string | null
}

export const isOf = ({ tenant, shop }: Part, row: Located): boolean =>
  (tenant === undefined || String(row.tenant_id) === tenant) &&
  (shop === undefined || row.shop_key === undefined || row.shop_key === shop)

/** What belongs to a part. What is only known per tenant is kept in full for its shops. */
export function partOf(findings: Findings, part: Part): Findings {
  const kept = Object.entries(findings).map(([name, rows]) => [
    name,
    (rows as readonly Located[]).filter((row) => isOf(part, row)),
  ])
  return Object.fromEntries(kept) as Findings
}

const none: Findings = {
  ...{ shops: [], lists: [], unread: [], customers: [], receivables: [], totals: [] },
  ...{ payments: [], recommendations: [], undecided: [], cycles: [], late: [] },
}

/** The findings of each tenant, in one pass: there may be hundreds of tenants. */
export function byTenant(findings: Findings): Map<string, Findings> {
  const tenants = new Map<string, Findings>()
  for (const name of Object.keys(none) as (keyof Findings)[]) {
    const groups = groupedBy<{ tenant_id: unknown }>(findings[name], (row) => String(row.tenant_id))
    for (const [tenant, rows] of groups)
      tenants.set(tenant, { ...(tenants.get(tenant) ?? none), [name]: rows })
  }
  return tenants
}
