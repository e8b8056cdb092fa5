/**
 * Where the views of a warehouse are, and how they are created there. viewstore.ts of sqlite/views/ and of postgres/views/
 * implement it; src/features/analytics/makeviews.ts uses it.
 */
import type { CompiledQuery, Kysely } from 'kysely'
import type { Int64, Kind } from '../../../../schema/resource.js'
import type { ViewKind } from '../../../../schema/view.js'
import type { ViewRows } from '../../../../schema/views/index.js'
import type { Table } from '../../model/table.js'
import type { ViewSql } from './viewsql.js'

/**
 * Part of the digests of views, those of readers too: another one makes all of them again, though their texts are the
 * same. 1: a database binds functions and operators when it makes a view, and up to 0.3.0 Postgres looked for them in every
 * schema of the session's path.
 */
export const viewEdition = 1

/** A view as it should be. */
export interface WantedView {
  readonly name: string
  readonly doc: string
  readonly columns: readonly { readonly name: string; readonly doc: string; readonly kind: Kind | ViewKind }[]
  /** Its query, in the SQL of the database. */
  readonly query: string
  /** The text keys that it makes from columns of one table each: views are joined by them. */
  readonly keys: readonly { readonly table: string; readonly columns: readonly string[] }[]
}

/** Why a view, or all of them, couldn't be created. */
export interface ViewTrouble {
  readonly message: string
  /** What to type or do. */
  readonly hint: string
}

/** Runs a statement, in the current transaction or outside of any. */
export type RunStatement = <T>(query: CompiledQuery<T>) => Promise<{ readonly rows: T[] }>

/** A role that sees the views of some tenants, and nothing else. */
export interface LiveReader {
  readonly role: string
  readonly tenants: readonly Int64[]
  /** Whether it sees columns that say something about a person. */
  readonly personal: boolean
}

/** What readers see of one view. */
export interface ReaderView {
  /** Columns that say something about a person. */
  readonly personal: ReadonlySet<string>
  /** Columns of names that aren't called after what they name, with the column of its ids. */
  readonly names: ReadonlyMap<string, string>
  /** Columns for those who run the program: every reader sees null. */
  readonly internal: ReadonlySet<string>
  /** It says nothing about any tenant. */
  readonly isForAll: boolean
}

/** Where the views of readers are: in a schema of each. */
export interface ReaderStore {
  /** Why a role can't be a reader: it sees everything, or its schema can't be made. Writes nothing. */
  obstacle(run: RunStatement, role: string): Promise<ViewTrouble | undefined>
  /** What others made of the data of all tenants, and gave to a role. */
  exposure(run: RunStatement, role: string): Promise<ViewTrouble | undefined>
  /** Whether everyone may put functions where others look for them. */
  openToAll(run: RunStatement): Promise<ViewTrouble | undefined>
  /** Those whose views aren't made from the views of all tenants as they are now. Two queries, however many readers. */
  outdated(
    run: RunStatement,
    readers: readonly LiveReader[],
    views: ReadonlyMap<string, ReaderView>,
  ): Promise<readonly LiveReader[]>
  /** Whether its views show it a column that they don't show it when they are made again. */
  hides(run: RunStatement, reader: LiveReader, views: ReadonlyMap<string, ReaderView>): Promise<boolean>
  /**
   * Makes all views of a reader, or makes them again, in place if none of their columns has changed. A view on which
   * something hangs is never dropped: it stays as it was, and the reader has no right on it. `left`: why there is such a
   * view.
   */
  make(
    run: RunStatement,
    reader: LiveReader,
    views: ReadonlyMap<string, ReaderView>,
  ): Promise<{ readonly views: number; readonly left: ViewTrouble | undefined }>
  /**
   * Takes all rights on its views away, also from statements that were prepared. Waits for nobody who reads them. Returns
   * false if there is no such role any more.
   */
  stop(run: RunStatement, role: string): Promise<boolean>
  drop(run: RunStatement, role: string): Promise<void>
  /** Why the views couldn't be made or dropped. undefined if an error isn't about them. */
  troubleOf(error: unknown): ViewTrouble | undefined
}

/** Tables of calendars in earlier versions: dropped when no view reads them any more, and never copied. */
export const formerCalendars = ['report_near_days', 'report_utc_days', 'report_days'] as const

export interface ViewStore {
  /** undefined where the database has no roles. */
  readonly readers: ReaderStore | undefined
  readonly sql: ViewSql
  /** Where the views are, for people. */
  readonly where: string
  /** The name under which `sync_meta` remembers them. The views of another schema are separate. */
  readonly memory: string
  /** The name of a view in SQL. */
  relation(name: string): string
  /** For reading the views. */
  readonly db: Kysely<ViewRows>
  /** Views of tables that are elsewhere: all rows, all columns. */
  published(tables: readonly Table[]): readonly WantedView[]
  /** By name: what distinguishes the existing relation from another one with the same name. */
  live(run: RunStatement): Promise<ReadonlyMap<string, string>>
  /** Why no view can be created here. undefined if nothing prevents it. Writes nothing. */
  obstacle(run: RunStatement): Promise<ViewTrouble | undefined>
  /** Why the views answer slowly for others who read this database. undefined if nothing is known to slow them. */
  slowedBy(run: RunStatement): Promise<ViewTrouble | undefined>
  prepare(run: RunStatement): Promise<void>
  /** What the views need when zones get clocks or a year more of them: run after these, in the same transaction. */
  afterClocks(): readonly CompiledQuery[]
  /** Drops the calendars of earlier versions that no view reads any more, once the views are made. */
  tidy(run: RunStatement): Promise<void>
  /**
   * What has to be dropped before these views can be made, a transaction for each: one for all takes more locks than a
   * server has. Empty if nothing does.
   */
  beforehand(run: RunStatement, views: readonly WantedView[]): Promise<readonly CompiledQuery[]>
  /**
   * Creates a view, or replaces an older one of ours, with the same grants. Never drops anything that depends on it.
   * Returns why it couldn't be created.
   */
  make(run: RunStatement, view: WantedView): Promise<ViewTrouble | undefined>
  /** What a failure of the statements above means. undefined if it doesn't only concern the views. */
  troubleOf(error: unknown): ViewTrouble | undefined
}
