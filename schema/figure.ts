/**
 * The vocabulary of figures: what a business asks of its data, such as sales or gross margin. (Here, metrics are those
 * of Prometheus.) One file of schema/figures/ declares one figure over one view; schema/registry.mjs finds the file.
 * Everything that shows figures uses the declarations: the views shop_days and shop_months, the report, the dictionary,
 * the metrics of dbt and Superset. This file does nothing itself.
 *
 * How to add a figure:
 *
 * 1. Create its file in schema/figures/: `export default defineFigure({ name: 'NAME', … })`, then run
 *    `npm run build` and `shopsync migrate`. schema/figures/gross_margin.ts is the model.
 * 2. `relation` is the view it is computed over. Expressions use columns of that view, in SQL that works in both
 *    databases; the build refuses a name that the view doesn't have, and a sum of a ratio or of prices.
 * 3. An expression is null if a row's value is unknown; `leavesOut` counts these rows. If nothing of a month is known,
 *    the figure is null, never 0.
 * 4. A ratio's `denominator` covers the same rows as its `numerator`: a margin divides by the sales of the invoices
 *    whose cost is known.
 * 5. A figure without `day` describes the current state. `snapshot` is the same for a past day, over columns of
 *    daily_snapshots.
 */
import type { View } from './view.js'

/** The unit of a figure. A ratio's quotient is in this unit: `unitFactor` is what it is multiplied by. */
type FigureUnit = 'cents' | 'hours' | 'count' | 'percent' | 'cents per hour' | 'days' | 'turns'

/** What to multiply a numerator divided by its denominator by, if not 1. Days are counted in minutes. */
export const unitFactor: Readonly<Partial<Record<FigureUnit, number>>> = { percent: 100, days: 1 / 1440 }

/** How the rows of a group are aggregated. */
export type Measure =
  | { readonly sum: string }
  /** How many rows meet a condition. */
  | { readonly count: string }
  /** The number of different values, without null. It doesn't add up over days, shops or anything else. */
  | { readonly distinct: string }

/** What a figure leaves out, worded to follow a number, such as `invoices without a known cost`. */
type LeavesOut = { readonly what: string } & ({ readonly count: string } | { readonly sum: string })

/** What people type instead of the figure, and why it is wrong. */
interface Mistake {
  readonly sql: string
  readonly why: string
}

type ColumnOf<V extends View> = keyof V['columns'] & string

/** One figure, as declared in a file of schema/figures/. */
export interface DeclaredFigure<N extends string = string, V extends View = View> {
  /** Ends in `_cents` if it adds up and is in cents. */
  readonly name: N
  readonly label: string
  /** What it means, in sentences. */
  readonly doc: string
  readonly unit: FigureUnit
  readonly relation: V
  /** The condition that belongs to it. */
  readonly where?: string
  /** The day column that dates it. Without one, the figure describes the current state. */
  readonly day?: ColumnOf<V>
  readonly numerator: Measure
  /** A ratio is the sum of its numerator divided by the sum of its denominator, times `unitFactor`. */
  readonly denominator?: Measure
  /** The state on a past day: a sum over columns of daily_snapshots. */
  readonly snapshot?: string
  readonly leavesOut?: LeavesOut
  /** Columns it may be grouped by, besides tenant, shop and day. */
  readonly by: readonly ColumnOf<V>[]
  /** The resources whose lists must be complete for the figure to be complete. */
  readonly lists: readonly string[]
  /**
   * The figure that this one breaks down by something only this view has, such as hours by the technician of each line.
   * It has no columns of its own in shop_days and shop_months.
   */
  readonly splits?: string
  readonly instead?: readonly Mistake[]
}

export const defineFigure = <const N extends string, const V extends View>(
  figure: DeclaredFigure<N, V>,
): DeclaredFigure<N, View> => figure as unknown as DeclaredFigure<N, View>

/** Whether it may be added up over days, shops and its dimensions. That excludes current states and distinct values. */
export const addsUp = ({ day, numerator, denominator }: DeclaredFigure): boolean =>
  day !== undefined && denominator === undefined && !('distinct' in numerator)

/** Whether it is a quotient of two sums. */
export const isRatio = ({ denominator }: DeclaredFigure): boolean => denominator !== undefined

/** Whether it describes the state at a moment. */
export const isMoment = ({ day }: DeclaredFigure): boolean => day === undefined

export function aggregateOf(measure: Measure): string {
  if ('sum' in measure) return `sum(${measure.sum})`
  if ('distinct' in measure) return `count(distinct ${measure.distinct})`
  return `count(case when ${measure.count} then 1 end)`
}

/** What a figure leaves out, as a measure. */
export const leftOutMeasure = (left: LeavesOut): Measure =>
  'sum' in left ? { sum: left.sum } : { count: left.count }

/** How many rows of a figure have a value: if none has, the figure is null instead of 0. */
export function knownMeasure({ numerator, leavesOut }: DeclaredFigure): Measure {
  if ('sum' in numerator) return { count: `${numerator.sum} is not null` }
  return { count: leavesOut && 'count' in leavesOut ? `not coalesce(${leavesOut.count}, false)` : 'true' }
}
