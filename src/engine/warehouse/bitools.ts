import type { Kind } from '../../../schema/resource.js'
import type { ViewKind } from '../../../schema/view.js'

/** Where a warehouse is, as far as what other tools have to know depends on it. */
export interface ToolPlace {
  /** Empty where there is no configuration. */
  readonly url: string
  readonly schema: string
  /** Schema of the views, where it is not the usual one. */
  readonly views?: string | undefined
}

/** A column as both databases have it. */
interface TypedColumn {
  readonly kind: Kind | ViewKind
  readonly postgres: string
  readonly sqlite: string
}

/** What dbt has to know of the database. */
export interface DbtTarget {
  /** Where the tables are, and where the views of the analysts are. */
  readonly schema: string
  readonly views: string
  /** How models that pass relations through are kept. */
  readonly materialized: 'view' | 'table'
  typeOf(column: TypedColumn): string
  /** SQL for the instant up to which a table is complete; undefined where dbt cannot ask for it. */
  completeThrough?(resource: string): string
}

/** What Superset has to know of the database. */
export interface SupersetTarget {
  /** What the connection is called: Superset knows each name once. */
  readonly name: string
  /** SQLAlchemy's address; the mask of Superset in the place of a password makes the import ask for it. */
  readonly uri: string
  /** Where the views are. */
  readonly schema: string
  typeOf(column: TypedColumn): string
  /** How a filter of time is written for the column; undefined where Superset must not take it for one of time. */
  timeOf(
    column: TypedColumn,
    table: { readonly part: string },
  ): { readonly format: string | null } | undefined
}

/** What other tools have to know of a warehouse. */
export interface BiTools {
  readonly dbt: DbtTarget
  readonly superset: SupersetTarget
}

/** What Superset puts in the place of a password. */
export const supersetMask = 'XXXXXXXXXX'
