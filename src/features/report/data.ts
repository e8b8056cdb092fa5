/*
 * What the report knows, as plain values: src/features/report/read/ fills them from the warehouse, src/features/report/page/ and reporttext.ts
 * put them into words and figures. Money is cents, days are the shops' own, months are `YYYY-MM`.
 */

/** A month that the report shows. Partial months are hatched: their numbers will grow, or began in the middle. */
export interface ReportMonth {
  readonly month: string
  readonly isPartial: boolean
}

/** What the invoices of one month come to. */
export interface MonthNumbers {
  readonly invoices: number
  readonly cars: number
  readonly hours: number
  readonly ratedHours: number
  /** Labor less its discount. */
  readonly laborCents: number
  readonly salesCents: number
  readonly grossProfitCents: number
  /** Sales of the invoices whose gross profit is known: what a margin may be divided by. */
  readonly salesWithProfitCents: number
  readonly invoicesWithoutProfit: number
  readonly totalCents: number
  readonly invoicesWithoutTotal: number
  readonly customers: number
  readonly newCustomers: number
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
  readonly late: number
  /** Orders that say when they were due. */
  readonly due: number
}

export const cycleBands = [
  'up to 8 hours',
  'up to a day',
  '1 to 3 days',
  '3 to 7 days',
  'over a week',
] as const

/** One line of a ranking: a shop, a technician, a band of costs. */
export interface RankedShop {
  readonly name: string
  /** One value a month of the report. */
  readonly salesCents: readonly number[]
}

export interface RankedTechnician {
  readonly name: string
  /** In the month that the report calls the last one, and the average of the three months before. */
  readonly hours: number
  readonly usualHours: number
  readonly invoices: number
}

export interface CostBand {
  readonly band: string
  readonly parts: number
  readonly soldCents: number
  readonly costCents: number
  readonly marginCents: number
  readonly withoutCost: number
}

export interface ReceivableAge {
  readonly bucket: string
  /** Invoices with something to collect, and how much. */
  readonly invoices: number
  readonly cents: number
  /** Invoices with an unknown balance, and what is owed on them at least: in neither of the above. */
  readonly unknown: number
  readonly atLeastCents: number
  /** Invoices that were paid beyond their total, and how much is owed to the customers. */
  readonly overpaid: number
  readonly creditCents: number
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

/** What needs somebody today. */
export interface NeedsAnswer {
  readonly open: { readonly orders: number; readonly salesCents: number }
  readonly late: { readonly orders: number; readonly salesCents: number }
  readonly lateOrders: readonly NamedOrder[]
  readonly receivables: Collectable
  readonly overdue: Collectable
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

/** Everything that the page shows of all tenants together, or of one of them. */
export interface ReportScope {
  /** `all`, or the tenant's id. */
  readonly id: string
  readonly title: string
  readonly shops: number
  readonly trust: TrustAnswer
  /** Tenants whose data does not reach to the end of the last month. */
  readonly behind: number
  /** Aligned with the months of the report. */
  readonly months: readonly MonthNumbers[]
  readonly advice: readonly AdviceNumbers[]
  readonly cycles: readonly CycleNumbers[]
  /** Most sales first. */
  readonly byShop: readonly RankedShop[]
  readonly technicians: readonly RankedTechnician[]
  readonly hoursWithoutTechnician: number
  readonly costBands: readonly CostBand[]
  readonly receivables: readonly ReceivableAge[]
  readonly standings: readonly StandingLine[]
  readonly needs: NeedsAnswer
}

/** One tenant among many, for the comparison. */
export interface TenantLine {
  readonly id: string
  readonly name: string
  readonly trust: TrustAnswer
  readonly last: MonthNumbers
  readonly before: MonthNumbers | null
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
  /** All tenants together, then each tenant where there are few; empty in a warehouse that was never synced. */
  readonly scopes: readonly ReportScope[]
  /** Where there are several tenants, all of them, most sales first. */
  readonly tenants: readonly TenantLine[]
}
