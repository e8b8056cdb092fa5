/** Figures as the dictionary describes them: in words, and in SQL that works in both databases. */
import {
  addsUp,
  aggregateOf,
  type DeclaredFigure,
  isMoment,
  isRatio,
  leftOutMeasure,
  type Measure,
  unitFactor,
} from '../../../schema/figure.js'
import type { DictionaryFigure, FigureKind } from './dictionary.js'

function kindOf(figure: DeclaredFigure): FigureKind {
  if (isRatio(figure)) return 'ratio'
  if (isMoment(figure)) return 'moment'
  return 'distinct' in figure.numerator ? 'distinct' : 'sum'
}

/** What is counted may be all that the figure is about. */
export const bothConditions = (where: string | undefined, condition: string): string =>
  where === undefined || where === condition ? condition : `(${where}) and (${condition})`

/**
 * The aggregate of a measure with the figure's condition included, for tools that query several figures of one
 * relation.
 */
export function conditional(measure: Measure, where: string | undefined): string {
  if (where === undefined) return aggregateOf(measure)
  if ('sum' in measure) return `sum(case when ${where} then ${measure.sum} end)`
  if ('distinct' in measure) return `count(distinct case when ${where} then ${measure.distinct} end)`
  return `count(case when ${bothConditions(where, measure.count)} then 1 end)`
}

/**
 * One aggregate divided by another, in the figure's unit, never as an integer division; null instead of a division by
 * zero.
 */
export function quotient(numerator: string, denominator: string, unit: DeclaredFigure['unit']): string {
  const factor = unitFactor[unit] ?? 1
  if (factor >= 1) return `${factor.toFixed(1)} * ${numerator} / nullif(${denominator}, 0)`
  return `1.0 * ${numerator} / nullif(${Math.round(1 / factor)} * ${denominator}, 0)`
}

/** The figure as one expression over the rows of its relation. */
function valueSql({ numerator, denominator, unit }: DeclaredFigure): string {
  const above = aggregateOf(numerator)
  return denominator ? quotient(above, aggregateOf(denominator), unit) : above
}

/** A quarter for each shop, or the current state. */
function exampleOf(figure: DeclaredFigure): string {
  const { name, relation, where, day, leavesOut } = figure
  const conditions = [
    ...(where === undefined ? [] : [where]),
    ...(day === undefined ? [] : [`${day} between '2026-01-01' and '2026-03-31'`]),
  ]
  const left = leavesOut ? [`${aggregateOf(leftOutMeasure(leavesOut))} as left_out`] : []
  return [
    `select ${['shop_key, shop_name', `${valueSql(figure)} as ${name}`, ...left].join(',\n  ')}`,
    `from ${relation.name}`,
    ...(conditions.length === 0 ? [] : [`where ${conditions.join(' and ')}`]),
    'group by shop_key, shop_name',
    'order by shop_key nulls last',
  ].join('\n')
}

/** The columns of `shop_days` and `shop_months` that contain it. */
function columnsOf(figure: DeclaredFigure, views: ReadonlyMap<string, readonly string[]>): string[] {
  const own = [
    figure.name,
    `${figure.name}_numerator`,
    `${figure.name}_denominator`,
    `${figure.name}_left_out`,
  ]
  return ['shop_days', 'shop_months'].flatMap((view) =>
    own.filter((name) => views.get(view)?.includes(name)).map((name) => `${view}.${name}`),
  )
}

const describeFigure = (
  figure: DeclaredFigure,
  views: ReadonlyMap<string, readonly string[]>,
): DictionaryFigure => {
  const { name, label, doc, unit, relation, where, day, numerator, denominator, leavesOut } = figure
  return {
    name,
    label,
    description: doc,
    unit,
    kind: kindOf(figure),
    adds_up: addsUp(figure),
    relation: relation.name,
    where: where ?? null,
    day: day ?? null,
    numerator: aggregateOf(numerator),
    denominator: denominator ? aggregateOf(denominator) : null,
    value: valueSql(figure),
    left_out: leavesOut ? { what: leavesOut.what, sql: aggregateOf(leftOutMeasure(leavesOut)) } : null,
    snapshot: figure.snapshot ?? null,
    by: figure.by,
    lists: figure.lists,
    splits: figure.splits ?? null,
    columns: columnsOf(figure, views),
    example: { title: day === undefined ? 'Now, by shop' : 'A quarter, by shop', sql: exampleOf(figure) },
    instead: figure.instead ?? [],
  }
}

/** `views`: the columns of each view. */
export const describeFigures = (
  figures: readonly DeclaredFigure[],
  views: ReadonlyMap<string, readonly string[]>,
): DictionaryFigure[] => figures.map((figure) => describeFigure(figure, views))
