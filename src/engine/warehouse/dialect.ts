/**
 * All differences between SQLite and Postgres, as interfaces. sqlite/ and postgres/ implement them. The shared code of
 * this folder uses them, and never checks which database it has.
 */
import type { CompiledQuery, Expression, RawBuilder, SqlBool } from 'kysely'
import type { Kind } from '../../../schema/resource.js'
import type { Clock } from '../base/clock.js'
import type { NumberForm } from '../base/numbertoken.js'
import type { FlatPage, Tuple } from '../model/flatten/batch.js'
import type { Column, Table } from '../model/table.js'
import type { Db } from './database.js'
import type { DeliveryPlace } from './queue/deliveries.js'
import type { Applied, Batch, BatchTables } from './store/versionbatch.js'
import type { AnyRows, Rows, Session } from './transaction.js'
import type { ViewStore } from './views/viewstore.js'

/** Members of the column `_extra` in SQL. None of these parses a number: every token stays as it is. */
export interface ExtraSql {
  /** Whether `_extra` has the member, even as null. */
  has(name: string): Expression<SqlBool>
  /** The member's value as JSON text. */
  member(name: string): Expression<string>
  /** A column of numbers or JSON, read without losing a digit. */
  exact(column: string): Expression<unknown>
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
  /** For a primary key: the name of its constraint, if the database has one. */
  readonly name: string
  /** In order. null in place of an expression. */
  readonly columns: readonly (string | null)[]
  readonly isPrimary: boolean
}

/** Something that others made or set, and what to do about it. */
export interface Obstacle {
  /** For people, such as `the trigger troubled`. */
  readonly problem: string
  /** What to type or do. */
  readonly hint: string
}

/** What others made or set on a table that keeps its rows from being stored as they were sent. */
export interface Interference extends Obstacle {
  /** undefined: on the whole database. */
  readonly table?: string | undefined
  /** Rows can't be written or read as they are. A trigger may be harmless: the rows that it meets are read back. */
  readonly isHarmful: boolean
  /** Rows may be there that this user can't see. */
  readonly hides?: boolean | undefined
}

/** A warehouse as of one instant: it doesn't show anything written later. */
export interface OneInstant {
  readonly db: Db
  /** Like the dialect's. */
  views(schema?: string): ViewStore
}

/** Words of the database's SQL, and how it holds values. */
export interface DialectSql {
  columnType(kind: Kind): string
  /** How number columns and JSON hold numbers. */
  readonly numbers: NumberForm
  readonly extra: ExtraSql
  /**
   * A query for consecutive days, numbered from 1970-01-01: the number `n` of each, the `day`, and the first day of its
   * `month`. The database counts them: writing them as text would take longer.
   */
  dayRows(first: number, end: number): Expression<unknown>
  /** The UTC day of an instant, as indexes and views compute it. undefined if no view finds rows by it. */
  utcDay?(instant: string): string
  readonly versionWords: VersionWords
  /** A query for rows from a parameter that holds them as JSON, a list of lists. Each column has its name and type. */
  listed(parameter: string, columns: readonly Pick<Column, 'name' | 'kind'>[]): string
}

/**
 * Rows in bulk. `R`: rows of one table in the form that the sessions take. `E`: the rows of a page as `encode` makes
 * them.
 */
interface Bulk<R extends Rows<R> = AnyRows, E = unknown> {
  /** How many pages may wait to be stored before no more are fetched: enough to keep the database busy. */
  readonly backlog: number
  /** By how many percent the heap may grow before a full collection: with two threads filling it, memory buys time. */
  readonly heapGrowth: number
  /** Encodes the rows of a page, by table name. The tuples aren't needed afterwards. */
  encode(rows: FlatPage['rows'], tables: ReadonlyMap<string, Table>): E
  /** A page's rows for one table. Empty if the page has no such table. */
  rows(encoded: E, table: Table): R
  /** Applies a batch in another thread. undefined if the caller must apply the batch itself. */
  offload?(to: BatchTables, batch: Batch<E>): Promise<Applied> | undefined
  /** Whether the error means that a row existed which a session's `insert` took for new. */
  isTaken(error: unknown): boolean
  /**
   * All rows of a table in the order of its key, with text in byte order: `rowsAtOnce` rows at a time, with a value for
   * each of the table's columns. If the database holds more digits than a double, numbers come as text; JSON always
   * does. `held`: as of one instant; only one scan of it at a time.
   */
  scan(held: Db, table: Table, rowsAtOnce: number): AsyncIterable<readonly Tuple[]>
  /** After a run: updates statistics for the query planner. */
  optimize(tables: readonly Table[]): Promise<void>
}

/** What exists in the database, and what it takes to change it. */
export interface Catalog {
  liveColumns(): Promise<readonly LiveColumn[]>
  /** The live indexes, including primary keys. */
  liveIndexes(): Promise<readonly LiveIndex[]>
  /** What others made or set on these tables that keeps rows from being stored as they were sent. */
  interferences(tables: readonly string[]): Promise<readonly Interference[]>
  /** Why there is no warehouse here, as far as can be seen, and what to type. Asked only where there is none. */
  absence(): Promise<Obstacle>
  /** The database's encoding if it can't hold every character; undefined if it can. */
  narrowEncoding(): Promise<string | undefined>
  /** Creates the schema for the tables, and keeps other migrations out until the transaction ends. */
  prepare(session: Pick<Session, 'run'>): Promise<void>
  /** From here on, the transaction waits for others' locks only as long as a change of a table may, or for `seconds`. */
  waitBriefly(session: Pick<Session, 'run'>, seconds?: number): Promise<void>
  /**
   * Writes this many bytes, down to the disk; rolling back the transaction removes them. Without `creates`, that needs no
   * permission on the schema.
   */
  tryRoom(
    session: Pick<Session, 'run'>,
    how: { readonly bytes: number; readonly creates: boolean },
  ): Promise<void>
  /** Statements that write the dictionary's texts for these tables into the database, if it can hold them. */
  comments(tables: readonly Table[]): CompiledQuery[]
  /** What to type so that a table gets the declared key. `live`: the key that it has now. */
  keyStatement(table: Table, live: LiveIndex | undefined): string
  /** What to type so that a table makes way for another one, which our views read then. */
  setAside(name: string): string
}

/** The file or disk under the database, as far as this machine can see it. */
interface DatabaseFile {
  /** Whether the file has been replaced since it was opened, or is gone. */
  isGone(): boolean
  /**
   * The file that is at the path now: another text if it is another file, or is still being written. undefined if there
   * is none; empty if the warehouse is no file.
   */
  atPath(): string | undefined
  /** Throws Stop if it is a file: only one process at a time writes it, so several shards would only wait. */
  refuseShards(): void
  /** Free bytes on the disk of the warehouse. undefined if the disk is another machine's. */
  room(): Promise<number | undefined>
}

export interface DialectOptions {
  /** `sqlite:PATH` or `postgres://…`. */
  readonly url: string
  /** Schema of the tables, if the warehouse has schemas. */
  readonly schema: string
  /** For commands that only read: a missing warehouse isn't created; an empty one takes its place. */
  readonly existing?: boolean | undefined
  /** What asks for several machines at a time, as it was typed. Throws Stop if a warehouse of this kind can't have them. */
  readonly sharedBy?: string | undefined
  /** SQLite: a missing folder is made. Otherwise it is a mistake in the address. */
  readonly makesFolder?: boolean | undefined
  /** Postgres: after how many milliseconds without a response a connection is checked; default 30,000. */
  readonly silentMs?: number | undefined
  /** Postgres: it is behind a pooler in transaction mode; default false. */
  readonly pooler?: boolean | undefined
  /** From how many rows on SQLite's writer thread stores a page: 0 for every page, Infinity for none; default 300. */
  readonly threadFrom?: number | undefined
}

/** A database. `R` and `E`: see Bulk. */
export interface Dialect<R extends Rows<R> = AnyRows, E = unknown> {
  readonly db: Db
  /** Where the warehouse is, for people. Never includes a password. */
  readonly where: string
  /** Whether `for share` keeps other transactions from changing a row. If false, there is one writer at a time. */
  readonly locksRows: boolean
  /**
   * What tells this database from another one at the same address, as SQL that is read from the lease's row: another
   * text than before means that what the database has confirmed may be lost.
   */
  readonly server: RawBuilder<string>
  readonly sql: DialectSql
  readonly bulk: Bulk<R, E>
  readonly catalog: Catalog
  readonly file: DatabaseFile
  /** The queue through which rounds reach workers. There is none if only one machine can use the database. */
  readonly deliveries: DeliveryPlace
  /** Runs the work in one transaction and rolls back if it throws. The work must not wait for the network. */
  transaction<T>(work: (session: Session<R>) => Promise<T>): Promise<T>
  /**
   * Runs work that only reads in one transaction. The work must only query what it is given, because SQLite's one
   * connection is lent to it.
   */
  atOneInstant<T>(work: (held: OneInstant) => Promise<T>): Promise<T>
  /** The views, in a schema of that name if the database has schemas. Default: next to the schema of the tables. */
  views(schema?: string): ViewStore
  /** The time by which leases expire: the database's if several machines share it. Canonical timestamp. */
  now(session: Session<R>, clock: Clock): Promise<string>
  /**
   * Maps a driver's error to the classes of errors.ts: what the loop does next. Errors of those classes pass through.
   */
  classify(error: unknown): Error
  /**
   * The place of tables that are written alongside a run, at any moment, and whose commits survive a power cut: the
   * same database, or a separate file if a busy writer would hold them up. undefined if it doesn't exist, unless
   * `creates`. `table`: one of its tables.
   */
  beside(place: {
    readonly name: string
    readonly table: string
    readonly creates: boolean
  }): Promise<Dialect | undefined>
  /**
   * Runs work that permanently deletes rows of these tables, then removes what is left of them in the database's files.
   * `columns`: of some tables, the columns to which what is erased was confined.
   */
  erase(
    tables: readonly string[],
    work: () => Promise<void>,
    columns?: ReadonlyMap<string, readonly string[]>,
  ): Promise<Traces>
  close(): Promise<void>
}

/** What is left of rows that were permanently deleted. */
export interface Traces {
  /** Why traces remain in the database. null if none do. */
  readonly left: string | null
  /** Where else they may be, for people. */
  readonly elsewhere: string
}

/** The words in which the statements that keep versions differ (store/versions.ts). */
export interface VersionWords {
  from(table: string): string
  /** The condition that an id is in a parameter's list. */
  within(parameter: string): string
  /** A parameter that is an instant. */
  instant(parameter: string): string
  /** The nested rows of the record in `root`, as JSON without losing a digit: an object with a list for each table. */
  nested(children: readonly Table[], root: string): string
}
