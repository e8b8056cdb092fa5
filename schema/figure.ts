/**
 * The vocabulary of figures: what the trade asks of the data, such as sales or gross margin. (Metrics are those of
 * Prometheus here.) One file of schema/figures/ declares one figure over one view; schema/registry.mjs finds the file.
 * What shows figures follows from the declarations: the views shop_days and shop_months, the report, the dictionary,
 * the metrics of dbt and Superset. This file does nothing.
 *
 * How to add a figure:
 *
 * 1. A file of its own in schema/figures/: `export default defineFigure({ name: 'NAME', … })`, then `npm run build` and
 *    `shopsync migrate`. schema/figures/gross_margin.ts is the model.
 * 2. `relation` is the view that it is counted in. Expressions name columns of that view, in SQL that both databases
 *    understand; the build refuses a name that the view does not have, and a sum of a ratio or of prices.
 * 3. An expression is null where a row's value is unknown; `leavesOut` counts these rows. Where nothing of a month is
 *    known the figure is null, and never 0.
 * 4. A ratio's `denominator` covers the same rows as its `numerator`: a margin divides by the sales of the invoices whose
 *    cost is known.
 * 5. A figure without `day` says what stands now. `snapshot` is the same of a past day, over columns of daily_snapshots.
 */
import type { View } from './view.js'

/** What a figure is counted in. A ratio's quotient is in this unit: `unitFactor` says what it is multiplied by. */
export type FigureUnit = 'cents' | 'hours' | 'count' | 'percent' | 'cents per hour' | 'days' | 'turns'

/** What a numerator divided by its denominator is multiplied by, where that is not 1. Days are counted in minutes. */
export const unitFactor: Readonly<Partial<Record<FigureUnit, number>>> = { percent: 100, days: 1 / 1440 }

/** What is made of the rows of a group. */
export type Measure =
  | { readonly sum: string }
  /** How many rows meet a condition. */
  | { readonly count: string }
  /** How many different values there are, without null. It does not add up over days, shops or anything else. */
  | { readonly distinct: string }

/** What a figure leaves out: in words that follow a number, such as `invoices without a known cost`. */
export type LeavesOut = { readonly what: string } & ({ readonly count: string } | { readonly sum: string })

/** What people type in place of the figure, and why it is wrong. */
export interface Mistake {
  readonly sql: string
  readonly why: string
}

type ColumnOf<V extends View> = keyof V['columns'] & string

/** One figure, as one file of schema/figures/ declares it. */
export interface DeclaredFigure<N extends string = string, V extends View = View> {
  /** Ends in `_cents` where it adds up and is counted in cents. */
  readonly name: N
  readonly label: string
  /** What it means, as sentences. */
  readonly doc: string
  readonly unit: FigureUnit
  readonly relation: V
  /** The condition that belongs to it. */
  readonly where?: string
  /** The column of days by which it is cut. Without one, the figure says what stands now. */
  readonly day?: ColumnOf<V>
  readonly numerator: Measure
  /** A ratio is the sum of its numerator over the sum of its denominator, times `unitFactor`. */
  readonly denominator?: Measure
  /** What stands now, of a past day: a sum over columns of daily_snapshots. */
  readonly snapshot?: string
  readonly leavesOut?: LeavesOut
  /** Columns that it may be grouped by, beside tenant, shop and day. */
  readonly by: readonly ColumnOf<V>[]
  /** The resources whose lists must be complete for it to be. */
  readonly lists: readonly string[]
  /**
   * The figure that this one splits by something only this view has, such as hours by the technician of each line. It has
   * no columns of its own in shop_days and shop_months.
   */
  readonly splits?: string
  readonly instead?: readonly Mistake[]
}

export const defineFigure = <const N extends string, const V extends View>(
  figure: DeclaredFigure<N, V>,
): DeclaredFigure<N, View> => figure as unknown as DeclaredFigure<N, View>

/** Whether sums of it over days, shops and its dimensions are right: not what stands now, and not distinct values. */
export const addsUp = ({ day, numerator, denominator }: DeclaredFigure): boolean =>
  day !== undefined && denominator === undefined && !('distinct' in numerator)

/** Whether it is a quotient of two sums. */
export const isRatio = ({ denominator }: DeclaredFigure): boolean => denominator !== undefined

/** Whether it says what stands at a moment. */
export const isMoment = ({ day }: DeclaredFigure): boolean => day === undefined

/** The aggregate of a measure. */
export function aggregateOf(measure: Measure): string {
  if ('sum' in measure) return `sum(${measure.sum})`
  if ('distinct' in measure) return `count(distinct ${measure.distinct})`
  return `count(case when ${measure.count} then 1 end)`
}

/** What a figure leaves out, as a measure. */
export const leftOutMeasure = (left: LeavesOut): Measure =>
  'sum' in left ? { sum: left.sum } : { count: left.count }

/** How many rows of a figure have a value: where none has, the figure is null instead of 0. */
export function knownMeasure({ numerator, leavesOut }: DeclaredFigure): Measure {
  if ('sum' in numerator) return { count: `${numerator.sum} is not null` }
  return { count: leavesOut && 'count' in leavesOut ? `not coalesce(${leavesOut.count}, false)` : 'true' }
}
