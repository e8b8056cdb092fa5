/**
 * Semantic models and metrics for MetricFlow, in the form of dbt 1.11: one model for each relation that a figure
 * counts, one for each `dim_` view, and one for the snapshots, whose values don't add up over days. MetricFlow queries
 * models, not sources (dbt-core issue 7934).
 */
import {
  type DeclaredFigure,
  isMoment,
  isRatio,
  leftOutMeasure,
  type Measure,
  unitFactor,
} from '../../../schema/figure.js'
import { bothConditions } from './describefigures.js'
import type { DictionaryColumn, DictionaryTable } from './dictionary.js'

/** The table with the state at each moment. */
const snapshotTable = 'daily_snapshots'

/** The model that passes a relation through. */
export const modelOf = (relation: string): string => `stg_shopsync__${relation}`

/** MetricFlow reserves `day`, `month` and similar names. */
const dimensionName = (column: string): string => (column === 'day' ? 'on_day' : column)

/** A current state without days of its own counts as of today. */
const today = { name: 'as_of', type: 'time', expr: 'current_date', type_params: { time_granularity: 'day' } }

const timeDimension = ({ name, description }: DictionaryColumn) => ({
  name: dimensionName(name),
  type: 'time',
  expr: dimensionName(name) !== name ? name : undefined,
  description,
  type_params: { time_granularity: 'day' },
})

const dimension = ({ name, description }: DictionaryColumn) => ({ name, type: 'categorical', description })

/** What a column refers to, in the word other columns use for the same thing: `shop` for `shop_key`. */
const entityName = (column: string): string => column.replace(/_(key|id)$/, '')

/**
 * Only entities that the figures may be grouped by: an order's technician may not have done its labor, and MetricFlow would
 * split hours by that one, too.
 */
function foreignEntities({ columns }: DictionaryTable, by: ReadonlySet<string>): object[] {
  const own = new Set(columns.map(({ name }) => name))
  const named = columns
    .filter(({ references = '' }) => references.startsWith('dim_'))
    .filter(({ name }) => name === 'tenant_id' || name === 'shop_key' || by.has(name))
    .map(({ name }) => ({ name: entityName(name), type: 'foreign', expr: name }))
  if (own.has('shop_key') || !own.has('shop_id')) return named
  const tenant = { name: 'tenant', type: 'foreign', expr: 'tenant_id' }
  return [tenant, { name: 'shop', type: 'foreign', expr: "tenant_id || '-' || shop_id" }]
}

/** A measure with the figure's condition included, as an aggregate and its argument. */
function measured(
  measure: Measure,
  where: string | undefined,
): { readonly agg: string; readonly expr: string } {
  const within = (value: string): string =>
    where === undefined ? value : `case when ${where} then ${value} end`
  if ('sum' in measure) return { agg: 'sum', expr: within(measure.sum) }
  if ('distinct' in measure) return { agg: 'count_distinct', expr: within(measure.distinct) }
  return { agg: 'count', expr: `case when ${bothConditions(where, measure.count)} then 1 end` }
}

/** A measure and its metric. */
interface Part {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly measure: Measure
}

/** What MetricFlow has to sum or count for a figure: its value or its two halves, and what it leaves out. */
function partsOf(figure: DeclaredFigure): Part[] {
  const { name, label, doc, numerator, denominator, leavesOut } = figure
  const left: Part[] = leavesOut
    ? [
        {
          name: `${name}_left_out`,
          label: `${label}: left out`,
          description: `Left out: ${leavesOut.what}.`,
          measure: leftOutMeasure(leavesOut),
        },
      ]
    : []
  if (!denominator) return [{ name, label, description: doc, measure: numerator }, ...left]
  const half = (part: string, measure: Measure): Part => ({
    name: `${name}_${part}`,
    label: `${label}: ${part}`,
    description: `The ${part} of the ratio.`,
    measure,
  })
  return [half('numerator', numerator), half('denominator', denominator), ...left]
}

const measureName = (part: string): string => `${part}_measure`

/** The figures that MetricFlow gets from the relation itself; the others come from the snapshots. */
const isAsked = (figure: DeclaredFigure): boolean => figure.snapshot === undefined

/** Groups a relation's figures by their day column: no figure may be grouped by another one's. */
function byDay(figures: readonly DeclaredFigure[]): DeclaredFigure[][] {
  const days = [...new Set(figures.map(({ day }) => day))]
  return days.map((day) => figures.filter((figure) => figure.day === day)).sort((a, b) => b.length - a.length)
}

function factModel(table: DictionaryTable, figures: readonly DeclaredFigure[], name: string): object {
  const by = new Set(figures.flatMap((figure) => figure.by as readonly string[]))
  const isLabel = ({ name, kind }: DictionaryColumn): boolean =>
    by.has(name) && !name.endsWith('_key') && (kind === 'text' || kind === 'boolean')
  const cut = new Set<string | undefined>(figures.map(({ day }) => day))
  const days = table.columns.filter(({ name }) => cut.has(name))
  const timeOf = ({ day }: DeclaredFigure): string => (day === undefined ? today.name : dimensionName(day))
  return {
    name,
    description: `${table.description} Grain: ${table.grain}.`,
    model: `ref('${modelOf(table.name)}')`,
    primary_entity: `${name}_row`,
    entities: foreignEntities(table, by),
    dimensions: [
      ...days.map(timeDimension),
      ...(figures.some(isMoment) ? [today] : []),
      ...table.columns.filter(isLabel).map(dimension),
    ],
    measures: figures.flatMap((figure) =>
      partsOf(figure).map(({ name, measure }) => ({
        name: measureName(name),
        ...measured(measure, figure.where),
        agg_time_dimension: timeOf(figure),
      })),
    ),
  }
}

/** Entities that are referred to under several names, such as technician and advisor. */
const otherNames: Readonly<Record<string, readonly string[]>> = { staff: ['technician', 'advisor'] }

function dimensionModel(table: DictionaryTable): object {
  const key = table.name === 'dim_tenants' ? 'tenant_id' : (table.key[0] ?? '')
  const name = entityName(key)
  return {
    name: table.name,
    description: table.description,
    model: `ref('${modelOf(table.name)}')`,
    entities: [
      { name, type: 'primary', expr: key },
      ...(otherNames[name] ?? []).map((other) => ({ name: other, type: 'unique', expr: key })),
    ],
    dimensions: [
      ...table.columns.filter(({ kind }) => kind === 'day').map(timeDimension),
      ...table.columns
        .filter(({ name: own, kind }) => (kind === 'text' || kind === 'boolean') && !own.endsWith('_key'))
        .map(dimension),
    ],
  }
}

/** Each shop's last snapshot among the selected days counts. */
function snapshotModel(table: DictionaryTable, figures: readonly DeclaredFigure[]): object {
  return {
    name: table.name,
    description: table.description,
    model: `ref('${modelOf(table.name)}')`,
    defaults: { agg_time_dimension: 'on_day' },
    primary_entity: `${table.name}_row`,
    entities: foreignEntities(table, new Set()),
    dimensions: table.columns.filter(({ kind }) => kind === 'day').map(timeDimension),
    measures: figures.map(({ name, snapshot }) => ({
      name: measureName(name),
      agg: 'sum',
      expr: snapshot,
      non_additive_dimension: { name: 'on_day', window_choice: 'max', window_groupings: ['shop'] },
    })),
  }
}

const kept = (figures: readonly DeclaredFigure[]): DeclaredFigure[] =>
  figures.filter((figure) => !isAsked(figure))

export function semanticModels(
  tables: readonly DictionaryTable[],
  figures: readonly DeclaredFigure[],
): object[] {
  const asked = figures.filter(isAsked)
  return tables.flatMap((table) => {
    const own = asked.filter(({ relation }) => relation.name === table.name)
    if (own.length > 0)
      return byDay(own).map((some, i) =>
        factModel(table, some, i === 0 ? table.name : `${table.name}_by_${some[0]?.day ?? today.name}`),
      )
    if (table.name === snapshotTable) return [snapshotModel(table, kept(figures))]
    return table.name.startsWith('dim_') && table.name !== 'dim_days' ? [dimensionModel(table)] : []
  })
}

const simple = ({ name, label, description }: Omit<Part, 'measure'>, unit: string | undefined) => ({
  name,
  label,
  description,
  type: 'simple',
  type_params: { measure: measureName(name) },
  config: unit !== undefined ? { meta: { unit } } : undefined,
})

/** A half's own unit, which isn't that of its ratio. A column's name says it; undefined: it doesn't. */
const unitOf = (measure: Measure): string | undefined =>
  'sum' in measure ? /_?(cents|hours|minutes)\b/.exec(measure.sum)?.[1] : 'count'

/** A share is a number from 0 to 1, as MetricFlow divides; other units are converted. */
function ratio({ name, label, doc, unit }: DeclaredFigure): object {
  const [above, below] = [`${name}_numerator`, `${name}_denominator`]
  const factor = unitFactor[unit] ?? 1
  if (factor >= 1)
    return {
      name,
      label,
      description: factor === 100 ? `${doc} A share: 0.25 is 25 percent.` : doc,
      type: 'ratio',
      type_params: { numerator: above, denominator: below },
      config: { meta: { unit: factor === 100 ? 'share' : unit } },
    }
  return {
    name,
    label,
    description: doc,
    type: 'derived',
    type_params: {
      expr: `1.0 * ${above} / nullif(${Math.round(1 / factor)} * ${below}, 0)`,
      metrics: [{ name: above }, { name: below }],
    },
    config: { meta: { unit } },
  }
}

export function dbtMetrics(figures: readonly DeclaredFigure[]): object[] {
  return figures.flatMap((figure) => {
    const { name, label, doc, unit } = figure
    if (!isAsked(figure))
      return [simple({ name, label, description: `${doc} As of the last snapshot.` }, unit)]
    const parts = partsOf(figure).map((part) =>
      simple(part, part.name === name ? unit : unitOf(part.measure)),
    )
    return isRatio(figure) ? [...parts, ratio(figure)] : parts
  })
}
