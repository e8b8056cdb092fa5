/*
 * What the report knows, as plain values: src/features/report/read/ fills them from the warehouse, src/features/report/page/ and reporttext.ts
 * put them into words and figures. Money is cents, days are the shops' own, months are `YYYY-MM`.
 */

import type { Amounts } from './amounts.js'

/** A month that the report shows. Partial months are hatched: their numbers will grow, or began in the middle. */
export interface ReportMonth {
  readonly month: string
  readonly isPartial: boolean
}

/** Recommendations by the month in which they were made. */
export interface AdviceNumbers {
  readonly approved: number
  readonly soldLater: number
  readonly declined: number
  readonly undecided: number
  readonly valueCents: number
  readonly withoutValue: number
}

/** How long orders took, from created to picked up: how many fell into each of `cycleBands`. */
export interface CycleNumbers {
  readonly bands: readonly number[]
  /** Orders that lack an instant: not picked up yet, or never started. */
  readonly unknown: number
}

export const cycleBands = [
  'up to 8 hours',
  'up to a day',
  '1 to 3 days',
  '3 to 7 days',
  'over a week',
] as const

/** A shop with what it sold in each month of the report; null where nothing of a month is known. */
export interface RankedShop {
  readonly name: string
  readonly salesCents: readonly (number | null)[]
}

/** One line of a ranking: a shop, an advisor, a technician, a category, a band of costs. */
export interface RankedLine {
  /** null: what names none. */
  readonly key: string | null
  readonly name: string
  readonly amounts: Amounts
  /** The same in the time that the period is compared with first. */
  readonly before?: Amounts
}

/** A period beside an earlier one, of the shops that were open in both. */
export interface PeriodComparison {
  /** `the month before`. */
  readonly words: string
  /** `Sep 2026`. */
  readonly label: string
  readonly now: Amounts
  readonly before: Amounts
  /** Shops that are in neither, because they opened, or their data begins, in between. */
  readonly shopsLeftOut: number
}

export type PeriodId = 'month-to-date' | 'last-month' | 'last-12-months'

/** Days from one up to another, which does not belong to them. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** What the reader may choose: a month, or more. */
export interface ReportPeriod extends DayRange {
  readonly id: PeriodId
  /** In the picker: `Last month`. */
  readonly name: string
  /** `October 2026`, `November 1 to 22, 2026`. */
  readonly label: string
  readonly question: string
  readonly compared: readonly (DayRange & Pick<PeriodComparison, 'words' | 'label'>)[]
}

/** What a scope comes to in a period. */
export interface PeriodAnswer {
  readonly period: ReportPeriod
  readonly amounts: Amounts
  readonly comparisons: readonly PeriodComparison[]
  /** Where there are a few of them; each is compared only if it was open in both periods. */
  readonly shops: readonly RankedLine[]
  readonly advisors: readonly RankedLine[]
  readonly technicians: readonly RankedLine[]
  readonly categories: readonly RankedLine[]
  readonly costBands: readonly RankedLine[]
}

/** Sales of the running month so far, day by day, beside the same days of earlier months. */
export interface PaceLine {
  readonly name: string
  /** Sums from the first day of the month to each of its days; null behind the last day that is told. */
  readonly cents: readonly (number | null)[]
}

export interface ReceivableAge {
  readonly bucket: string
  /** Invoices with something to collect, and how much. */
  readonly invoices: number
  readonly cents: number
  /** Invoices with an unknown balance, and what is owed on them at least: in neither of the above. */
  readonly unknown: number
  readonly atLeastCents: number
  /** Invoices that were paid beyond their total. */
  readonly overpaid: number
}

export interface StandingLine {
  readonly standing: string
  readonly customers: number
  readonly salesCents: number
}

export type VerdictShown = 'proven' | 'repaired' | 'listed' | 'unproven' | 'none'

/** Whether the numbers can be trusted. A list is one resource of one tenant. */
export interface TrustAnswer {
  readonly lists: number
  readonly verdicts: Readonly<Record<VerdictShown, number>>
  readonly failing: number
  /** Lists that have to be read whole once, since rows of them may be missing; records that were read of those begun. */
  readonly refilling: {
    readonly lists: number
    readonly begun: number
    readonly read: number
    readonly of: number
  }
  /** Lists that the API does not offer: they are in no other count. */
  readonly unavailable: number
  /** The oldest `complete_through` of all lists, and whose it is; null where one has none. */
  readonly completeThrough: string | null
  /** `completeThrough` is older than status.staleAfter. */
  readonly isStale: boolean
  readonly oldest: { readonly tenant: string; readonly resource: string } | null
  /** The oldest check for deletions; null where a list was never checked. */
  readonly deletesCheckedAt: string | null
  /** Lists whose deletions were never checked, or not for status.deletesUncheckedAfter. */
  readonly deletesUnchecked: number
  /** Tenants whose grant was taken away, and whose rows are in the figures. */
  readonly revoked: readonly string[]
  /** Incidents that are open, of these tenants and of the whole warehouse. */
  readonly incidents: { readonly open: number; readonly kinds: readonly string[] }
  readonly quarantined: number
  readonly totals: TotalsAgreement
  readonly payments: PaymentsAgreement
}

/** Whether the payments on the orders equal their own list. */
export interface PaymentsAgreement {
  readonly orders: number
  readonly differ: number
  readonly differenceCents: number
}

/** Whether what invoices come to equals what was paid. */
export interface TotalsAgreement {
  readonly invoices: number
  readonly unpaid: number
  readonly unknown: number
  readonly equal: number
  readonly rounding: number
  readonly more: number
}

/** What needs attention today. */
export interface NeedsAnswer {
  readonly inProgress: { readonly orders: number; readonly salesCents: number | null }
  readonly estimates: number
  readonly late: { readonly orders: number; readonly salesCents: number }
  readonly lateOrders: readonly NamedOrder[]
  readonly receivables: Collectable
  readonly overdue: Collectable
  /** What is owed to customers who paid too much: in none of the others. */
  readonly creditCents: number
  readonly overdueOrders: readonly NamedOrder[]
  readonly undecided: { readonly count: number; readonly valueCents: number; readonly withoutValue: number }
}

export type Collectable = Omit<ReceivableAge, 'bucket'>

/** An order that somebody should look at. */
export interface NamedOrder {
  readonly number: string
  readonly shop: string
  readonly customer: string
  /** Days since the order was started, or the invoice was closed. */
  readonly days: number
  readonly cents: number | null
}

/** Everything that the page shows of all tenants together, of one of them, or of one shop. */
export interface ReportScope {
  /** `all`, the tenant's id, or `shop-` and the shop's key. */
  readonly id: string
  readonly kind: 'all' | 'business' | 'shop'
  readonly title: string
  readonly shops: number
  /** They are in no figure. */
  readonly shopsWithoutInvoices: number
  /** Of a shop: that of its business. */
  readonly trust: TrustAnswer
  /** Tenants whose data does not reach to the end of the last month. */
  readonly behind: number
  /** The months of the report; a first month that its data does not cover whole is partial, too. */
  readonly span: readonly ReportMonth[]
  /** Aligned with the months, as are the next two. */
  readonly months: readonly Amounts[]
  readonly advice: readonly AdviceNumbers[]
  readonly cycles: readonly CycleNumbers[]
  /** Most sales first. */
  readonly byShop: readonly RankedShop[]
  readonly periods: readonly PeriodAnswer[]
  /** The running month first; empty where no day of it is over. */
  readonly pace: readonly PaceLine[]
  readonly receivables: readonly ReceivableAge[]
  /** Of a shop: none, since a customer is one of the business. */
  readonly standings: readonly StandingLine[]
  readonly needs: NeedsAnswer
}

/** One tenant among many, for the comparison. */
export interface TenantLine {
  readonly id: string
  readonly name: string
  readonly trust: TrustAnswer
  /** In the period that is shown first. */
  readonly amounts: Amounts
  /** Beside the time before it; undefined where there is nothing to compare. */
  readonly comparison: PeriodComparison | undefined
  readonly late: number
  readonly overdueCents: number
}

export interface ReportData {
  readonly madeAt: string
  /** Address of the warehouse without its password. */
  readonly warehouse: string
  readonly today: string
  readonly timeZone: string
  /** Oldest first. Empty while there is no invoice. */
  readonly months: readonly ReportMonth[]
  /** Index of the last month that is whole; null while there is none. */
  readonly lastMonth: number | null
  /** The one that is shown first comes first. */
  readonly periods: readonly ReportPeriod[]
  /** All tenants together, each tenant and each shop where there are few; empty in a warehouse that was never synced. */
  readonly scopes: readonly ReportScope[]
  /** Where there are several tenants, all of them, most sales first. */
  readonly tenants: readonly TenantLine[]
}
