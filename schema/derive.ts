/**
 * The vocabulary for declaring derived tables, each once, in a file of schema/derived/. Their rows follow from one
 * record. They are computed when the whole record is available, and stored in the record's own transaction
 * (docs/dev/architecture.md, What else the engine rests on). To add a derived table, add a file.
 *
 * The rule is a pure function. It gets the stored rows of one record as objects by column, the paths of the record that
 * are in quarantine, and the settings; it returns the rows. It must return the same rows from the warehouse as from the
 * page that contained the record: rows are recomputed from the warehouse when the rule or its settings change.
 */
import type { Field, Int64, Kind, KindValue } from './resource.js'

/** A value of a stored row. Timestamps are canonical text, JSON is JSON text; a number may be decimal text. */
export type Stored = string | number | bigint | boolean | null
export type StoredRow = Readonly<Record<string, Stored>>

/** One record, as stored in the warehouse. */
export interface WholeRecord {
  readonly tenantId: Int64
  /** The rows by table; the record's own row is the only one of its table. */
  readonly rows: Readonly<Record<string, readonly StoredRow[]>>
  /** Which parts of the record are in quarantine, such as `services[2].parts[0].cost_cents`. */
  readonly quarantined: readonly string[]
}

/** An instant as a shop's calendar and its clocks show it. */
export interface ShopTime {
  readonly day: string
  /** `YYYY-MM-DD HH:MM:SS`. */
  readonly local: string
}

/** What a rule may use besides the record. */
export interface RuleSettings {
  /** How a tax rate of 8.25% is sent: 8.25, or 0.0825. */
  readonly taxRates: 'percent' | 'fraction'
  /** The shop's own day and time of an instant; null if the calendar has no day for it. */
  shopTime(shopId: Stored, instant: string): ShopTime | null
  /** Whole minutes from one instant to another, rounded down. */
  minutesBetween(from: string, to: string): number
}

type Fields = Readonly<Record<string, Field>>
/** A row without its key, tenant and stamps: a value for each declared column. */
type RuleRow<F extends Fields = Fields> = { readonly [K in keyof F]: Stored }

export type Lines = Readonly<Record<string, readonly Stored[]>>

/** The result of a rule for one record. */
export interface Derivation<F extends Fields = Fields> {
  readonly rows: readonly RuleRow<F>[]
  /**
   * Values for computed columns of the record's nested tables (`Resource.computed`), by table: one value for each of
   * these columns, for each row in the order in which the rule got them.
   */
  readonly lines?: Lines
}

export interface Derived<
  N extends string = string,
  R extends string = string,
  O extends string = string,
  F extends Fields = Fields,
> {
  /** The table's name. */
  readonly name: N
  /** The resource whose records the rows follow from. */
  readonly of: R
  /** The column with the record's id: together with the tenant, the key. */
  readonly ownerColumn: O
  readonly doc: string
  readonly grain: string
  /** Raise it whenever the rule returns different rows or lines: stored rows are then recomputed. */
  readonly version: number
  /** Columns that distinguish the rows of one record, if it has several. */
  readonly key?: readonly string[]
  readonly fields: F
  /** Secondary indexes, each a list of columns; all start with the tenant, which is omitted here. */
  readonly indexes?: readonly (readonly string[])[]
  /** Columns that are each unique. */
  readonly unique?: readonly string[]
  /**
   * The columns that the rule reads, by table. Of its own table, it gets the row that is replaced, and only of a deleted
   * record: what was in quarantine for it is forgotten, and nothing else tells of that.
   */
  readonly reads: Readonly<Record<string, readonly string[]>>
  readonly rule: (record: WholeRecord, settings: RuleSettings) => Derivation<F>
}

export const defineDerived = <
  const N extends string,
  const R extends string,
  const O extends string,
  F extends Fields,
>(
  declared: Derived<N, R, O, F>,
): Derived<N, R, O, F> => declared

type Row<O extends string, F extends Fields> = { tenant_id: Int64 } & { [X in O]: Int64 } & {
  [K in keyof F]: F[K] extends Field<infer V extends Kind> ? KindValue[V] | null : never
} & { _synced_at: string; _deleted_at: string | null; _unlisted_at: string | null }
type Merge<T> = { [K in keyof T]: T[K] }

/** The table of one declaration, as Kysely sees it. */
export type TableOfDerived<D> =
  D extends Derived<infer N, string, infer O, infer F> ? { [K in N]: Merge<Row<O, F>> } : never
