import type { Kysely } from 'kysely'
import type { DerivedRows, ResourceTables } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import type { StateRows } from '../model/state.js'
import type { Table } from '../model/table.js'

/** Every table of the warehouse, as Kysely sees it. */
export interface Database extends ResourceTables, DerivedRows, StateRows {
  /** The columns that all root tables share, for code with a variable table. */
  'any root': {
    readonly tenant_id: Int64
    readonly id: Int64
    /** Only in tables without ids. */
    readonly name: string
    readonly updated_at: string
    readonly _synced_at: string
    readonly _deleted_at: string | null
    readonly _unlisted_at: string | null
  }
}

export type Db = Kysely<Database>

/** A resource's root table, by name. */
export const rootTable = (table: { readonly name: string }): 'any root' => table.name as 'any root'

/** The value of a JSON column: databases with a JSON type return it parsed, others return text. */
export const readJson = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value)

/** Live rows of a root table, or all rows of a child table. */
export async function countRowsOf(db: Db, table: Table, tenantId?: Int64): Promise<number> {
  let query = db.selectFrom(rootTable(table)).select((eb) => eb.fn.countAll<Int64>().as('n'))
  if (table.columns.some((column) => column.name === '_deleted_at'))
    query = query.where('_deleted_at', 'is', null)
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
  const [row] = await query.execute()
  return Number(row?.n ?? 0)
}
