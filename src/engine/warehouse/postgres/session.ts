/**
 * A transaction on Postgres. Rows are sent as binary arrays, one per column, and statements are sent without waiting
 * for the previous one. postgres/dialect.ts makes one per transaction.
 */
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type { Int64, Kind } from '../../../../schema/resource.js'
import { columnTypes } from '../../model/columntypes.js'
import type { Tuple } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/table.js'
import { ofStatement } from '../classify.js'
import type { Db } from '../database.js'
import { SharedSession } from '../store/session.js'
import { insertSql, settledSql, slots, tupleIndex, upsertSql } from '../store/upsert.js'
import type { BatchStamp } from '../store/versionbatch.js'
import type { Parameter } from '../transaction.js'
import { binaryArrays } from './arrays.js'
import type { BinaryRows } from './rows.js'

/** `unnest` of array parameters of these kinds; the first is `$first`. */
const unnested = (kinds: readonly Kind[], first: number): string =>
  `unnest(${kinds.map((kind, i) => `$${first + i}::${columnTypes[kind].postgres}[]`).join(', ')})`

const kindsOf = (table: Table): Kind[] => tupleColumns(table).map(({ kind }) => kind)

/** $1: tenant, $2: stamp, then one array per column. */
function writeText(db: Db, table: Table, schema: string, way: 'insert' | 'all' | 'differing'): string {
  const picked = slots(table).map((slot) => {
    if (slot === 'tenant_id') return '$1::bigint'
    if (slot === '_synced_at' || slot === '_seen_from') return '$2::timestamptz'
    if (slot === '_deleted_at' || slot === '_unlisted_at') return 'null::timestamptz'
    return `u.c${slot}`
  })
  const kinds = kindsOf(table)
  const names = kinds.map((_, i) => `c${i}`)
  const source = sql.raw(`select ${picked.join(', ')} from ${unnested(kinds, 3)} as u(${names.join(', ')})`)
  const qualify = (name: string) => sql.id(schema, name)
  if (way === 'insert') return insertSql(db, table, source, { qualify })
  return upsertSql(db, table, source, way, qualify)
}

/** One array per column, including stamps. */
function loadText(db: Db, table: Table, schema: string): string {
  const kinds = table.columns.map(({ kind }) => kind)
  const names = kinds.map((_, i) => `c${i}`).join(', ')
  const source = sql.raw(`select ${names} from ${unnested(kinds, 1)} as u(${names})`)
  return insertSql(db, table, source, { qualify: (name) => sql.id(schema, name), skips: true })
}

/** Counts the rows that an upsert would leave as they are. $1: tenant, $2: stamp, then one array per column. */
function settledText(db: Db, table: Table, schema: string): string {
  const names = tupleColumns(table).map((column) => pg.escapeIdentifier(column.name))
  const source = sql.raw(
    `select *, $2::timestamptz as _synced_at from ${unnested(kindsOf(table), 3)} as u(${names.join(', ')})`,
  )
  return settledSql(db, table, source, sql.raw('$1::bigint'), (name) => sql.id(schema, name))
}

/** Shared by all sessions of one warehouse: compiled statements, and the rows written so far. */
export class StatementCache {
  /** Rows written by this process since it last updated the table's statistics. */
  readonly written = new Map<string, number>()
  readonly #texts = new Map<string, string>()

  constructor(
    readonly db: Db,
    readonly schema: string,
  ) {}

  /** The text of that name, compiled once. */
  text(name: string, compile: (db: Db, schema: string) => string): string {
    const text = this.#texts.get(name) ?? compile(this.db, this.schema)
    this.#texts.set(name, text)
    return text
  }
}

const listOf = (values: readonly (Int64 | string)[]): unknown =>
  typeof values[0] === 'string' ? values : `{${values.join(',')}}`

export class PostgresSession extends SharedSession<BinaryRows> {
  protected readonly locking = 'order by id for update'
  /** The first statement that failed. */
  failure: { readonly error: unknown; readonly statement: string } | undefined

  constructor(
    private readonly client: pg.PoolClient,
    private readonly cache: StatementCache,
  ) {
    super()
  }

  async run<T>(query: CompiledQuery<T>): Promise<{ rows: T[]; affected: number }> {
    const values = query.parameters.map((value) => (typeof value === 'bigint' ? String(value) : value))
    return this.#query<T>({ text: query.sql, values })
  }

  upsert(table: Table, rows: BinaryRows, stamp: BatchStamp, which: 'all' | 'differing'): Promise<number> {
    return this.#write(which, table, rows, stamp)
  }

  /** Checking for conflicts takes a quarter of the server's time for the rows. */
  insert(table: Table, rows: BinaryRows, stamp: BatchStamp): Promise<number> {
    return this.#write('insert', table, rows, stamp)
  }

  async #write(
    way: 'insert' | 'all' | 'differing',
    table: Table,
    rows: BinaryRows,
    stamp: BatchStamp,
  ): Promise<number> {
    const text = this.cache.text(`${way} ${table.name}`, (db, schema) => writeText(db, table, schema, way))
    const values = [String(stamp.tenantId), stamp.syncedAt, ...rows.columns]
    const { affected } = await this.#query({ text, values })
    this.#count(table, affected)
    return affected
  }

  async load(table: Table, tuples: readonly Tuple[]): Promise<void> {
    const text = this.cache.text(`load ${table.name}`, (db, schema) => loadText(db, table, schema))
    const kinds = table.columns.map(({ kind }) => kind)
    const { affected } = await this.#query({ text, values: binaryArrays(tuples, kinds) })
    this.#count(table, affected)
  }

  /** Rows since the last statistics. */
  #count({ name }: Table, rows: number): void {
    const { written } = this.cache
    written.set(name, (written.get(name) ?? 0) + rows)
  }

  async prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: BinaryRows): Promise<number> {
    const keys = table.key.slice(1).map((name, i) => {
      const place = tupleIndex(table, name)
      const same = `k.k${i} = t.${pg.escapeIdentifier(name)}`
      return { same, kind: kindsOf(table)[place] ?? 'text', column: rows.columns[place] }
    })
    const kept = `${unnested(
      keys.map(({ kind }) => kind),
      3,
    )} as k(${keys.map((_, i) => `k${i}`).join(', ')})`
    const { affected } = await this.#query({
      text: `delete from ${this.from(table.name)} t where ${this.ownedBy(table)} and not exists (select 1 from ${kept} where ${keys.map(({ same }) => same).join(' and ')})`,
      values: [String(tenantId), listOf(owners), ...keys.map(({ column }) => column)],
    })
    return affected
  }

  async countSettled(table: Table, rows: BinaryRows, stamp: BatchStamp): Promise<number> {
    const name = `settled ${table.name}`
    const text = this.cache.text(name, (db, schema) => settledText(db, table, schema))
    const values = [String(stamp.tenantId), stamp.syncedAt, ...rows.columns]
    const found = await this.#query<[Int64]>({ text, values, rowMode: 'array' })
    return Number(found.rows[0]?.[0] ?? 0)
  }

  ask<T extends unknown[]>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<{ rows: T[]; affected: number }> {
    const values = parameters.map((value) =>
      typeof value === 'object' ? listOf(value) : typeof value === 'string' ? value : String(value),
    )
    return this.#query<T>({ text, values, rowMode: 'array' })
  }

  protected from(table: string): string {
    return `${pg.escapeIdentifier(this.cache.schema)}.${pg.escapeIdentifier(table)}`
  }

  protected within(parameter: string, type: 'bigint' | 'text'): string {
    return `= any(${parameter}::${type}[])`
  }

  async #query<T>(
    query: pg.QueryConfig & { readonly rowMode?: 'array' },
  ): Promise<{ rows: T[]; affected: number }> {
    try {
      const { rows, rowCount } = await this.client.query(query)
      return { rows, affected: rowCount ?? 0 }
    } catch (error) {
      this.failure ??= { error: ofStatement(error, query.text), statement: query.text }
      throw error
    }
  }
}
