/**
 * Where the views of a warehouse stand, and how they are made there. sqlite/viewstore.ts and postgres/viewstore.ts
 * implement it; src/features/analytics/makeviews.ts uses it.
 */
import type { CompiledQuery, Kysely } from 'kysely'
import type { Kind } from '../../../schema/resource.js'
import type { ViewKind } from '../../../schema/view.js'
import type { ViewRows } from '../../../schema/views/index.js'
import type { Table } from '../model/table.js'
import type { ViewSql } from './viewsql.js'

/** A view as it is to be. */
export interface WantedView {
  readonly name: string
  readonly doc: string
  readonly columns: readonly { readonly name: string; readonly doc: string; readonly kind: Kind | ViewKind }[]
  /** Its query, in the SQL of the database. */
  readonly query: string
}

/** Why a view, or all of them, could not be made. */
export interface ViewTrouble {
  readonly message: string
  /** What to type, or to do. */
  readonly hint: string
}

/** Runs a statement, in the transaction in hand or outside of any. */
export type RunStatement = <T>(query: CompiledQuery<T>) => Promise<{ readonly rows: T[] }>

export interface ViewStore {
  readonly sql: ViewSql
  /** Where the views stand, for people. */
  readonly where: string
  /** Under which name `sync_meta` remembers them: the views of another schema are others. */
  readonly memory: string
  /** The name of a view in SQL. */
  relation(name: string): string
  /** For reading the views. */
  readonly db: Kysely<ViewRows>
  /** Views of tables that stand elsewhere than the views do: all rows, all columns. */
  published(tables: readonly Table[]): readonly WantedView[]
  /** By name: what tells the relation that stands there from another one of the same name. */
  live(run: RunStatement): Promise<ReadonlyMap<string, string>>
  /** Why no view can be made here; undefined where nothing is in the way. Writes nothing. */
  obstacle(run: RunStatement): Promise<ViewTrouble | undefined>
  /** Makes the place for the views. */
  prepare(run: RunStatement): Promise<void>
  /**
   * Makes a view, or makes it anew in place of an older one of ours, with the same grants; nothing that stands on it is
   * ever dropped. Returns why it could not be made.
   */
  make(run: RunStatement, view: WantedView): Promise<ViewTrouble | undefined>
  /** What a failure of the statements above means; undefined where it is none that concerns the views alone. */
  troubleOf(error: unknown): ViewTrouble | undefined
}
