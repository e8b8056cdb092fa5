/**
 * Makes the rows of derived tables: of the records of one page, from the tuples that flatten made of them, or of stored
 * records, from their rows. Used by the warehouse, which stores them with the records.
 */
import type { RuleSettings, Stored, StoredRow, WholeRecord } from '../../../schema/derive.js'
import type { Int64 } from '../../../schema/resource.js'
import type { NumberForm } from '../../numbertoken.js'
import type { DerivedModel, ResourceModel } from '../registry.js'
import { type Column, placeOf, type Table, tupleColumns } from '../tables.js'
import type { Flattened, Tuple, Value } from './batch.js'

export interface DerivingContext {
  readonly tenantId: Int64
  readonly settings: RuleSettings
  /** How the warehouse holds numbers. */
  readonly form: NumberForm
}

/** Reads the columns that a rule wants of one table's tuples, by the record that they belong to. */
function byOwner(
  table: Table,
  columns: readonly string[],
  tuples: readonly Tuple[],
): Map<Value, StoredRow[]> {
  const places = columns.map((name) => [name, placeOf(table, name)] as const)
  const owner = placeOf(table, table.owner ?? table.key[1] ?? '')
  const found = new Map<Value, StoredRow[]>()
  for (const tuple of tuples) {
    const row: Record<string, Stored> = {}
    for (const [name, place] of places) row[name] = tuple[place] ?? null
    const id = tuple[owner] ?? null
    const rows = found.get(id)
    if (rows) rows.push(row)
    else found.set(id, [row])
  }
  return found
}

const none: readonly never[] = []

function quarantinedPaths({ quarantine }: Pick<Flattened, 'quarantine'>): ReadonlyMap<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { recordId, path } of quarantine) {
    const known = paths.get(recordId)
    if (known) known.push(path)
    else paths.set(recordId, [path])
  }
  return paths
}

/** A number that the rule gave as text has more digits than a double. */
const heldAs = (value: Stored, { kind }: Column, form: NumberForm): Value =>
  kind === 'number' && form === 'double' && typeof value === 'string' ? Number(value) : value

/** The tuples of one record's rows. */
export function deriveRecord(
  { declared, table }: DerivedModel,
  id: Value,
  record: WholeRecord,
  { settings, form }: DerivingContext,
): Tuple[] {
  const [, ...columns] = tupleColumns(table)
  return declared
    .rule(record, settings)
    .map((row) => [id, ...columns.map((column) => heldAs(row[column.name] ?? null, column, form))])
}

/** The row of one tuple of a derived table, tenant and stamps left out. */
export const rowOfTuple = (table: Table, tuple: Tuple): Record<string, Value> =>
  Object.fromEntries(tupleColumns(table).map(({ name }, place) => [name, tuple[place] ?? null]))

/** The tuples of a page's derived tables, by table. */
export function derivePage(
  { derived, tables }: Pick<ResourceModel, 'derived' | 'tables'>,
  page: Pick<Flattened, 'rows' | 'quarantine' | 'records'>,
  context: DerivingContext,
): Map<string, Tuple[]> {
  if (derived.length === 0) return new Map()
  const paths = quarantinedPaths(page)
  return new Map(
    derived.map((one) => {
      const read = tables
        .filter(({ name }) => Object.hasOwn(one.declared.reads, name))
        .map((table) => {
          const columns = one.declared.reads[table.name] ?? none
          return [table.name, byOwner(table, columns, page.rows.get(table.name) ?? none)] as const
        })
      const tuples = page.records.flatMap(({ id }) => {
        const rows: Record<string, readonly StoredRow[]> = {}
        for (const [name, found] of read) rows[name] = found.get(id) ?? none
        const quarantined = paths.get(String(id)) ?? none
        return deriveRecord(one, id, { tenantId: context.tenantId, rows, quarantined }, context)
      })
      return [one.table.name, tuples] as const
    }),
  )
}
