import { count } from '../../engine/base/format.js'
import { hoursText, moneyInShort, moneyToTheCent, unknownMark } from './numberwords.js'

/* Chart values as text: to the cent in tables, since those are copied; short on axes. */

const inFull: Readonly<Record<ChartUnit, (value: number) => string>> = {
  money: moneyToTheCent,
  moneyToTheCent,
  hours: hoursText,
  count,
  percent: (value) => `${value.toFixed(1)}%`,
}

const inShort: Readonly<Record<ChartUnit, (value: number) => string>> = {
  money: moneyInShort,
  moneyToTheCent: moneyInShort,
  hours: count,
  count,
  percent: (value) => `${count(value)}%`,
}

export const cellText = (value: number | null, unit: ChartUnit): string =>
  value === null ? unknownMark : inFull[unit](value)

export const axisText = (value: number, unit: ChartUnit): string => inShort[unit](value)

/*
 * A chart in the report's own terms: what to draw, in which unit and which colors. src/features/report/figures/ makes
 * charts from the data; src/features/report/draw/ draws them.
 */

/** Units decide how values are written, on axes and in the tables below the charts. */
export type ChartUnit = 'money' | 'moneyToTheCent' | 'hours' | 'count' | 'percent'

/**
 * Names of the page's colors: reportstyle.ts gives each a value for light and dark. `blue` to `pink` tell series apart,
 * also for people who can't see red or green; `step1` to `step5` are one hue, for ages and lengths of time.
 */
export type ChartColor =
  | 'blue'
  | 'orange'
  | 'green'
  | 'purple'
  | 'sky'
  | 'grey'
  | 'rust'
  | 'gold'
  | 'pink'
  | 'step1'
  | 'step2'
  | 'step3'
  | 'step4'
  | 'step5'

export interface ChartSeries {
  readonly name: string
  readonly color: ChartColor
  /** One value per category; null if there is none. */
  readonly values: readonly (number | null)[]
  /** In a column chart: drawn as a line over the columns. */
  readonly isLine?: boolean
  /** A line of what is projected, and not known yet. */
  readonly isDashed?: boolean
  /** A color for each category, instead of one for the series. */
  readonly colors?: readonly ChartColor[]
}

export interface Chart {
  /** Several series of columns are stacked. */
  readonly shape: 'columns' | 'lines'
  readonly unit: ChartUnit
  /** What the categories are: the heading of their column in the table. */
  readonly of: string
  readonly categories: readonly string[]
  /** Short names on the axis; months have a line for the year. An empty text leaves its place empty. */
  readonly ticks?: readonly string[]
  /** Categories whose values are still incomplete: hatched columns, hollow points. */
  readonly partial?: readonly boolean[]
  readonly series: readonly ChartSeries[]
  /** Shares of a total: the axis ends at 100. */
  readonly isWhole?: boolean
}

/** A chart with its text. */
export interface Figure {
  readonly id: string
  readonly title: string
  /** The number people look for first, in a sentence; empty if there is none. */
  readonly finding: string
  /** What the values mean. */
  readonly definition: string
  /** What none of the values includes, one sentence each. */
  readonly leftOut: readonly string[]
  readonly chart: Chart
  /** Columns that are only in the table. */
  readonly extra: readonly { readonly title: string; readonly cells: readonly string[] }[]
  /** Takes the full width of the page. */
  readonly isWide?: boolean
  /** Shown instead of the chart if there is nothing to draw. */
  readonly nothing: string
}
