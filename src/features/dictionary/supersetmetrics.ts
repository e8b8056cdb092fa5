/**
 * The metrics of Superset's datasets. Each figure is one expression with its condition included, so a chart of several
 * needs no filter. A ratio is a sum divided by a sum. Money is shown in its main unit.
 */
import {
  type DeclaredFigure,
  isMoment,
  isRatio,
  leftOutMeasure,
  type Measure,
} from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import { conditional, quotient } from './describefigures.js'
import type { DictionaryColumn, DictionaryTable } from './dictionary.js'

interface SupersetMetric {
  readonly metric_name: string
  readonly expression: string
  readonly verbose_name?: string
  readonly description?: string
  readonly d3format?: string
}

/** Sums of prices mean nothing. */
const isSummed = ({ name, kind }: DictionaryColumn): boolean => kind === 'cents' && !/price|unit/.test(name)

const formats: Readonly<Record<DeclaredFigure['unit'], string>> = {
  cents: ',.2f',
  'cents per hour': ',.2f',
  hours: ',.1f',
  count: ',d',
  percent: ',.1f',
  days: ',.1f',
  turns: ',.2f',
}

const isMoney = (unit: DeclaredFigure['unit']): boolean => unit.startsWith('cents')

/** Cents as dollars. */
const shown = (expression: string, unit: DeclaredFigure['unit']): string =>
  isMoney(unit) ? `${expression} / 100.0` : expression

const unitWords = (unit: DeclaredFigure['unit']): string =>
  isMoney(unit) ? `In the currency's main unit${unit === 'cents' ? '' : ' per hour'}.` : `In ${unit}.`

/**
 * A figure over the rows of a dataset, from the expressions of its numerator, its denominator and what it leaves out.
 */
function figureMetrics(
  figure: DeclaredFigure,
  above: string,
  below: string | undefined,
  left: string | undefined,
): SupersetMetric[] {
  const { name, label, doc, unit, leavesOut } = figure
  const short = name.replace(/_cents$/, '')
  const value = below === undefined ? above : quotient(above, below, unit)
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

/** The metrics of the relation for which a figure is declared. */
const ofRelation = ({ name }: DictionaryTable): SupersetMetric[] =>
  figures
    .filter(({ relation }) => relation.name === name)
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

/**
 * The metrics of a view with one row per shop and period, made from its columns. What can't be summed over periods is
 * left out.
 */
const ofPeriods = ({ columns }: DictionaryTable): SupersetMetric[] => {
  const names = new Set(columns.map((column) => column.name))
  const sum = (column: string): string | undefined => (names.has(column) ? `sum(${column})` : undefined)
  return figures
    .filter((figure) => !isMoment(figure) && !('distinct' in figure.numerator))
    .flatMap((figure) => {
      const { name } = figure
      const above = sum(isRatio(figure) ? `${name}_numerator` : name)
      return above ? figureMetrics(figure, above, sum(`${name}_denominator`), sum(`${name}_left_out`)) : []
    })
}

const sumMetric = ({ name, description }: DictionaryColumn): SupersetMetric => ({
  metric_name: name.replace(/_cents$/, ''),
  expression: `sum(${name}) / 100.0`,
  description: `In the currency's main unit. ${description}`,
  d3format: ',.2f',
})

/** SQL keywords in capitals, as Superset writes them. */
const inCapitals = (metric: SupersetMetric): SupersetMetric => ({
  ...metric,
  expression: metric.expression.replaceAll(
    /'[^']*'|\b(sum|count|distinct|case|when|then|else|end|and|or|not|is|null|in|nullif|coalesce)\b/g,
    (found) => (found.startsWith("'") ? found : found.toUpperCase()),
  ),
})

/**
 * Figures first. A column's plain sum is only added if no figure has its name, since a figure knows what to leave out.
 */
export function supersetMetrics(table: DictionaryTable): SupersetMetric[] {
  const isOfPeriods = table.name === 'shop_days' || table.name === 'shop_months'
  const known = isOfPeriods ? ofPeriods(table) : ofRelation(table)
  const taken = new Set(known.map(({ metric_name }) => metric_name))
  const sums = isOfPeriods ? [] : table.columns.filter(isSummed).map(sumMetric)
  return [
    { metric_name: 'count', expression: 'COUNT(*)', verbose_name: 'Rows' },
    ...known,
    ...sums.filter(({ metric_name }) => !taken.has(metric_name)),
  ].map(inCapitals)
}
