/**
 * The metrics of Superset's datasets. Each figure is one expression with its condition included, so a chart of several
 * needs no filter. A ratio is a sum divided by a sum. Money is shown in its main unit. A name has one meaning in all
 * datasets: only figures have names of their own, and the plain sum of a column is named after its dataset too.
 */
import {
  type DeclaredFigure,
  isMoment,
  isRatio,
  leftOutMeasure,
  type Measure,
} from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import { isSummable } from '../../../schema/view.js'
import { conditional, quotient } from './describefigures.js'
import type { DictionaryColumn, DictionaryTable } from './dictionary.js'

interface SupersetMetric {
  readonly metric_name: string
  readonly expression: string
  readonly verbose_name?: string
  readonly description?: string
  readonly d3format?: string
}

const money = '$,.2f'

/** A percentage is a share, which the format multiplies by 100. */
const formats: Readonly<Record<DeclaredFigure['unit'], string>> = {
  cents: money,
  'cents per hour': money,
  hours: ',.1f',
  count: ',d',
  percent: ',.1%',
  days: ',.1f',
  turns: ',.2f',
}

const isMoney = (unit: DeclaredFigure['unit']): boolean => unit.startsWith('cents')

/** Cents as dollars. */
const shown = (expression: string, unit: DeclaredFigure['unit']): string =>
  isMoney(unit) ? `${expression} / 100.0` : expression

const unitWords = (unit: DeclaredFigure['unit']): string => {
  if (isMoney(unit)) return `In the currency's main unit${unit === 'cents' ? '' : ' per hour'}.`
  return unit === 'percent' ? 'A share, shown in percent.' : `In ${unit}.`
}

const names = new Set(figures.map(({ name }) => name))

/** Without its unit, unless another figure has that name. */
function shortName({ name }: DeclaredFigure): string {
  const short = name.replace(/_cents$/, '')
  return short !== name && names.has(short) ? `${short}_amount` : short
}

/**
 * A figure over the rows of a dataset, from the expressions of its numerator, its denominator and what it leaves out.
 */
function figureMetrics(
  figure: DeclaredFigure,
  above: string,
  below: string | undefined,
  left: string | undefined,
): SupersetMetric[] {
  const { label, doc, unit, leavesOut } = figure
  const short = shortName(figure)
  const value = below === undefined ? above : quotient(above, below, unit === 'percent' ? 'count' : unit)
  const metric: SupersetMetric = {
    metric_name: short,
    verbose_name: label,
    expression: shown(value, unit),
    description: `${unitWords(unit)} ${doc}`,
    d3format: formats[unit],
  }
  if (left === undefined || !leavesOut) return [metric]
  return [
    metric,
    {
      metric_name: `${short}_left_out`,
      verbose_name: `${label}: left out`,
      expression: left,
      description: `Left out: ${leavesOut.what}.`,
      d3format: ',d',
    },
  ]
}

/** The days that date figures of a relation: the one of most figures first. A current state belongs to that one. */
export function dayColumnsOf(relation: string): (string | undefined)[] {
  const days = figures.flatMap(({ relation: { name }, day }) => (name === relation && day ? [day] : []))
  const count = (day: string): number => days.filter((each) => each === day).length
  const sorted = [...new Set(days)].sort((a, b) => count(b) - count(a))
  return sorted.length === 0 ? [undefined] : sorted
}

/** The metrics of the relation for which a figure is declared, dated by a day. */
const ofRelation = (relation: string, of: string | undefined): SupersetMetric[] =>
  figures
    .filter(({ relation: { name }, day = dayColumnsOf(relation)[0] }) => name === relation && day === of)
    .flatMap((figure) => {
      const { numerator, denominator, where, leavesOut } = figure
      const sql = (measure: Measure): string => conditional(measure, where)
      return figureMetrics(
        figure,
        sql(numerator),
        denominator && sql(denominator),
        leavesOut && sql(leftOutMeasure(leavesOut)),
      )
    })

const isDistinct = (measure: Measure | undefined): boolean => measure !== undefined && 'distinct' in measure

/**
 * The metrics of a view with one row per shop and period, made from its columns. What can't be summed over periods is
 * left out.
 */
const ofPeriods = ({ columns }: DictionaryTable): SupersetMetric[] => {
  const own = new Set(columns.map((column) => column.name))
  const sum = (column: string): string | undefined => (own.has(column) ? `sum(${column})` : undefined)
  return figures
    .filter((figure) => !isMoment(figure) && !isDistinct(figure.numerator) && !isDistinct(figure.denominator))
    .flatMap((figure) => {
      const { name } = figure
      const above = sum(isRatio(figure) ? `${name}_numerator` : name)
      return above ? figureMetrics(figure, above, sum(`${name}_denominator`), sum(`${name}_left_out`)) : []
    })
}

/**
 * Balances that a relation has for many days. They add up over shops but not over days, and an aggregate can't pick the
 * last day of whatever a chart groups by. Divided by the number of days, the sum of one day is its balance, and
 * that of several is their average.
 */
function ofBalances(
  { columns }: DictionaryTable,
  day: string,
  each: string,
  nameOf: (figure: DeclaredFigure) => string | undefined,
): SupersetMetric[] {
  return figures.filter(isMoment).flatMap((figure) => {
    const column = nameOf(figure)
    if (!columns.some(({ name }) => name === column)) return []
    const { label, doc, unit } = figure
    const days = `nullif(count(distinct case when ${column} is not null then ${day} end), 0)`
    return {
      metric_name: `${shortName(figure)}_by_${each}`,
      verbose_name: `${label}: ${each === 'day' ? 'by day' : 'at the end of the month'}`,
      expression: shown(`1.0 * sum(${column}) / ${days}`, unit),
      description: `${unitWords(unit)} ${doc} Over several ${each}s: their average.`,
      d3format: formats[unit],
    }
  })
}

/** The plain sum of a column; of orders, only of what was sold. */
function sumMetric(table: DictionaryTable, { name, description }: DictionaryColumn): SupersetMetric {
  const isOfOrders =
    table.columns.find(({ kind }) => kind === 'day')?.name === 'closed_on' &&
    table.columns.some((column) => column.name === 'state')
  return {
    metric_name: `${table.name}_${name.replace(/_cents$/, '')}`,
    expression: `${conditional({ sum: name }, isOfOrders ? "state = 'invoice'" : undefined)} / 100.0`,
    description: `In the currency's main unit${isOfOrders ? ', of invoices' : ''}. ${description}`,
    d3format: money,
  }
}

/** SQL keywords in capitals, as Superset writes them. */
const inCapitals = (metric: SupersetMetric): SupersetMetric => ({
  ...metric,
  expression: metric.expression.replaceAll(
    /'[^']*'|\b(sum|count|distinct|case|when|then|else|end|and|or|not|is|null|in|nullif|coalesce)\b/g,
    (found) => (found.startsWith("'") ? found : found.toUpperCase()),
  ),
})

/** Views with one row per shop and period whose columns are figures. */
const periods: readonly string[] = ['shop_days', 'shop_months']

function metricsOf(table: DictionaryTable, day: string | undefined): SupersetMetric[] {
  if (table.name === 'daily_snapshots') return ofBalances(table, 'day', 'day', ({ snapshot }) => snapshot)
  const ofFigures = periods.includes(table.name) ? ofPeriods(table) : ofRelation(table.name, day)
  return table.name === 'shop_months'
    ? [...ofFigures, ...ofBalances(table, 'month_start', 'month', ({ name }) => name)]
    : ofFigures
}

/**
 * The figures of a dataset that are dated by `day`, and the sums of columns that no figure is. The base tables have no
 * metrics but the views' on them.
 */
export function supersetMetrics(table: DictionaryTable, day = dayColumnsOf(table.name)[0]): SupersetMetric[] {
  const known = metricsOf(table, day)
  const taken = new Set(known.map(({ expression }) => expression))
  const isSummed =
    table.part === 'view' && day === dayColumnsOf(table.name)[0] && !periods.includes(table.name)
  const sums = table.columns
    .filter((column) => isSummed && column.kind === 'cents' && isSummable(column))
    .map((column) => sumMetric(table, column))
  return [
    { metric_name: 'count', expression: 'COUNT(*)', verbose_name: 'Rows' },
    ...known,
    ...sums.filter(({ expression }) => !taken.has(expression)),
  ].map(inCapitals)
}
