/* Everything that the views answer, in rows by tenant. fold.ts makes the scopes of the report of them. */

import { readRefills } from '../../../engine/warehouse/cursors.js'
import type { Db } from '../../../engine/warehouse/database.js'
import { askCustomers, askOrders, askPayments, askReceivables, askSales, askTotals } from './asksales.js'
import { askFreshness } from './asktrust.js'
import {
  askCycles,
  askMargins,
  askOpen,
  askRecommendations,
  askTechnicians,
  askUndecided,
} from './askwork.js'
import { groupedBy, monthsLater, type Subject } from './reportdays.js'

/** The time that the questions are about. */
export interface Period {
  /** The first month of the report. */
  readonly from: string
  /** The month that is told as the last one. */
  readonly last: string
  /** From this day on, recommendations without a decision are followed up. */
  readonly undecidedSince: string
}

/** How many whole months before the last one tell what is usual for a technician. */
export const usualMonths = 3

export async function findingsOf(subject: Subject, state: Db, { from, last, undecidedSince }: Period) {
  const behindLast = monthsLater(last, 1)
  const [sales, orders, customers, receivables, totals, payments, freshness] = await Promise.all([
    askSales(subject, from),
    askOrders(subject, from),
    askCustomers(subject),
    askReceivables(subject),
    askTotals(subject),
    askPayments(subject),
    askFreshness(subject),
  ])
  const [technicians, margins, recommendations, undecided, cycles, open] = await Promise.all([
    askTechnicians(subject, monthsLater(last, -usualMonths), behindLast),
    askMargins(subject, monthsLater(last, -11), behindLast),
    askRecommendations(subject, from),
    askUndecided(subject, undecidedSince),
    askCycles(subject, from),
    askOpen(subject),
  ])
  const refills = (await readRefills(state)).filter(
    ({ tenant_id }) => subject.tenants?.includes(tenant_id) ?? true,
  )
  const ofInvoices = { sales, orders, customers, receivables, totals, payments, freshness, refills }
  return { ...ofInvoices, technicians, margins, recommendations, undecided, cycles, open }
}

export type Findings = Awaited<ReturnType<typeof findingsOf>>

const none: Findings = {
  sales: [],
  orders: [],
  customers: [],
  receivables: [],
  totals: [],
  payments: [],
  freshness: [],
  refills: [],
  technicians: [],
  margins: [],
  recommendations: [],
  undecided: [],
  cycles: [],
  open: [],
}

/** The findings of each tenant, by its id. */
export function byTenant(findings: Findings): Map<string, Findings> {
  const tenants = new Map<string, Findings>()
  for (const name of Object.keys(none) as (keyof Findings)[]) {
    const groups = groupedBy<{ tenant_id: unknown }>(findings[name], (row) => String(row.tenant_id))
    for (const [tenant, rows] of groups)
      tenants.set(tenant, { ...(tenants.get(tenant) ?? none), [name]: rows })
  }
  return tenants
}
