/**
 * All that differs between SQLite and Postgres, as interfaces.
 * sqlite/ and postgres/ implement them; the shared code of this folder asks them, and never which database it is.
 */
import type { CompiledQuery, Expression, SqlBool } from 'kysely'
import type { Kind } from '../../../schema/resource.js'
import type { Clock } from '../base/clock.js'
import type { NumberForm } from '../base/numbertoken.js'
import type { Flattened, Tuple } from '../model/flatten/batch.js'
import type { GrownKey } from '../model/statetable.js'
import type { Column, Table } from '../model/table.js'
import type { BatchTables } from './batchtables.js'
import type { Db } from './database.js'
import type { AnyRows, Rows } from './rows.js'
import type { Session } from './transaction.js'
import type { Applied, Batch } from './versionbatch.js'
import type { VersionWords } from './versiontext.js'
import type { ViewStore } from './viewstore.js'

/** Members of the column `_extra` in SQL. None of them reads a number: every token stays as it is. */
export interface ExtraSql {
  /** Whether `_extra` has the member, if only as null. */
  has(name: string): Expression<SqlBool>
  /** The member's value as JSON text. */
  member(name: string): Expression<string>
  /** `_extra` without the member: null when nothing is left. */
  without(name: string): Expression<unknown>
  /** `_extra` with the member set to a value, which is JSON text. */
  with(name: string, value: string): Expression<unknown>
  /** A column of numbers or JSON, so that no digit is lost on the way to this process. */
  exact(column: string): Expression<unknown>
}

/** Days that follow one another and last 24 hours each. Days are numbered from 1970-01-01. */
export interface DayRun {
  readonly first: number
  readonly days: number
  /** Seconds since 1970 at which the first begins. */
  readonly start: number
}

/** A live column, as the database describes it. */
export interface LiveColumn {
  readonly table: string
  readonly name: string
  readonly type: string
}

/** A live index, or the primary key of a table. */
export interface LiveIndex {
  readonly table: string
  /** Of a primary key: that of its constraint, where the database has one. */
  readonly name: string
  /** In their order; null in the place of an expression. */
  readonly columns: readonly (string | null)[]
  readonly isPrimary: boolean
  /** Neither unique nor of a part of the rows. */
  readonly isPlain: boolean
}

/** What somebody else has made, and what would break with the former key of a table. */
export interface Obstacle {
  /** For people, such as `the view visits stands on its key`. */
  readonly problem: string
  /** What to type, or to do. */
  readonly hint: string
}

/** What a table has before its key is changed. */
export interface FormerKey {
  /** undefined where somebody has dropped it. */
  readonly live: LiveIndex | undefined
  /** Names of its indexes that are dropped before. */
  readonly dropped: ReadonlySet<string>
}

/** How the key of a table is changed. Nothing is done where something is in the way. */
export interface KeyChange {
  readonly statements: readonly CompiledQuery[]
  readonly obstacles: readonly Obstacle[]
}

/** How large a table is, its indexes included. */
export interface TableSize {
  readonly rows: number
  readonly bytes: number
}

/** A warehouse as of one instant: it shows nothing that is written meanwhile. */
export interface OneInstant {
  readonly db: Db
  /** As of the dialect. */
  views(schema?: string): ViewStore
}

/** A database. `R`: rows of one table as its sessions take them; `E`: the rows of a page as `encode` makes them. */
export interface Dialect<R extends Rows<R> = AnyRows, E = unknown> {
  readonly db: Db
  /** Where the warehouse lies, for people; never a password. */
  readonly where: string
  /** How many pages may wait to be stored before no more are fetched: enough to keep the database busy. */
  readonly backlog: number
  /** By how many percent the heap may grow before a full collection: where two threads fill it, memory buys time. */
  readonly heapGrowth: number
  /** Whether `for share` keeps other transactions from changing a row. Where false, there is one writer at a time. */
  readonly locksRows: boolean
  /** SQL type of a kind. */
  columnType(kind: Kind): string
  readonly extra: ExtraSql
  /**
   * A query of each day of these runs: its number `n`, `from_at`, when it begins, `day`, the first day of its `month`, and
   * 1 as `stretch` where its run begins.
   */
  dayRows(runs: readonly DayRun[]): Expression<unknown>
  readonly versionWords: VersionWords
  /** A query of rows from a parameter that holds them as JSON, a list of lists: each column has its name and type. */
  listed(parameter: string, columns: readonly Pick<Column, 'name' | 'kind'>[]): string
  /** How number columns and JSON hold numbers. */
  readonly numbers: NumberForm
  /** Runs the work in one transaction; rolls back when it throws. The work must not wait for the network. */
  transaction<T>(work: (session: Session<R>) => Promise<T>): Promise<T>
  /** Runs work that only reads in one transaction. The work asks what it is given alone: SQLite's one connection is lent to it. */
  atOneInstant<T>(work: (held: OneInstant) => Promise<T>): Promise<T>
  /**
   * All rows of a table in the order of its key, text by its bytes: so many at a time, with a value for each of the
   * table's columns. Where the database holds more digits than a double, numbers come as text; JSON always does. `held`:
   * as of one instant; one scan of it after the other.
   */
  scan(held: Db, table: Table, rowsAtOnce: number): AsyncIterable<readonly Tuple[]>
  /** Starts threads and connections ahead of a long load. */
  warm(): void
  /** Encodes the rows of a page, by table name; the tuples are not needed afterwards. */
  encode(rows: Flattened['rows'], tables: ReadonlyMap<string, Table>): E
  /** The rows of one table of a page; none where the page has no such table. */
  rows(encoded: E, table: Table): R
  /** Applies a batch in another thread; undefined where the caller must apply the batch itself. */
  offload?(to: BatchTables, batch: Batch<E>): Promise<Applied> | undefined
  /** Makes the schema that the tables live in, and keeps other migrations out until the transaction ends. */
  prepare(session: Session<R>): Promise<void>
  /**
   * Makes a table of so many bytes, down to the disk; the rollback of the transaction takes it away. Without `creates`
   * the table is one that needs no permission on the schema.
   */
  tryRoom(session: Session<R>, how: { readonly bytes: number; readonly creates: boolean }): Promise<void>
  liveColumns(): Promise<readonly LiveColumn[]>
  /** The live indexes, primary keys among them. */
  liveIndexes(): Promise<readonly LiveIndex[]>
  sizeOf(table: string): Promise<TableSize>
  /** Statements that write the dictionary's texts of these tables into the database, where it can hold them. */
  comments(tables: readonly Table[]): CompiledQuery[]
  /**
   * Statements that make a column part of a table's key, with one value in all rows that there are. `anew`: those that
   * make the table and its indexes as they are to be, for a database that cannot change a key.
   */
  growKey(table: Table, grown: GrownKey, anew: readonly CompiledQuery[]): CompiledQuery[]
  /**
   * How a table that has another key gets the one that is declared. Rows, columns, indexes and triggers stay,
   * whoever made them; what others have made and what would break is an obstacle, and is never dropped.
   */
  changeKey(table: Table, former: FormerKey): Promise<KeyChange>
  /** The views, in a schema of that name where the database knows schemas; default: beside that of the tables. */
  views(schema?: string): ViewStore
  /** The time by which leases expire: the database's where several machines share it. Canonical timestamp. */
  now(session: Session<R>, clock: Clock): Promise<string>
  /** A driver's error in the classes of errors.ts: what the loop does next. Errors of those classes pass through. */
  classify(error: unknown): Error
  /** Whether a row was there that a session's `insert` took for new. */
  isTaken(error: unknown): boolean
  /** After a run: statistics for the query planner. */
  optimize(tables: readonly Table[]): Promise<void>
  /**
   * The place of tables that are written beside a run, at any moment, and whose commits survive a power cut: the same
   * database, or a file of its own where a busy writer would hold them up. undefined where it is not there, unless
   * `creates`. `table`: one of its tables.
   */
  beside(place: {
    readonly name: string
    readonly table: string
    readonly creates: boolean
  }): Promise<Dialect | undefined>
  /** Whether the file under its name is another one than was opened, or none is there. */
  isGone(): boolean
  /** Bytes that are left on the disk of the warehouse; undefined where it is another machine's. */
  room(): Promise<number | undefined>
  /** Runs work that deletes rows of these tables for good, then removes what is left of them in the database's files. */
  erase(tables: readonly string[], work: () => Promise<void>): Promise<Traces>
  close(): Promise<void>
}

/** What is left of rows that were deleted for good. */
export interface Traces {
  /** Why traces remain in the database; null where none do. */
  readonly left: string | null
  /** Where else they may be, for people. */
  readonly elsewhere: string
}
