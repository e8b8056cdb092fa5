import type { Kind } from '../../../../schema/resource.js'
import type { ViewKind } from '../../../../schema/view.js'

/** Where a warehouse is, as far as it matters to other tools. */
export interface ToolPlace {
  /** Empty without a configuration. */
  readonly url: string
  readonly schema: string
  /** Schema of the views, if it isn't the default. */
  readonly views?: string | undefined
}

/** A column as both databases have it. */
interface TypedColumn {
  readonly kind: Kind | ViewKind
  readonly postgres: string
  readonly sqlite: string
  /** Of a view: an instant in the form of the tables. */
  readonly as_stored?: true | undefined
}

/** What dbt and Superset need to know about a warehouse. */
export interface BiTools {
  /** Where the tables are, and where the views of the analysts are. */
  readonly schema: string
  readonly views: string
  typeOf(column: TypedColumn): string
  /** How dbt materializes models that pass relations through. */
  readonly materialized: 'view' | 'table'
  /** SQL for the instant up to which a table is complete. undefined if dbt can't query it. */
  completeThrough?(resource: string): string
  /** The name of Superset's connection, unique there. */
  readonly name: string
  /** SQLAlchemy's address. With Superset's mask in place of the password, the import prompts for it. */
  readonly uri: string
  /** How Superset writes a time filter for the column. undefined if it must not treat it as a time column. */
  timeOf(
    column: TypedColumn,
    table: { readonly part: string },
  ): { readonly format: string | null } | undefined
}
