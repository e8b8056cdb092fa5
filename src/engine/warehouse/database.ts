import type { Compilable, CompiledQuery, Kysely } from 'kysely'
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

/** The part of a warehouse that reads, and repeats a read while the database is away. */
export interface Reader {
  read<T>(work: (db: Db) => Promise<T>): Promise<T>
}

/** The same, for commands that may meet a warehouse of an older version: whether a table, or `TABLE.COLUMN`, exists. */
export interface WaryReader extends Reader {
  has(name: string): Promise<boolean>
}

/** Reads that see what this database shows, such as one instant of it. */
export const readerOf = (db: Db): Reader => ({ read: (work) => work(db) })

export const rootTable = (table: { readonly name: string }): 'any root' => table.name as 'any root'

/** The value of a JSON column: databases with a JSON type return it parsed, others return text. */
export const readJson = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value)

/** Live rows of a root table, or all rows of a child table. */
export async function countRowsOf(db: Db, table: Table, tenantId?: Int64): Promise<number> {
  const values = tenantId === undefined ? {} : { tenantId }
  const counted = compiledOnce<{ readonly n: Int64 }, { readonly tenantId?: Int64 | undefined }>(
    db,
    `countRows ${table.name} ${Object.keys(values)}`,
    values,
    ({ tenantId: tenant }) => {
      let query = db.selectFrom(rootTable(table)).select((eb) => eb.fn.countAll<Int64>().as('n'))
      if (table.columns.some((column) => column.name === '_deleted_at'))
        query = query.where('_deleted_at', 'is', null)
      return tenant === undefined ? query : query.where('tenant_id', '=', tenant)
    },
  )
  const { rows } = await db.executeQuery(counted)
  return Number(rows[0]?.n ?? 0)
}

/** Stands for a value while a statement is compiled, and says which one. */
class Placeholder {
  constructor(readonly name: string) {}
}

/** Statements by name; a parameter is a `Placeholder`, or the same for all calls. */
const keptStatements = new WeakMap<Db, Map<string, CompiledQuery>>()

/**
 * A statement with these values, compiled only once for each name. Every commit needs it: compiling one of its
 * statements takes longer than running it. The statement's text may depend on the name, never on a value.
 */
export function compiledOnce<Row, V extends object>(
  db: Db,
  name: string,
  values: V,
  statement: (values: V) => Compilable<Row>,
): CompiledQuery<Row> {
  const known = keptStatements.get(db) ?? new Map<string, CompiledQuery>()
  keptStatements.set(db, known)
  const kept = known.get(name) ?? statement(placeholdersFor(values)).compile()
  known.set(name, kept)
  const given = values as Readonly<Record<string, unknown>>
  const parameters = kept.parameters.map((one) => (one instanceof Placeholder ? given[one.name] : one))
  return { ...(kept as CompiledQuery<Row>), parameters }
}

const placeholdersFor = <V extends object>(values: V): V =>
  Object.fromEntries(Object.keys(values).map((name) => [name, new Placeholder(name)])) as V
