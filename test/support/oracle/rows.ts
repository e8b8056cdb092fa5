/** The contents of a warehouse, in a form that is the same for every dialect. Doesn't use vitest. */
import { sql } from 'kysely'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import type { Table } from '../../../src/engine/model/table.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { known } from '../harness/runs.js'

/** All rows of a table, in key order. */
export async function rowsOf(warehouse: Writer, table: string): Promise<Record<string, unknown>[]> {
  const definition = warehouse.tables.find((candidate) => candidate.name === table)
  if (!definition) throw new Error(`no table ${table}`)
  const rows = (await warehouse.db
    .selectFrom(table as 'tenants')
    .selectAll()
    .orderBy(sql.join(definition.key.map((name) => sql.ref(name))))
    .execute()) as Record<string, unknown>[]
  const kinds = new Map(definition.columns.map((column) => [column.name, column.kind]))
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value, kinds.get(name))])),
  )
}

function plain(value: unknown, kind: string | undefined): unknown {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value === true || value === 1
  if (kind === 'json') return typeof value === 'string' ? JSON.parse(value) : value
  if (typeof value === 'bigint') return String(value)
  return value
}

/** Every row of every resource table and derived table, without the stamps that depend on when it was fetched. */
export async function contents(
  warehouse: Writer,
  model: Model = known,
  tables: readonly Table[] = model.tables,
): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {}
  for (const { name: table } of tables)
    all[table] = (await rowsOf(warehouse, table)).map(({ _synced_at, ...row }) => ({
      ...row,
      ...('_deleted_at' in row && { _deleted_at: row._deleted_at !== null }),
    }))
  return all
}
