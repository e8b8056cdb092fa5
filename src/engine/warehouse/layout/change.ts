/**
 * What a migration would do to a table, or has done: ddl.ts finds it, migrate.ts makes it, plan and migrate show it.
 */
import type { CompiledQuery } from 'kysely'
import type { Skip } from '../../base/errors.js'
import type { Column } from '../../model/table.js'

/** One change that a migration would make, or has made. */
export interface Change {
  readonly table: string
  /** For people, such as `create table` or `add column vin text`. */
  readonly what: string
  /** `field`: nothing of the table changes, but what its columns get from then on (trackedcolumns.ts). */
  readonly kind: 'table' | 'column' | 'index' | 'field'
  /** The column that is added. */
  readonly column?: Column | undefined
  /** Why it can't be made. */
  readonly refusal?: Skip | undefined
  readonly statements: readonly CompiledQuery[]
}
