import type BetterSqlite3 from 'better-sqlite3'
import { type CompiledQuery, type Expression, type Kysely, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Bug } from '../../errors.js'
import type { Flattened, Value } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/tables.js'
import { type BatchStamp, type Database, exact, type Session, type Version } from '../dialect.js'
import { ownerPlace, type Rows, TupleRows, tupleRows } from '../rows.js'
import { alikeSql, type Slot, slots, tupleIndex, upsertSql } from '../upsert.js'
import { isPacked, packedRows } from './thread/pack.js'
import { PackedRows, rowsOf } from './thread/unpack.js'

/** Rows a statement: measured best at 16 to 64; the rest goes in halves, so that few statements serve every count. */
const rowsPerStatement = 32

type Statement = BetterSqlite3.Statement<unknown[]>

const bindable = (value: Value): unknown => (value === true ? 1 : value === false ? 0 : value)

/** So many rows of values; each row is bound in order. */
function valuesOf(rows: number, row: readonly Expression<unknown>[]): Expression<unknown> {
  return sql`values ${sql.join(Array.from({ length: rows }, () => sql`(${sql.join(row)})`))}`
}

const bound = sql`${null}`
/** What all rows of a batch share is bound once a statement. */
const tenant = sql.raw('@tenantId')
const shares: Readonly<Record<Exclude<Slot, number>, Expression<unknown>>> = {
  tenant_id: tenant,
  _synced_at: sql.raw('@syncedAt'),
  _deleted_at: sql.raw('null'),
}

/** One statement for every count of rows: for 32, 16, … 1 at a time, prepared when first needed. */
class SizedStatements {
  readonly #statements = new Map<number, Statement>()

  constructor(
    private readonly raw: BetterSqlite3.Database,
    private readonly text: (rows: number) => string,
  ) {}

  /** Calls `work` for each part of the rows; stops when it returns false. */
  each(rows: SqliteRows, work: (statement: Statement, parameters: unknown[], rows: number) => boolean): void {
    const reader = rows.read()
    let left = rows.owners.length
    for (let size = rowsPerStatement; size >= 1; size >>= 1)
      for (; left >= size; left -= size) {
        const parameters: unknown[] = []
        for (let row = 0; row < size; row++) reader.next(parameters)
        if (!work(this.#statement(size), parameters, size)) return
      }
  }

  #statement(rows: number): Statement {
    const known = this.#statements.get(rows)
    if (known) return known
    const statement = this.raw.prepare<unknown[]>(this.text(rows))
    this.#statements.set(rows, statement)
    return statement
  }
}

function upsertOf(
  raw: BetterSqlite3.Database,
  db: Kysely<Database>,
  table: Table,
  differing: boolean,
): SizedStatements {
  const row = slots(table).map((slot) => (typeof slot === 'number' ? bound : shares[slot]))
  return new SizedStatements(raw, (rows) => upsertSql(db, table, valuesOf(rows, row), differing))
}

/** Counts the rows that are stored as they are. */
function alikeOf(raw: BetterSqlite3.Database, db: Kysely<Database>, table: Table): SizedStatements {
  const names = tupleColumns(table).map((column) => column.name)
  const picked = sql.join(names.map((name, i) => sql`${sql.ref(`column${i + 1}`)} as ${sql.id(name)}`))
  const row = names.map(() => bound)
  return new SizedStatements(raw, (rows) =>
    alikeSql(db, table, sql`select ${picked} from (${valuesOf(rows, row)})`, tenant),
  )
}

/** A JSON array of integers that SQLite reads exactly, beyond 2^53 too. */
const jsonList = (ids: readonly Int64[]): string => `[${ids.join(',')}]`

const jsonScalar = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null)

type SqliteRows = TupleRows | PackedRows

/** A table's rows of a page, packed or as flatten made them. */
export function sqliteRows(table: Table, flattened: Flattened): SqliteRows {
  if (!isPacked(flattened.rows)) return tupleRows(table, flattened)
  return rowsOf(packedRows(flattened.rows), table.name, ownerPlace(table)) ?? new TupleRows([], 0)
}

function readable(rows: Rows): SqliteRows {
  if (rows instanceof TupleRows || rows instanceof PackedRows) return rows
  throw new Bug('SQLite takes rows as flatten makes them, or packed')
}

export class SqliteSession implements Session {
  readonly #many = new Map<string, SizedStatements>()
  readonly #statements = new Map<string, Statement>()

  constructor(
    private readonly raw: BetterSqlite3.Database,
    private readonly db: Kysely<Database>,
  ) {}

  async run<R>(query: CompiledQuery<R>): Promise<{ rows: R[]; affected: number }> {
    const statement = this.#prepare(query.sql)
    const parameters = query.parameters.map((value) => bindable(value as Value))
    if (!statement.reader) return { rows: [], affected: statement.run(parameters).changes }
    const rows = statement.all(parameters) as Record<string, unknown>[]
    for (const row of rows)
      for (const name in row) {
        const value = row[name]
        if (typeof value === 'bigint') row[name] = exact(value)
      }
    return { rows: rows as R[], affected: rows.length }
  }

  async versions(table: Table, tenantId: Int64, ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const statement = this.#prepare(
      `select id, updated_at, _synced_at, _deleted_at from "${table.name}" where tenant_id = ? and id in (select value from json_each(?))`,
    )
    const rows = statement.raw(true).all([tenantId, jsonList(ids)]) as [
      bigint,
      string,
      string,
      string | null,
    ][]
    return new Map(
      rows.map(([id, updatedAt, syncedAt, deletedAt]) => [exact(id), { updatedAt, syncedAt, deletedAt }]),
    )
  }

  async upsert(
    table: Table,
    rows: Rows,
    { tenantId, syncedAt }: BatchStamp,
    differing: boolean,
  ): Promise<number> {
    const upsert = this.#prepared(`${differing} ${table.name}`, () =>
      upsertOf(this.raw, this.db, table, differing),
    )
    let written = 0
    upsert.each(readable(rows), (statement, parameters) => {
      // One by one: the driver takes twice as long to read them from an array.
      written += statement.run(...parameters, { tenantId, syncedAt }).changes
      return true
    })
    return written
  }

  async confirm(table: Table, ids: readonly Int64[], { tenantId, syncedAt }: BatchStamp): Promise<void> {
    const statement = this.#prepare(
      `update "${table.name}" set _synced_at = ? where tenant_id = ? and id in (select value from json_each(?)) and _synced_at < ?`,
    )
    statement.run([syncedAt, tenantId, jsonList(ids), syncedAt])
  }

  async childrenMatch(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<boolean> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const count = this.#prepare(
      `select count(*) from "${table.name}" where tenant_id = ? and "${table.owner}" in (select value from json_each(?))`,
    )
    if (Number(count.pluck(true).get([tenantId, jsonList(owners)])) !== rows.owners.length) return false
    const alike = this.#prepared(`alike ${table.name}`, () => alikeOf(this.raw, this.db, table))
    let all = true
    alike.each(readable(rows), (statement, parameters, count) => {
      all = Number(statement.pluck(true).get(...parameters, { tenantId })) === count
      return all
    })
    return all
  }

  async clearQuarantine(
    resource: string,
    recordIds: readonly string[],
    { tenantId, syncedAt }: BatchStamp,
  ): Promise<void> {
    const statement = this.#prepare(
      'delete from sync_quarantine where tenant_id = ? and resource = ? and record_id in (select value from json_each(?)) and last_seen_at < ?',
    )
    statement.run([tenantId, resource, JSON.stringify(recordIds), syncedAt])
  }

  async prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<number> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const rest = table.key.slice(1)
    const places = rest.map((name) => tupleIndex(table, name))
    const reader = readable(rows).read()
    const kept = rows.owners.map(() => {
      const row: unknown[] = []
      reader.next(row)
      return places.map((place) => row[place])
    })
    const one = rest.length === 1
    const key = one ? `"${rest[0]}"` : `(${rest.map((name) => `"${name}"`).join(', ')})`
    const picked = one ? 'value' : rest.map((_, i) => `json_extract(value, '$[${i}]')`).join(', ')
    const statement = this.#prepare(
      `delete from "${table.name}" where tenant_id = ? and "${table.owner}" in (select value from json_each(?)) and ${key} not in (select ${picked} from json_each(?))`,
    )
    const list = `[${kept.map((values) => (one ? jsonScalar(values[0]) : `[${values.map(jsonScalar).join(',')}]`)).join(',')}]`
    return statement.run([tenantId, jsonList(owners), list]).changes
  }

  #prepared(name: string, make: () => SizedStatements): SizedStatements {
    const known = this.#many.get(name)
    if (known) return known
    const made = make()
    this.#many.set(name, made)
    return made
  }

  #prepare(text: string): Statement {
    const known = this.#statements.get(text)
    if (known) return known
    const statement = this.raw.prepare<unknown[]>(text)
    this.#statements.set(text, statement)
    return statement
  }
}
