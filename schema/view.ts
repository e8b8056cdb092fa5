/**
 * The vocabulary of views: the relations that people and BI tools read. One file of schema/views/ declares one view;
 * schema/registry.mjs finds the file. This file does nothing itself: src/features/analytics/viewwords.ts makes the SQL
 * of each database from a declaration, and the dictionary shows it.
 *
 * How to add a view:
 *
 * 1. Create its file in schema/views/: `export default defineView({ name: 'NAME', doc, grain, columns, example, build })`.
 *    Then run `npm run build`. schema/views/orders.ts is the model.
 * 2. `columns`: every column with `col.KIND('its meaning, as a sentence.')`, in the order in which people see them; the
 *    day that people group by comes before other days. Later versions only append columns. No column is named `at`. A
 *    column that is never null is a `col.KIND.always('…')`, the key of a row a `col.KIND.unique('…')`;
 *    test/features/analytics/views.test.ts checks all three kinds.
 * 3. `build: (q) => ({ with, select, from })`: `select` has one expression for each column; `from` is all the rest, with
 *    joins, `where` and `group by`. Several queries in a list are joined by `union all`. Tables are in braces and have an
 *    alias: `{repair_orders} o`. A `select` must not refer to another view.
 * 4. No expression needs a cast for its type: every expression that isn't a plain table column is cast to its column's
 *    kind. Write instants as the tables store them; the view shows them as each database likes it. A `col.day` must come
 *    from a column of days (a table's, or `q.day`), at most through subqueries: no `case`, no `min`, no cast.
 * 5. The same SQL has to work in two databases, and in a third one (DuckDB) that reads SQLite's text: joins on tenant_id
 *    and id, `left join`, `case`, `coalesce`, window functions; integer division with `q.quotient`; casts to
 *    `bigint`, `double precision` and `text`. No functions or operators for JSON: what a view needs
 *    of `_extra` is stored in a column. Only what SQLite 3.31 knows: no `as materialized`. No date functions, no `iif`, `julianday`, `total`, `max(a, b)`. Anything
 *    that differs is a word of `ViewWords`.
 * 6. Live rows only (`o._deleted_at is null`); children have no such column: join their owner. Joins include tenant_id.
 */
import type { Int64 } from './resource.js'

/**
 * The meaning of a view's column. `hours` and `quantity` (units of something) are exact to nine decimals, below 10^9,
 * otherwise null.
 */
export type ViewKind =
  | 'id'
  | 'integer'
  | 'cents'
  | 'hours'
  | 'quantity'
  | 'number'
  | 'boolean'
  | 'text'
  | 'timestamp'
  | 'day'

export interface ViewColumn<K extends ViewKind = ViewKind> {
  readonly kind: K
  readonly doc: string
  /** The unit of its values if the kind doesn't determine it, such as `minutes`, `days`, `units`. */
  readonly unit?: string
  /** The view with a column of the same name that this one refers to, such as `dim_shops` for `shop_key`. */
  readonly references?: string
  /** Never null, whatever the API sends. */
  readonly isAlways?: boolean
  /** It says who a person is, or what was written about them: it shows a field that a preset of `personal` hides. */
  readonly personal?: true
  /**
   * The column whose ids it names, if that isn't told by its own name, as `customer_name` does: readers who must not see
   * names see `customer 5`.
   */
  readonly names?: string
  /** For those who run the program: readers of some tenants see null. */
  readonly internal?: true
  /** An instant as the tables hold it, so that it compares with theirs on SQLite too. */
  readonly asStored?: true
  /** No two rows have the same value: other relations refer to it. */
  readonly isUnique?: boolean
}

/** One query of a view. `C`: the names of its columns. */
export interface ViewQuery<C extends string = string> {
  /** Common table expressions without the word `with`: `name as (select …)`, joined by commas. */
  readonly with?: string
  /** An expression for each column. */
  readonly select: Readonly<Record<C, string>>
  /** Everything from the first table on, without the word `from`. */
  readonly from: string
}

/** A day and what a clock shows, as expressions, and the join they need; the join may be empty. */
export interface JoinedDay {
  readonly day: string
  /** `YYYY-MM-DD HH:MM:SS`; null outside the calendar. */
  readonly local: string
  readonly join: string
}

/**
 * The parts of a view's SQL that differ between databases (src/engine/warehouse/views/viewsql.ts). Arguments and results are
 * SQL expressions; instants are in the form that the tables store.
 */
export interface DatabaseWords {
  /** The current instant, the same in the whole query. */
  readonly now: string
  /** The day of an instant in a zone; null outside the calendar. */
  day(zone: string, instant: string): string
  /**
   * The same for each row of a table, in the zone of the row's shop: an expression, and a join that goes after the
   * others, with its own alias. `const made = q.shopDay('d', 'p.tenant_id', 'p.shop_id', 'p.created_at')`.
   */
  shopDay(alias: string, tenant: string, shop: string, instant: string): JoinedDay
  /** The number of a day, in days since 1970-01-01: the difference of two such numbers is their distance in days. */
  dayNumber(day: string): string
  /** A day as text, `YYYY-MM-DD`, whatever the client's settings are. */
  dayText(day: string): string
  /** Whole minutes from one instant to another, rounded down. */
  minutes(from: string, to: string): string
  /**
   * A number with its nine decimals as an integer, rounded half away from zero; null if it is `most` or more: 10^9,
   * unless a lower bound is given. That of one line's hours or units is in lines.ts.
   */
  nine(number: string, most?: number): string
  /** Hours or units of one line, as a column shows them; null if they are `most` or more. */
  units(number: string, most: number): string
  /** The exact sum of `nine` over the rows of a group; null only if the sum itself is absurd. */
  sumNine(number: string, most?: number): string
  /**
   * A value that is added up beside others in a union, or none. All have one type: where the types of its legs differ,
   * Postgres computes each column again for every leg.
   */
  summand(value?: string): string
  /**
   * The sums of a query's columns by its key columns: of each group, the row whose `place` is 1. Conditions on the keys
   * reach the query.
   */
  sums(keys: readonly string[], names: readonly string[], query: string): string
  /**
   * The value of some units at a price in cents: whole cents, rounded half away from zero, by the nine-decimal rule.
   * Null if either is null or absurd (`most` units and more, 9 × 10^9 cents and more).
   */
  amount(units: string, cents: string, most?: number): string
}

/** All parts of a view's SQL that a declaration can't write itself. */
export interface ViewWords extends DatabaseWords {
  /** The text key `TENANT-ID`, or `TENANT-OWNER-ID` if an id is only unique within its record; null if an id is. */
  key(tenant: string, ...ids: readonly string[]): string
  /**
   * The name of a record, according to `report.names`; `shop 3` if there is none, null if the id is null. `alias`: of
   * the record's row, left joined: `q.name('shops', 's', 'o.shop_id')`.
   */
  name(resource: string, alias: string, id: string): string
  /** The name of a tenant, according to `report.tenantNames`; otherwise `tenant 101`. */
  tenantName(tenant: string): string
  /**
   * A query for all ids of a resource that occur in any row, as tenant_id and id: those of its own table, and those
   * that others refer to.
   */
  ids(resource: string): string
  /** Those resources that aren't switched off in the configuration. */
  enabled(resources: readonly string[]): string[]
  /** How many rows of a resource's table exist at the source. */
  liveRows(tenant: string, resource: string): string
  /** The time zone of a shop; `report.timeZone` if the shop is null. */
  zone(tenant: string, shop: string): string
  /** The month of a day, as the text `YYYY-MM`. */
  month(day: string): string
  /** Converts an integer of `nine` or `sumNine` back to its number. */
  fromNine(whole: string): string
  /** An integer divided by another, rounded towards zero. */
  quotient(dividend: string, divisor: string): string
}

type Columns = Readonly<Record<string, ViewColumn>>

/** One view, as declared in a file of schema/views/. */
export interface View<N extends string = string, C extends Columns = Columns> {
  readonly name: N
  readonly doc: string
  /** What one row represents. */
  readonly grain: string
  readonly columns: C
  /** It says nothing about any tenant: readers of some tenants see it whole. */
  readonly isForAll?: true
  /** A query to start with, over this view only or joined by keys, in SQL that works in both databases. */
  readonly example: string
  build(q: ViewWords): ViewQuery<keyof C & string> | readonly ViewQuery<keyof C & string>[]
}

export const defineView = <const N extends string, const C extends Columns>(view: View<N, C>): View<N, C> =>
  view

/** Columns taken as they are: `...takes('t', 'number', 'state')` for `number: 't.number', state: 't.state'`. */
export const takes = <const N extends string>(alias: string, ...names: readonly N[]): Record<N, string> =>
  Object.fromEntries(names.map((name) => [name, `${alias}.${name}`])) as Record<N, string>

const summable: readonly string[] = ['cents', 'hours', 'integer']

/** Whether a sum of such values means something: not that of prices, nor of running totals. */
export const isSummable = ({ kind, unit = '' }: { readonly kind: string; readonly unit?: string }): boolean =>
  summable.includes(kind) && !/^cents ./.test(unit)

type More = Partial<Pick<ViewColumn, 'unit' | 'references' | 'personal' | 'names' | 'internal' | 'asStored'>>

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
 * Makes columns. `col.KIND.always(…)` makes one that is never null, whatever the API sends; `col.KIND.unique(…)` one
 * that is also different in every row.
 */
export const col = {
  id: of('id'),
  integer: of('integer'),
  count: of('integer'),
  minutes: of('integer', 'minutes'),
  days: of('integer', 'days'),
  cents: of('cents'),
  hours: of('hours', 'hours'),
  quantity: of('quantity', 'units'),
  number: of('number'),
  boolean: of('boolean'),
  text: of('text'),
  timestamp: of('timestamp'),
  day: of('day'),
  /** A text key `TENANT-ID` that refers to the view of that name. */
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

/** Whom and what an order is about, and who works on it. `selectInvolved` has their expressions. */
export const involved = {
  customer_id: col.id('The customer.'),
  customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
  customer_name: col.text('Name of the customer.', { personal: true }),
  vehicle_id: col.id('The vehicle.'),
  vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
  vehicle_name: col.text('Name of the vehicle.', { personal: true }),
  technician_id: col.id('The assigned technician.'),
  technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
  technician_name: col.text('Name of the technician.', { personal: true }),
  advisor_id: col.id('The service advisor.'),
  advisor_key: col.key('dim_staffs', 'Key of the service advisor: TENANT-ID.'),
  advisor_name: col.text('Name of the service advisor.', { personal: true }),
} as const

/** `common` and `involved` of an order `o`, with the joins of `joinInvolved`. */
export const selectInvolved = (q: ViewWords) => ({
  ...takes('o', 'tenant_id', 'shop_id', 'customer_id', 'vehicle_id', 'technician_id', 'advisor_id'),
  tenant_name: q.tenantName('o.tenant_id'),
  shop_key: q.key('o.tenant_id', 'o.shop_id'),
  shop_name: q.name('shops', 'h', 'o.shop_id'),
  customer_key: q.key('o.tenant_id', 'o.customer_id'),
  customer_name: q.name('customers', 'c', 'o.customer_id'),
  vehicle_key: q.key('o.tenant_id', 'o.vehicle_id'),
  vehicle_name: q.name('vehicles', 'v', 'o.vehicle_id'),
  technician_key: q.key('o.tenant_id', 'o.technician_id'),
  technician_name: q.name('staffs', 't', 'o.technician_id'),
  advisor_key: q.key('o.tenant_id', 'o.advisor_id'),
  advisor_name: q.name('staffs', 'a', 'o.advisor_id'),
})

export const joinInvolved = `left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {vehicles} v on v.tenant_id = o.tenant_id and v.id = o.vehicle_id
      left join {staffs} t on t.tenant_id = o.tenant_id and t.id = o.technician_id
      left join {staffs} a on a.tenant_id = o.tenant_id and a.id = o.advisor_id`

/* The row types of views, computed from the declarations: they tell Kysely the views. */

interface ViewValue {
  id: Int64
  integer: Int64
  cents: Int64
  hours: number
  quantity: number
  number: number
  /** SQLite: 0 or 1. */
  boolean: boolean
  text: string
  /** Postgres: canonical; SQLite: `YYYY-MM-DD HH:MM:SS.ffffff`. */
  timestamp: string
  day: string
}

export type RowOfView<V> =
  V extends View<string, infer C>
    ? { [K in keyof C]: C[K] extends ViewColumn<infer T> ? ViewValue[T] | null : never }
    : never
