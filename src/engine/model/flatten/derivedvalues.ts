/**
 * Makes the rows of derived tables: for the records of one page, from the tuples that flatten made; for stored records,
 * from their rows. Used by the warehouse, which stores them with the records.
 */
import type { Lines, RuleSettings, Stored, StoredRow, WholeRecord } from '../../../../schema/derive.js'
import type { Int64 } from '../../../../schema/resource.js'
import type { NumberForm } from '../../base/numbertoken.js'
import type { DerivedModel, ResourceModel } from '../resourcemodel.js'
import { type Column, placeOf, type Table, tupleColumns } from '../table.js'
import type { FlatPage, Tuple, Value } from './batch.js'

interface DerivingContext {
  readonly tenantId: Int64
  readonly settings: RuleSettings
  /** How the warehouse holds numbers. */
  readonly form: NumberForm
}

/**
 * A row as a rule reads it: the tuple itself, accessed by column name. Copies would be as many objects as the page has
 * values.
 */
type RowReader = new (tuple: Tuple) => TupleRow
type TupleRow = StoredRow & { readonly tuple: Tuple }

function rowReader(table: Table, columns: readonly string[]): RowReader {
  class Row {
    declare readonly tuple: Tuple
    constructor(tuple: Tuple) {
      this.tuple = tuple
    }
  }
  for (const name of columns) {
    const place = placeOf(table, name)
    const get = function (this: Row): Stored {
      return this.tuple[place] ?? null
    }
    Object.defineProperty(Row.prototype, name, { get, enumerable: true })
  }
  return Row as unknown as RowReader
}

/** What a derived table needs for each page and record, determined once. */
interface Plan {
  /** How each table is read. */
  readonly reads: readonly {
    readonly name: string
    readonly Row: RowReader
    /** The position of the record's id in a tuple. */
    readonly owner: number
  }[]
  /**
   * The tables with columns that the rule computes. They come after all others. `first`: the position of the first one
   * in a tuple.
   */
  readonly fills: readonly { readonly name: string; readonly first: number; readonly width: number }[]
  /** The columns of a tuple after the record's id. */
  readonly columns: readonly Column[]
}

const plans = new WeakMap<DerivedModel, Plan>()

function planOf(one: DerivedModel, tables: readonly Table[]): Plan {
  const known = plans.get(one)
  if (known) return known
  const reads = tables.flatMap((table) => {
    const columns = one.declared.reads[table.name]
    if (!columns) return []
    const owner = placeOf(table, table.owner ?? table.key[1] ?? '')
    return [{ name: table.name, Row: rowReader(table, columns), owner }]
  })
  const fills = tables.flatMap((table) => {
    const first = tupleColumns(table).findIndex(({ computedBy }) => computedBy === one.declared.name)
    return first < 0 ? [] : [{ name: table.name, first, width: tupleColumns(table).length - first }]
  })
  const plan = { reads, fills, columns: tupleColumns(one.table).slice(1) }
  plans.set(one, plan)
  return plan
}

/** The rows of one table by the record they belong to. Rows of the same record are nearly always adjacent. */
function byOwner({ Row, owner }: Plan['reads'][number], tuples: readonly Tuple[]): Map<Value, TupleRow[]> {
  const found = new Map<Value, TupleRow[]>()
  let last: Value | undefined
  let rows: TupleRow[] = []
  for (const tuple of tuples) {
    const id = tuple[owner] ?? null
    if (id !== last) {
      rows = found.get(id) ?? []
      found.set(id, rows)
      last = id
    }
    rows.push(new Row(tuple))
  }
  return found
}

const none: readonly never[] = []

function quarantinedPaths({ quarantine }: Pick<FlatPage, 'quarantine'>): ReadonlyMap<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { recordId, path } of quarantine) {
    const known = paths.get(recordId)
    if (known) known.push(path)
    else paths.set(recordId, [path])
  }
  return paths
}

/** A number that the rule returned as text has more digits than a double. */
const heldAs = (value: Stored, { kind }: Column, form: NumberForm): Value =>
  kind === 'number' && form === 'double' && typeof value === 'string' ? Number(value) : value

/** The tuples of one record's rows, and the values for its lines. */
export function deriveRecord(
  { declared, table }: DerivedModel,
  id: Value,
  record: WholeRecord,
  { settings, form }: DerivingContext,
  columns: readonly Column[] = tupleColumns(table).slice(1),
): { readonly tuples: Tuple[]; readonly lines: Lines | undefined } {
  const { rows, lines } = declared.rule(record, settings)
  const tuples = rows.map((row) => {
    const tuple: Tuple = [id]
    for (const column of columns) tuple.push(heldAs(row[column.name] ?? null, column, form))
    return tuple
  })
  return { tuples, lines }
}

/** Puts what the rule computes for the record's lines into their tuples. */
function fillLines(
  fills: Plan['fills'],
  rows: Readonly<Record<string, readonly TupleRow[]>>,
  lines: Lines,
): void {
  for (const { name, first, width } of fills) {
    const of = rows[name] ?? none
    const values = lines[name] ?? none
    for (let i = 0; i < of.length; i++) {
      const tuple = of[i]?.tuple
      if (tuple) for (let j = 0; j < width; j++) tuple[first + j] = values[i * width + j] ?? null
    }
  }
}

/** The row for one tuple of a derived table, without tenant and stamps. */
export const rowOfTuple = (table: Table, tuple: Tuple): Record<string, Value> =>
  Object.fromEntries(tupleColumns(table).map(({ name }, place) => [name, tuple[place] ?? null]))

/** The tuples of a page's derived tables, by table. Fills the computed columns of the page's own tuples. */
export function derivePage(
  { derived, tables }: Pick<ResourceModel, 'derived' | 'tables'>,
  page: Pick<FlatPage, 'rows' | 'quarantine' | 'records'>,
  context: DerivingContext,
): Map<string, Tuple[]> {
  if (derived.length === 0) return new Map()
  const paths = quarantinedPaths(page)
  return new Map(
    derived.map((one) => {
      const { reads, fills, columns } = planOf(one, tables)
      const names = reads.map(({ name }) => name)
      const read = reads.map((reading) => byOwner(reading, page.rows.get(reading.name) ?? none))
      const tuples = page.records.flatMap(({ id }) => {
        const rows: Record<string, readonly TupleRow[]> = {}
        for (let i = 0; i < names.length; i++) rows[names[i] ?? ''] = read[i]?.get(id) ?? none
        const quarantined = paths.get(String(id)) ?? none
        const record = { tenantId: context.tenantId, rows, quarantined }
        const { tuples: own, lines } = deriveRecord(one, id, record, context, columns)
        if (lines) fillLines(fills, rows, lines)
        return own
      })
      return [one.table.name, tuples] as const
    }),
  )
}
