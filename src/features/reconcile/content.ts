/*
 * Compares records with their rows field by field, including nested arrays. `verify` does this for a sample, `why` for
 * the record in question.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { FlatPage, Tuple, Value } from '../../engine/model/flatten/batch.js'
import { type Column, type Table, tupleColumns } from '../../engine/model/table.js'
import { type CursorTask, keyOf as keyOfCursor } from '../../engine/run/tenant.js'
import { readJson } from '../../engine/warehouse/database.js'
import { storedForms } from '../../engine/warehouse/hiding/privacystate.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** One value that differs between warehouse and source. */
export interface ContentDifference {
  readonly table: string
  /** The key without the tenant, as `why` accepts it, such as `17` or `17/0`. */
  readonly row: string
  /** null: the whole row exists only on one side. */
  readonly column: string | null
  readonly warehouse: unknown
  readonly source: unknown
}

/** On both sides of a difference between hidden values. */
export const hiddenDiffers = 'differs'

type Row = Readonly<Record<string, unknown>>

/** A value in one form, whether it comes from SQLite, Postgres or the source. */
function plain(value: unknown, { kind }: Column): unknown {
  if (value === null || value === undefined) return null
  if (kind === 'json') return sorted(readJson(value))
  if (kind === 'boolean') return value === true || value === 1
  if (kind === 'number') return Number(value)
  return String(value)
}

/** Sorts the members of objects: a database with a JSON type doesn't keep their order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  )
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

function asRow(table: Table, tuple: Tuple): Row {
  return Object.fromEntries(
    tupleColumns(table).map((column, i): [string, Value] => [column.name, tuple[i] ?? null]),
  )
}

const keyOf = (table: Table, row: Row): string =>
  table.key
    .slice(1)
    .map((name) => String(row[name]))
    .join('/')

/** A record's rows in the warehouse, table by table. */
async function storedRows(warehouse: Warehouse, table: Table, tenantId: Int64, id: Int64): Promise<Row[]> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom(table.name as 'tenants')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where((table.owner ?? 'id') as 'tenant_id', '=', id)
      .execute(),
  )
  return rows as unknown as Row[]
}

function compareRows(table: Table, stored: readonly Row[], brought: readonly Row[]): ContentDifference[] {
  const here = new Map(stored.map((row) => [keyOf(table, row), row]))
  const there = new Map(brought.map((row) => [keyOf(table, row), row]))
  const keys = [...new Set([...here.keys(), ...there.keys()])]
  return keys.flatMap((row): ContentDifference[] => {
    const [a, b] = [here.get(row), there.get(row)]
    if (!a || !b)
      return [
        { table: table.name, row, column: null, warehouse: a ? 'a row' : null, source: b ? 'a row' : null },
      ]
    return tupleColumns(table).flatMap((column) => {
      if (column.computedBy !== undefined) return []
      const [warehouse, source] = [plain(a[column.name], column), plain(b[column.name], column)]
      return same(warehouse, source)
        ? []
        : [{ table: table.name, row, column: column.name, warehouse, source }]
    })
  })
}

/** Compares one record, as the source has it now, with its rows. */
export async function compareContent(
  warehouse: Warehouse,
  task: CursorTask,
  id: Int64,
  flattened: FlatPage,
): Promise<ContentDifference[]> {
  const { tenantId, resource } = task
  const differences: ContentDifference[] = []
  const forms = await storedForms(warehouse, keyOfCursor(task))
  for (const table of resource.tables) {
    const stored = (await storedRows(warehouse, table, tenantId, id)).map((row) => forms.row(table, row))
    const brought = (flattened.rows.get(table.name) ?? []).map((tuple) => asRow(table, tuple))
    differences.push(...compareRows(table, stored, brought))
  }
  return differences.flatMap((found) => {
    const { table, column } = found
    if (column === null) return [found]
    if (forms.isOpen(table, column)) return []
    return forms.isHidden(table, column)
      ? [{ ...found, warehouse: hiddenDiffers, source: hiddenDiffers }]
      : [found]
  })
}
