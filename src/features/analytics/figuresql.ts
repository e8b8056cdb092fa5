/**
 * Queries the warehouse for declared figures: what the report shows. A figure's SQL is one expression over its view, so
 * the report, the dictionary's examples and BI tools ask the same question.
 */
import { type AliasedRawBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import {
  aggregateOf,
  type DeclaredFigure,
  knownMeasure,
  leftOutMeasure,
  unitFactor,
} from '../../../schema/figure.js'
import type { Int64 } from '../../../schema/resource.js'
import type { ViewRows } from '../../../schema/views/index.js'

/** A figure's value; null if nothing is known of it. */
export interface FigureValue {
  readonly numerator: number | null
  /** null if the figure has none, or nothing is known of it. */
  readonly denominator: number | null
  /** How many rows it leaves out. */
  readonly leftOut: number
}

/** The figures of one group: its group keys, and each figure by name. */
export interface FigureRow {
  readonly keys: Readonly<Record<string, string | null>>
  readonly values: ReadonlyMap<string, FigureValue>
}

/** Which rows to query. Days are `YYYY-MM-DD`; they don't apply to figures that describe the current state. */
export interface FigureQuestion {
  /** Columns of the figures' views; `month` is the month of the figure's day, `YYYY-MM`. */
  readonly by: readonly string[]
  /** null: all tenants. */
  readonly tenants: readonly Int64[] | null
  /** Keys of shops that are left out; if there are any, rows without a shop are, too. */
  readonly exceptShops?: readonly string[]
  /** The first day. */
  readonly from?: string
  /** The day after the last one. */
  readonly to?: string
}

/** The views, and how the database's SQL writes the month of a day column as text. */
interface FigureSource {
  readonly db: Kysely<ViewRows>
  month(column: string): RawBuilder<string | null>
}

/** A figure's expressions over the rows of its view, as SQL for people to read. */
function figureExpressions({ numerator, denominator, leavesOut }: DeclaredFigure): {
  readonly numerator: string
  readonly denominator: string | null
  readonly leftOut: string | null
} {
  return {
    numerator: aggregateOf(numerator),
    denominator: denominator ? aggregateOf(denominator) : null,
    leftOut: leavesOut ? aggregateOf(leftOutMeasure(leavesOut)) : null,
  }
}

/** A figure in its unit; null if it is unknown or divides by zero. */
export function figureNumber(
  { unit, denominator }: DeclaredFigure,
  value: FigureValue | undefined,
): number | null {
  if (value === undefined || value.numerator === null) return null
  if (!denominator) return value.numerator
  if (value.denominator === null || value.denominator === 0) return null
  return (value.numerator / value.denominator) * (unitFactor[unit] ?? 1)
}

const noValue: FigureValue = { numerator: null, denominator: null, leftOut: 0 }

/** The sum of two groups, for figures that add up over what the groups differ in. */
export function addedValues(one: FigureValue | undefined, other: FigureValue | undefined): FigureValue {
  if (!one || !other) return one ?? other ?? noValue
  const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b)
  return {
    numerator: add(one.numerator, other.numerator),
    denominator: add(one.denominator, other.denominator),
    leftOut: one.leftOut + other.leftOut,
  }
}

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value))

const legOf = ({ relation, where, day }: DeclaredFigure): string =>
  JSON.stringify([relation.name, where, day])

function selections(figure: DeclaredFigure): AliasedRawBuilder<unknown, string>[] {
  const { name } = figure
  const { numerator, denominator, leftOut } = figureExpressions(figure)
  const known = aggregateOf(knownMeasure(figure))
  const left = leftOut === null ? '0' : `coalesce(${leftOut}, 0)`
  const value = `case when ${known} > 0 or ${left} = 0 then coalesce(${numerator}, 0) end`
  const below = denominator === null ? 'null' : `coalesce(${denominator}, 0)`
  return [sql.raw(value).as(`${name}_n`), sql.raw(below).as(`${name}_d`), sql.raw(left).as(`${name}_l`)]
}

/** Queries figures that share a view, a condition and a day, in one statement. */
async function askLeg(
  { db, month }: FigureSource,
  figures: readonly DeclaredFigure[],
  { by, tenants, exceptShops = [], from, to }: FigureQuestion,
): Promise<Readonly<Record<string, unknown>>[]> {
  const [first] = figures
  if (first === undefined) return []
  const { relation, where, day } = first
  const groups = by.map((name) =>
    name === 'month' && day !== undefined ? month(day) : sql.ref<unknown>(name),
  )
  // As literals: databases limit the values of a statement, and a new installation asks for every tenant it has.
  const ids = tenants?.map((tenantId) => sql.lit(tenantId))
  const conditions = [
    ...(where === undefined ? [] : [sql<boolean>`(${sql.raw(where)})`]),
    ...(ids === undefined ? [] : [sql<boolean>`tenant_id in (${sql.join(ids)})`]),
    ...(exceptShops.length === 0 ? [] : [sql<boolean>`shop_key not in (${sql.join(exceptShops)})`]),
    ...(day === undefined || from === undefined ? [] : [sql<boolean>`${sql.ref(day)} >= ${from}`]),
    ...(day === undefined || to === undefined ? [] : [sql<boolean>`${sql.ref(day)} < ${to}`]),
  ]
  const keys = groups.map((group, i) => group.as(by[i] ?? ''))
  // Through the builder, which knows the schema that the views are in.
  const views = db as unknown as Kysely<Record<string, Record<string, unknown>>>
  let query = views.selectFrom(relation.name).select([...keys, ...figures.flatMap(selections)])
  for (const condition of conditions) query = query.where(condition)
  if (groups.length > 0) query = query.groupBy(groups)
  return query.execute()
}

const keyText = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)

/**
 * The figures by group. If a figure has no rows in a group, it is missing from the group's `values`: nothing happened
 * there. Each of `by` has to be a column of all their views, or `month`.
 */
export async function askFigures(
  source: FigureSource,
  figures: readonly DeclaredFigure[],
  question: FigureQuestion,
): Promise<FigureRow[]> {
  const legs = new Map<string, DeclaredFigure[]>()
  for (const figure of figures) legs.set(legOf(figure), [...(legs.get(legOf(figure)) ?? []), figure])
  const groups = new Map<string, { keys: FigureRow['keys']; values: Map<string, FigureValue> }>()
  for (const leg of legs.values())
    for (const row of await askLeg(source, leg, question)) {
      const keys = Object.fromEntries(question.by.map((name) => [name, keyText(row[name])]))
      const id = JSON.stringify(Object.values(keys))
      const group = groups.get(id) ?? { keys, values: new Map<string, FigureValue>() }
      groups.set(id, group)
      for (const { name } of leg)
        group.values.set(name, {
          numerator: numberOrNull(row[`${name}_n`]),
          denominator: numberOrNull(row[`${name}_d`]),
          leftOut: Number(row[`${name}_l`] ?? 0),
        })
    }
  return [...groups.values()]
}
