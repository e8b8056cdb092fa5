/*
 * The report's data as plain values. src/features/report/read/ fills them from the warehouse; src/features/report/page/
 * and reporttext.ts turn them into words and figures. Money is in cents, days are the shops' own, months are `YYYY-MM`.
 */

import type { BelongsTo } from '../../shell/belongingwords.js'
import type { Amounts } from './amounts.js'
import type { TaskList } from './tasklist.js'

/** A month in the report. Partial months are hatched: their numbers will grow, or started in the middle. */
export interface ReportMonth {
  readonly month: string
  readonly isPartial: boolean
}

export const cycleBands = [
  'up to 8 hours',
  'up to a day',
  '1 to 3 days',
  '3 to 7 days',
  'over a week',
] as const

/** One line of a ranking: a shop, an advisor, a technician, a category, a band of costs. */
export interface RankedLine {
  /** null: rows that name none. */
  readonly key: string | null
  readonly name: string
  readonly amounts: Amounts
  /** The same in the first period used for comparison. */
  readonly before?: Amounts | undefined
}

/** A period compared with an earlier one, for the shops that were open in both. */
export interface PeriodComparison {
  /** `the month before`. */
  readonly words: string
  /** `Sep 2026`. */
  readonly label: string
  readonly now: Amounts
  readonly before: Amounts
  /** Shops in both. */
  readonly shops: number
  /** Shops in neither, because they opened, or their data begins, in between. */
  readonly shopsLeftOut: number
}

export type PeriodId = 'yesterday' | 'month-to-date' | 'last-month' | 'last-12-months'

/** Days from the first one up to, but not including, the last one. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** What the reader can choose: a month, or more. */
export interface ReportPeriod extends DayRange {
  readonly id: PeriodId
  /** In the picker: `Last month`. */
  readonly name: string
  /** `October 2026`, `November 1 to 22, 2026`. */
  readonly label: string
  readonly question: string
  readonly compared: readonly (DayRange & Pick<PeriodComparison, 'words' | 'label'>)[]
}

/** A scope's values in a period. */
export interface PeriodAnswer {
  readonly period: ReportPeriod
  readonly amounts: Amounts
  readonly comparisons: readonly PeriodComparison[]
  /** If there are only a few; each is compared only if it was open in both periods. */
  readonly shops: readonly RankedLine[]
  readonly advisors: readonly RankedLine[]
  readonly technicians: readonly RankedLine[]
  readonly categories: readonly RankedLine[]
  readonly costBands: readonly RankedLine[]
}

/** Sales of the current month so far, day by day, compared with the same days of earlier months. */
export interface PaceLine {
  readonly name: string
  /** Sums from the first day of the month to each of its days; null after the last known day, and before the data begins. */
  readonly cents: readonly (number | null)[]
}

/** The ages in days beyond which something owed is overdue; younger: `0 to 30`. */
export const overdueAges = ['31 to 60', '61 to 90', 'over 90'] as const

export interface ReceivableAge {
  /** Empty if nobody knows when its invoices were closed. */
  readonly bucket: string
  /** Invoices with something to collect, and how much. */
  readonly invoices: number
  readonly cents: number
  /** Invoices with an unknown balance, and the least that is owed on them; not included above. */
  readonly unknown: number
  readonly atLeastCents: number
  /** Invoices paid beyond their total. */
  readonly overpaid: number
}

export type VerdictShown = 'proven' | 'repaired' | 'listed' | 'unproven' | 'none'

/** Whether the numbers can be trusted. A list is one resource of one tenant. */
export interface TrustAnswer {
  /** The source of the rows, if the configuration names a different one; otherwise null. */
  readonly foreign: string | null
  readonly lists: number
  readonly verdicts: Readonly<Record<VerdictShown, number>>
  readonly failing: number
  /** A run is at work, which reaches the lists that were never read. */
  readonly isLoading: boolean
  /**
   * Lists that have to be read completely once, since some of their rows may be missing; for those already started, how
   * many records were read.
   */
  readonly refilling: {
    readonly lists: number
    readonly begun: number
    readonly read: number
    readonly of: number
  }
  /** Lists that the API doesn't offer: they aren't in any other count. */
  readonly unavailable: number
  /** The oldest `complete_through` of all lists, and whose it is; null if a list has none. */
  readonly completeThrough: string | null
  /** A list was last read completely longer ago than status.staleAfter. */
  readonly isStale: boolean
  /** Which lists of these tenants may lack late records (`lateWords`), whether or not they are behind the figures. */
  readonly late: string
  readonly oldest: { readonly tenant: string; readonly resource: string } | null
  /** The oldest check for deletions; null if no list was ever checked. `deletesUnchecked` counts those without one. */
  readonly deletesCheckedAt: string | null
  /** Lists whose deletions were never checked, or not within status.deletesUncheckedAfter. */
  readonly deletesUnchecked: number
  /** Tenants whose grant was revoked but whose rows are in the figures. */
  readonly revoked: readonly string[]
  /** Open incidents of these tenants and of the whole warehouse. */
  readonly incidents: { readonly open: number; readonly kinds: readonly string[] }
  readonly quarantined: number
  /** Whether the totals of invoices equal what was paid. */
  readonly totals: {
    readonly invoices: number
    readonly unpaid: number
    readonly unknown: number
    readonly equal: number
    readonly rounding: number
    readonly more: number
  }
  /** Whether the payments on the orders equal the payments in their own list. */
  readonly payments: { readonly orders: number; readonly differ: number; readonly differenceCents: number }
}

/** Everything the page shows about all tenants together, one tenant, or one shop. */
export interface ReportScope {
  /** `all`, the tenant's id, or `shop-` and the shop's key. */
  readonly id: string
  readonly kind: 'all' | 'business' | 'shop'
  readonly title: string
  readonly shops: number
  /** They aren't in any figure. */
  readonly shopsWithoutInvoices: number
  /** Tenants, and how many of them have been read completely. */
  readonly businesses: { readonly all: number; readonly complete: number }
  /** For a shop: that of its business. */
  readonly trust: TrustAnswer
  /** Tenants whose data doesn't reach the end of the last month. */
  readonly behind: number
  /** The months of the report. A first month that its data doesn't cover completely is partial, too. */
  readonly span: readonly ReportMonth[]
  /** In the order of the months, and so are the next two. A month before the data begins has none (`noData`). */
  readonly months: readonly Amounts[]
  /** Recommendations by the month in which they were made. */
  readonly advice: readonly ({
    readonly soldAtOnce: number
    readonly soldLater: number
    /** Approved, but on no order. */
    readonly approvedUnsold: number
    readonly declined: number
    readonly undecided: number
    readonly valueCents: number
    readonly withoutValue: number
  } | null)[]
  /** How long orders took from created to picked up. */
  readonly cycles: readonly {
    /** How many are in each of `cycleBands`. */
    readonly bands: readonly number[]
    /** Orders without an instant: not picked up yet, or never started. */
    readonly unknown: number
  }[]
  /**
   * Sales in each month of the report, most sales first: by shop, or by business if there are many shops; no lines if
   * there are many of both. null if nothing is known of a month, or it was not open yet.
   */
  readonly soldBy: {
    readonly of: 'shop' | 'business'
    readonly lines: readonly { readonly name: string; readonly salesCents: readonly (number | null)[] }[]
  }
  /** The last day on which any shop was open; null before there is one. */
  readonly day: PeriodAnswer | null
  readonly periods: readonly PeriodAnswer[]
  /**
   * The current month first; empty until its first day is over. All lines are of the shops that the comparison with the
   * month before includes.
   */
  readonly pace: readonly PaceLine[]
  /**
   * What the current month comes to if each open day ahead sells as much as those so far: of all shops, and of those in
   * `pace`. null while it is too early to tell.
   */
  readonly projection: Readonly<
    Record<
      'all' | 'pace',
      {
        readonly cents: number
        /** Days on which a shop was open in the month, and those that its weekdays let expect; added over the shops. */
        readonly openDays: number
        readonly daysAhead: number
        readonly shops: number
      }
    >
  > | null
  readonly receivables: readonly ReceivableAge[]
  /** None for a shop, since customers belong to the business. */
  readonly standings: readonly {
    readonly standing: string
    readonly customers: number
    readonly salesCents: number
  }[]
  /** What needs attention today. */
  readonly needs: {
    readonly inProgress: { readonly orders: number; readonly salesCents: number | null }
    readonly estimates: number
    readonly receivables: Omit<ReceivableAge, 'bucket'>
    readonly overdue: Omit<ReceivableAge, 'bucket'>
    /** What is owed to customers who paid too much; not included in the others. */
    readonly creditCents: number
  }
  /** In the order in which they are shown. Without `report.waitingForParts`, nobody knows who waits for parts. */
  readonly tasks: readonly TaskList[]
}

/** One tenant among many, for the comparison. */
export interface TenantLine {
  readonly id: string
  readonly name: string
  readonly trust: TrustAnswer
  /** In the period shown first. */
  readonly amounts: Amounts
  /** Compared with the previous period; undefined if there is nothing to compare. */
  readonly comparison: PeriodComparison | undefined
  readonly late: number
  readonly overdueCents: number
}

export interface ReportData {
  readonly madeAt: string
  /** The warehouse's address without its password. */
  readonly warehouse: string
  readonly belongsTo: BelongsTo | null
  readonly today: string
  readonly timeZone: string
  /** Oldest first. Empty as long as there is no invoice. */
  readonly months: readonly ReportMonth[]
  /** Index of the last complete month; null if there is none yet. */
  readonly lastMonth: number | null
  /** The first one is shown first. */
  readonly periods: readonly ReportPeriod[]
  /** All tenants together; each tenant and each shop, if there are few; empty in a warehouse that was never synced. */
  readonly scopes: readonly ReportScope[]
  /** That there is no warehouse; undefined if there is one. */
  readonly absent?: string | undefined
  /** All tenants, if there are several, with most sales first. */
  readonly tenants: readonly TenantLine[]
}
