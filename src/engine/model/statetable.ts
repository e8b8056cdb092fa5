import type { Field, Kind, KindValue } from '../../../schema/resource.js'

/**
 * One of the product's own tables, in the vocabulary of the resources. The engine declares its tables in state.ts, a
 * feature its own in its folder (tables.ts), and src/main.ts lists the features.
 */
export interface StateTable {
  readonly doc: string
  readonly key: readonly string[]
  readonly fields: Readonly<Record<string, Field>>
  readonly indexes?: readonly (readonly string[])[]
  /** Its content was found out by querying the source, so none of it stays when the warehouse gets another source. */
  readonly vouches?: true | undefined
  /** Columns that earlier versions made: warehouses keep them, nothing reads or writes them, and copies lack them. */
  readonly former?: readonly string[] | undefined
  /** The table that it follows in the data dictionary. Default: the one before it in its feature, or else the last. */
  readonly after?: string
}

export type StateTables = Readonly<Record<string, StateTable>>

/** The same, with its columns known to the compiler. */
interface Defined<F, K> extends StateTable {
  readonly key: readonly (K & string)[]
  readonly fields: F & StateTable['fields']
}

export const define = <F extends Record<string, Field>, const K extends keyof F & string>(
  table: Defined<F, K> & { readonly indexes?: readonly (readonly (keyof F & string)[])[] },
): Defined<F, K> => table

/** State tables as Kysely sees them. A feature sees its own through `db.withTables<RowsOf<typeof …>>()`. */
export type RowsOf<T> = {
  [N in keyof T]: T[N] extends Defined<infer F, infer K>
    ? {
        [X in keyof F]: F[X] extends Field<infer V extends Kind>
          ? KindValue[V] | (X extends K ? never : null)
          : never
      }
    : never
}
