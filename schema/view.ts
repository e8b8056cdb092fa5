/**
 * The vocabulary of views: the relations that people and BI tools read. One file of schema/views/ declares one view;
 * schema/registry.mjs finds the file. This file does nothing: src/features/analytics/viewwords.ts makes the
 * SQL of each database from a declaration, and the dictionary shows it.
 *
 * How to add a view:
 *
 * 1. A file of its own in schema/views/: `export default defineView({ name: 'NAME', doc, grain, columns, example, build })`, then
 *    `npm run build`. schema/views/orders.ts is the model.
 * 2. `columns`: every column with `col.KIND('what it says, as a sentence.')`, in the order in which people see them; the
 *    day that one groups by before other days. Later versions only append columns. No column is named `at`. A column that no row
 *    lacks is a `col.KIND.always('…')`, the key of a row a `col.KIND.unique('…')`; test/features/analytics/nulls.test.ts
 *    holds all three kinds to it.
 * 3. `build: (q) => ({ with, select, from })`: `select` has one expression for each column; `from` is all the rest, from
 *    the table on: joins, `where`, `group by`. Several queries in a list are joined by `union all`. Tables stand in
 *    braces and have an alias: `{repair_orders} o`. A `select` must not refer to another view.
 * 4. No expression needs a cast for its type: every one that is no plain column of a table is cast to its column's kind.
 *    Write instants as the tables hold them, the view shows them as each database likes it; a `col.day` must come from a
 *    column that holds days (a table's, or `q.day`), through subqueries at most: no `case`, no `min`, no cast.
 * 5. Two databases, and a third one (DuckDB) that reads SQLite's text, have to understand one SQL: joins on tenant_id and
 *    id, `left join`, `case`, `coalesce`, `->>`, window functions; whole-number division by `q.quotient`; casts to
 *    `bigint`, `double precision` and `text`. No function of dates, no `iif`, `julianday`, `total`, `max(a, b)`. What
 *    differs is a word of `ViewWords`.
 * 6. Live rows only (`o._deleted_at is null`); children have no such column: join their owner. Joins name tenant_id.
 */
import type { Int64 } from './resource.js'

/** The meaning of a view's column. `hours`: exact to nine decimals, below 10^9, else null; quantities too. */
export type ViewKind =
  | 'id'
  | 'integer'
  | 'cents'
  | 'hours'
  | 'number'
  | 'boolean'
  | 'text'
  | 'timestamp'
  | 'day'

/** One column of a view. */
export interface ViewColumn<K extends ViewKind = ViewKind> {
  readonly kind: K
  readonly doc: string
  /** What one of it is where the kind does not say so, such as `minutes`, `days`, `units`. */
  readonly unit?: string
  /** The view whose column of the same name this one points to, such as `dim_shops` for `shop_key`. */
  readonly references?: string
  /** No row lacks it, whatever the API sends. */
  readonly isAlways?: boolean
  /** No two rows have the same: what other relations point to. */
  readonly isUnique?: boolean
}

/** One query of a view. `C`: the names of its columns. */
export interface ViewQuery<C extends string = string> {
  /** Common table expressions without the word `with`: `name as (select …)`, joined by commas. */
  readonly with?: string
  /** An expression for each column. */
  readonly select: Readonly<Record<C, string>>
  /** From the first table on, without the word `from`. */
  readonly from: string
}

/** A day as an expression, and what it wants joined; the join may be empty. */
export interface JoinedDay {
  readonly day: string
  readonly join: string
}

/**
 * What the SQL of a view says differently from database to database, or from configuration to configuration. Arguments
 * and results are SQL expressions; instants are as the tables hold them.
 */
export interface ViewWords {
  /** This instant, the same in the whole query. */
  readonly now: string
  /** The text key `TENANT-ID`, or `TENANT-OWNER-ID` of what is unique within its record only; null where an id is. */
  key(tenant: string, ...ids: readonly string[]): string
  /**
   * The name of a record, as `report.names` says; `shop 3` where there is none, null where the id is null. `alias`: of
   * the record's row, left joined: `q.name('shops', 's', 'o.shop_id')`.
   */
  name(resource: string, alias: string, id: string): string
  /** The name of a tenant, as `report.tenantNames` says; else `tenant 101`. */
  tenantName(tenant: string): string
  /** A query of all ids of a resource that any row names, as tenant_id and id: those of its own table, and those that others refer to. */
  ids(resource: string): string
  /** Those of the resources that the configuration does not switch off. */
  enabled(resources: readonly string[]): string[]
  /** How many rows of a resource's table exist at the source. */
  liveRows(tenant: string, resource: string): string
  /** A field that the API's document does not show, as text: from its column or `_extra`, null where neither has it. */
  field(resource: string, alias: string, field: string): string
  /** The time zone of a shop; that of `report.timeZone` where the shop is null. */
  zone(tenant: string, shop: string): string
  /** The day of an instant in a zone; null outside of the calendar. */
  day(zone: string, instant: string): string
  /**
   * The same of each row of a table, in the zone of the row's shop: an expression, and a join that goes behind the
   * others under an alias of its own. `const made = q.shopDay('d', 'p.tenant_id', 'p.shop_id', 'p.created_at')`.
   */
  shopDay(alias: string, tenant: string, shop: string, instant: string): JoinedDay
  /** The number of a day: the difference of two such numbers is their distance in days. */
  dayNumber(day: string): string
  /** The month of a day, as the text `YYYY-MM`. */
  month(day: string): string
  /** A day as text, `YYYY-MM-DD`, whatever the reader's settings are. */
  dayText(day: string): string
  /** Whole minutes from one instant to another, rounded down. */
  minutes(from: string, to: string): string
  /** A number with its nine decimals as a whole number, half away from zero; null where it is absurd, as in `amount`. */
  nine(number: string): string
  /** The sum of `nine` over the rows of a group, exactly; never null but where the sum itself is absurd. */
  sumNine(number: string): string
  /** The number that a whole number of `nine` or `sumNine` stands for. */
  fromNine(whole: string): string
  /** A whole number divided by another, rounded towards zero. */
  quotient(dividend: string, divisor: string): string
  /**
   * What a number of units at so many cents comes to: whole cents, half away from zero, by the nine-decimal rule. Null
   * where either is null, or absurd (10^9 units and more, 9 × 10^9 cents and more).
   */
  amount(units: string, cents: string): string
  /**
   * Whole numbers: `part` of `whole` times `cents`, rounded half away from zero; 0 where `whole` is 0. Beyond 9 × 10^15
   * either way it stays there, so that sums of it fit.
   */
  prorate(cents: string, part: string, whole: string): string
}

type Columns = Readonly<Record<string, ViewColumn>>

/** One view, as one file of schema/views/ declares it. */
export interface View<N extends string = string, C extends Columns = Columns> {
  readonly name: N
  readonly doc: string
  /** What one row stands for. */
  readonly grain: string
  readonly columns: C
  /** A query to begin with, over this view alone or joined by keys, in SQL that both databases understand. */
  readonly example: string
  build(q: ViewWords): ViewQuery<keyof C & string> | readonly ViewQuery<keyof C & string>[]
}

export const defineView = <const N extends string, const C extends Columns>(view: View<N, C>): View<N, C> =>
  view

/** Columns that are taken as they are: `...takes('t', 'number', 'state')` for `number: 't.number', state: 't.state'`. */
export const takes = <const N extends string>(alias: string, ...names: readonly N[]): Record<N, string> =>
  Object.fromEntries(names.map((name) => [name, `${alias}.${name}`])) as Record<N, string>

type More = Partial<Pick<ViewColumn, 'unit' | 'references'>>

const always = { isAlways: true } as const
const unique = { ...always, isUnique: true } as const

function of<const K extends ViewKind>(kind: K, unit?: string) {
  const make = (doc: string, more: More = {}) => ({ kind, doc, ...(unit !== undefined && { unit }), ...more })
  return Object.assign((doc: string, more?: More): ViewColumn<K> => make(doc, more), {
    always: (doc: string, more?: More) => ({ ...make(doc, more), ...always }),
    unique: (doc: string, more?: More) => ({ ...make(doc, more), ...unique }),
  })
}

const key = (references: string, doc: string) => ({ kind: 'text' as const, doc, references })

/**
 * Makes columns. `col.KIND.always(…)` makes one that is never null, whatever the API sends; `col.KIND.unique(…)` one that
 * no two rows share either.
 */
export const col = {
  id: of('id'),
  integer: of('integer'),
  /** How many. */
  count: of('integer'),
  minutes: of('integer', 'minutes'),
  days: of('integer', 'days'),
  cents: of('cents'),
  hours: of('hours', 'hours'),
  quantity: of('hours', 'units'),
  number: of('number'),
  boolean: of('boolean'),
  text: of('text'),
  timestamp: of('timestamp'),
  day: of('day'),
  /** A text key `TENANT-ID` that points to the view of that name. */
  key: Object.assign(key, {
    always: (references: string, doc: string) => ({ ...key(references, doc), ...always }),
    unique: (references: string, doc: string) => ({ ...key(references, doc), ...unique }),
  }),
}

/** The columns that most views have. */
export const common = {
  tenant_id: col.id.always('The tenant (repair business).', { references: 'dim_tenants' }),
  tenant_name: col.text.always('Name of the tenant, from report.tenantNames; otherwise `tenant 101`.'),
  shop_id: col.id('The shop.'),
  shop_key: col.key('dim_shops', 'Key of the shop: TENANT-ID.'),
  shop_name: col.text('Name of the shop, from report.names; otherwise `shop 3`.'),
} as const

/* The rows of views, computed from the declarations: by them Kysely knows the views. */

interface ViewValue {
  id: Int64
  integer: Int64
  cents: Int64
  hours: number
  number: number
  /** SQLite: 0 or 1. */
  boolean: boolean
  text: string
  /** Postgres: canonical; SQLite: `YYYY-MM-DD HH:MM:SS.ffffff`. */
  timestamp: string
  day: string
}

/** The row of one view. */
export type RowOfView<V> =
  V extends View<string, infer C>
    ? { [K in keyof C]: C[K] extends ViewColumn<infer T> ? ViewValue[T] | null : never }
    : never
