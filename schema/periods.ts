/**
 * The figures of each shop, by day or by month, as one query: what the views shop_days and shop_months show. Figures
 * that share a view, a condition and a day are one leg, grouped by shop and period. The legs are stacked and grouped
 * again, so that a condition on the tenant or shop reaches the tables of every leg. A leg uses its view's query with
 * only the columns it needs. It isn't a view over a view, whose relations would have no types.
 */
import {
  addsUp,
  aggregateOf,
  type DeclaredFigure,
  isMoment,
  knownMeasure,
  leftOutMeasure,
  type Measure,
} from './figure.js'
import { col, type View, type ViewColumn, type ViewQuery, type ViewWords } from './view.js'

/** A column of shop_days or shop_months, and its expression over the stacked legs. */
interface PeriodColumn {
  readonly name: string
  readonly column: ViewColumn
  readonly sql: string
}

/** The names in an expression, outside of its string literals. */
export const namesIn = (expression: string): string[] =>
  expression.replaceAll(/'[^']*'/g, "''").match(/\b[a-z_][a-z0-9_]*\b/g) ?? []

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

/** The parts of what follows `from`: each join, and the conditions. Those in parentheses stay in their part. */
function partsOf(from: string): string[] {
  const parts: string[] = []
  let [depth, begin] = [0, 0]
  for (const { 0: found, index } of from.matchAll(/[()]|\b(?:left join|(?<!left )join|where|group by)\b/g)) {
    if (found === '(') depth += 1
    else if (found === ')') depth -= 1
    else if (depth === 0) {
      parts.push(from.slice(begin, index))
      begin = index
    }
  }
  return [...parts, from.slice(begin)]
}

/**
 * A table that is left joined by its key, as views join names: it adds no row, and can be dropped if nothing refers to
 * it.
 */
const namedTable = /^left join \{\w+\} (\w+) on /

/** SQLite would execute such joins. */
function withoutUnused(from: string, select: string): string {
  const parts = partsOf(from)
  const isUsed = (part: string, at: number): boolean => {
    const [, alias] = namedTable.exec(part) ?? []
    const others = [select, ...parts.slice(0, at), ...parts.slice(at + 1)].join(' ')
    return alias === undefined || new RegExp(`\\b${alias}\\.`).test(others)
  }
  return parts.filter(isUsed).join('')
}

const named = (sql: string, name: string): string =>
  /^\w+\.(\w+)$/.exec(sql)?.[1] === name ? sql : `${sql} as ${name}`

/** The query of a view with only the named columns. */
function selectedFrom(view: View, q: ViewWords, columns: readonly string[]): string {
  const built = view.build(q)
  const legs = isList(built) ? built : [built]
  const text = legs.map(({ select, from }) => {
    const list = columns.map((name) => named(select[name] ?? 'null', name)).join(', ')
    return `select ${list} from ${withoutUnused(from, list)}`
  })
  const tables = legs.flatMap((leg) => leg.with ?? []).join(', ')
  return `${tables === '' ? '' : `with ${tables} `}${text.join(' union all ')}`
}

/** The measures of a leg by name. Hours are summed as whole billionths, which is exact in both databases. */
type Measures = Map<string, string>

interface Leg {
  readonly figures: DeclaredFigure[]
  readonly first: DeclaredFigure
  readonly measures: Measures
}

/** The SQL of a measure: for a group of rows, or for a single row if the rows are groups. */
function measureSql(q: ViewWords, figure: DeclaredFigure, measure: Measure): string {
  const ofRows = isOfGroups(figure.relation, q)
  if ('sum' in measure && isHours(figure, measure)) return (ofRows ? q.nine : q.sumNine)(measure.sum)
  if (!ofRows) return aggregateOf(measure)
  return 'sum' in measure ? measure.sum : countedIn(Object.values(measure).join(''))
}

const countedIn = (condition: string): string => `case when ${condition} then 1 end`

/** Whether it is a sum of hours: then every column in it is. */
function isHours({ relation }: DeclaredFigure, measure: Measure): boolean {
  if (!('sum' in measure)) return false
  const columns: Readonly<Record<string, ViewColumn>> = relation.columns
  const kinds = namesIn(measure.sum).flatMap((name) => columns[name]?.kind ?? [])
  return kinds.includes('hours')
}

const legKey = ({ relation, where, day }: DeclaredFigure): string =>
  JSON.stringify([relation.name, where, day])

type Part = 'n' | 'd' | 'known' | 'left'
type ColumnOf = (figure: DeclaredFigure, part: Part) => string

/** A sum of cents or minutes is null if none of its rows is known. One of hours is 0, and a count always is. */
const isNullIfUnknown = (figure: DeclaredFigure): boolean =>
  'sum' in figure.numerator && !isHours(figure, figure.numerator)

function measuresOf(figure: DeclaredFigure): (readonly [Part, Measure])[] {
  const { numerator, denominator, leavesOut } = figure
  return [
    ['n', numerator],
    ...(denominator ? [['d', denominator] as const] : []),
    ...(leavesOut && !isNullIfUnknown(figure) ? [['known', knownMeasure(figure)] as const] : []),
    ...(leavesOut ? [['left', leftOutMeasure(leavesOut)] as const] : []),
  ]
}

/** The stacked column of each part of a figure. Figures of one leg with the same measure share it: columns take time. */
function stackedColumns(figures: readonly DeclaredFigure[]): ColumnOf {
  const byMeasure = new Map<string, string>()
  const byPart = new Map<string, string>()
  for (const figure of figures)
    for (const [part, measure] of measuresOf(figure)) {
      const own = `${figure.name}_${part}`
      const key = `${legKey(figure)} ${JSON.stringify(measure)}`
      const column = byMeasure.get(key) ?? own
      byMeasure.set(key, column)
      byPart.set(own, column)
    }
  return ({ name }, part) => byPart.get(`${name}_${part}`) ?? ''
}

function legsOf(q: ViewWords, figures: readonly DeclaredFigure[]): Leg[] {
  const legs = new Map<string, Leg>()
  const columnOf = stackedColumns(figures)
  for (const figure of figures) {
    const key = legKey(figure)
    const leg: Leg = legs.get(key) ?? { figures: [], first: figure, measures: new Map() }
    legs.set(key, leg)
    leg.figures.push(figure)
    for (const [part, measure] of measuresOf(figure))
      leg.measures.set(columnOf(figure, part), measureSql(q, figure, measure))
  }
  return [...legs.values()]
}

/** The columns of the view that a leg needs, in declaration order. */
function columnsNeeded({ figures, first }: Leg): string[] {
  const measures = figures.flatMap(({ numerator, denominator, leavesOut, where = '' }) => [
    ...[numerator, denominator, leavesOut && leftOutMeasure(leavesOut)].flatMap((measure) =>
      measure ? namesIn(Object.values(measure).join(' ')) : [],
    ),
    ...namesIn(where),
  ])
  const named = new Set(['tenant_id', 'shop_id', first.day ?? '', ...measures])
  return Object.keys(first.relation.columns).filter((name) => named.has(name))
}

/** Each measure of each figure asks, and the answer takes a whole query. */
const grouped = new WeakMap<ViewWords, Map<View, boolean>>()

/**
 * Whether the rows of a view are groups themselves: there are few of them, and a group of groups hides them from
 * conditions.
 */
function isOfGroups(view: View, q: ViewWords): boolean {
  const known = grouped.get(q) ?? new Map<View, boolean>()
  grouped.set(q, known)
  const found = known.get(view)
  if (found !== undefined) return found
  const built = view.build(q)
  const isGrouped = !isList(built) && /\bgroup by\b/.test(partsOf(built.from)[0] ?? '')
  known.set(view, isGrouped)
  return isGrouped
}

function legText(q: ViewWords, leg: Leg, period: (day: string) => string): string {
  const { relation, day = '', where } = leg.first
  const group = ['tenant_id', 'shop_id', period(day)]
  const measures = [...leg.measures].map(([name, sql]) => `${sql} as ${name}`)
  const list = [`${group.join(', ')} as period`, ...measures].join(', ')
  const from = `from (${selectedFrom(relation, q, columnsNeeded(leg))}) v${where === undefined ? '' : ` where ${where}`}`
  return `select ${list} ${from}${isOfGroups(relation, q) ? '' : ` group by ${group.join(', ')}`}`
}

/** An additional leg of the stack: its expressions, by stacked column name, and the rest of its query. */
export interface PlainLeg {
  readonly select: Readonly<Record<string, string>>
  readonly from: string
  /** Whether its columns show up in no figure: then they give a shop no rows. */
  readonly isAside?: boolean | undefined
}

const keys = ['tenant_id', 'shop_id', 'period']

/**
 * The stacked legs, summed by tenant, shop and period in the first row of each (`place` is 1). `period` turns a day
 * into the text or day to group by. The columns are the measures, by name; `has_value` is above 0 if one of them isn't 0.
 */
export function stacked(
  q: ViewWords,
  figures: readonly DeclaredFigure[],
  period: (day: string) => string,
  plain: readonly PlainLeg[] = [],
): string {
  const legs = legsOf(q, figures)
  const columns = [
    ...legs.flatMap(({ measures }) => [...measures.keys()]),
    ...plain.flatMap(({ select }) => Object.keys(select)),
  ]
  const names = [...new Set(columns)].filter((name) => !keys.includes(name))
  // The first leg names the columns of all. Every client of a SQLite file parses the texts of all views when it opens it.
  const padded = (own: ReadonlySet<string>, isFirst: boolean): string =>
    names
      .map((name) => q.summand(own.has(name) ? name : undefined) + (isFirst ? ` as ${name}` : ''))
      .join(', ')
  const queries = [
    ...legs.map((leg) => ({
      text: legText(q, leg, period),
      own: [...leg.measures.keys()],
      isAside: false,
    })),
    ...plain.map(({ select, from, isAside = false }) => ({
      text: `select ${Object.entries(select)
        .map(([name, sql]) => `${sql} as ${name}`)
        .join(', ')} from ${from}`,
      own: Object.keys(select).filter((name) => !keys.includes(name)),
      isAside,
    })),
  ]
  const stack = queries.map(({ text, own, isAside }, i) => {
    const isThere = isAside ? undefined : countedIn(own.map((name) => `${name} <> 0`).join(' or '))
    return `select tenant_id, shop_id, period, ${padded(new Set(own), i === 0)}, ${q.summand(isThere)} as has_value from (${text}) l`
  })
  return q.sums(keys, [...names, 'has_value'], stack.join('\n  union all\n  '))
}

/** Whether the sum's columns are present in every row, so that no part of it is ever unknown. */
function isAlwaysKnown({ relation, numerator }: DeclaredFigure): boolean {
  const columns: Readonly<Record<string, ViewColumn>> = relation.columns
  return 'sum' in numerator && namesIn(numerator.sum).every((name) => columns[name]?.isAlways === true)
}

/** A column of the right kind for a measure's result. It is null only if rows are left out. */
function columnFor(figure: DeclaredFigure, measure: Measure, doc: string): ViewColumn {
  const make = !('sum' in measure)
    ? col.count
    : isHours(figure, measure)
      ? col.hours
      : /minutes/.test(measure.sum)
        ? col.minutes
        : col.cents
  const mayBeNull = isHours(figure, measure) || (figure.leavesOut && !isAlwaysKnown(figure))
  return mayBeNull ? make(doc) : make.always(doc)
}

/** An absurd sum of hours is null although its rows are known: it isn't 0. */
function shownSum(figure: DeclaredFigure, part: Part, of: ColumnOf): string {
  const sum = `x.${of(figure, part)}`
  if (!figure.leavesOut) return `coalesce(${sum}, 0)`
  const isKnown = isNullIfUnknown(figure)
    ? `x.${of(figure, 'n')} is not null`
    : `x.${of(figure, 'known')} > 0`
  return `case when ${isKnown} then ${sum} when x.${of(figure, 'left')} > 0 then null else 0 end`
}

/**
 * The columns of figures in a view by period. A figure that adds up, and a distinct count, has a column of its name; a
 * ratio has its numerator and its denominator; what they leave out is next to them. `isThere`: a condition without which all
 * are 0.
 */
export function periodColumns(
  figures: readonly DeclaredFigure[],
  q: ViewWords | null,
  isThere?: string,
): PeriodColumn[] {
  const shown = (sql: string): string =>
    isThere === undefined ? sql : `case when ${isThere} then ${sql} else 0 end`
  const columnOf = stackedColumns(figures)
  return figures.flatMap((figure): PeriodColumn[] => {
    const { name, doc, numerator, denominator, leavesOut } = figure
    const left: PeriodColumn[] = leavesOut
      ? [
          {
            name: `${name}_left_out`,
            column: col.count.always(`Left out of \`${name}\`: ${leavesOut.what}.`),
            sql: shown(`coalesce(x.${columnOf(figure, 'left')}, 0)`),
          },
        ]
      : []
    const column = (shownName: string, measure: Measure, part: Part, text: string): PeriodColumn => {
      const sum = shown(shownSum(figure, part, columnOf))
      const sql = q !== null && isHours(figure, measure) ? q.fromNine(`(${sum})`) : sum
      return { name: shownName, column: columnFor(figure, measure, text), sql }
    }
    if (!denominator) return [column(name, numerator, 'n', doc), ...left]
    return [
      column(`${name}_numerator`, numerator, 'n', `Numerator of \`${name}\`. ${doc}`),
      column(`${name}_denominator`, denominator, 'd', `Denominator of \`${name}\`.`),
      ...left,
    ]
  })
}

/** A ratio by a distinct count does not add up over days. */
const isRatioOfSums = ({ denominator }: DeclaredFigure): boolean =>
  denominator !== undefined && !('distinct' in denominator)

/** Figures with columns of their own in shop_days: those that add up, and ratios of those. */
export const figuresOfDays = (all: readonly DeclaredFigure[]): DeclaredFigure[] =>
  all.filter(
    (figure) =>
      figure.splits === undefined && (addsUp(figure) || (isRatioOfSums(figure) && !isMoment(figure))),
  )

/** The dated figures of shop_months. Those that describe a moment are in `momentsOf`. */
export const figuresOfMonths = (all: readonly DeclaredFigure[]): DeclaredFigure[] =>
  all.filter((figure) => figure.splits === undefined && !isMoment(figure))

/** Figures that describe a moment and are stored by a snapshot. */
export const momentsOf = (all: readonly DeclaredFigure[]): DeclaredFigure[] =>
  all.filter((figure) => isMoment(figure) && figure.snapshot !== undefined)
