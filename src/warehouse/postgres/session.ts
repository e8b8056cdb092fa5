import { type CompiledQuery, type Kysely, sql } from 'kysely'
import pg from 'pg'
import type { Int64, Kind } from '../../../schema/resource.js'
import { Bug } from '../../errors.js'
import type { Value } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/tables.js'
import type { BatchStamp, Database, Session, Version } from '../dialect.js'
import type { Rows } from '../rows.js'
import { alikeSql, slots, tupleIndex, upsertSql } from '../upsert.js'
import { columnsOf } from './rows.js'

/** SQL types of the kinds. */
export const types: Record<Kind, string> = {
  id: 'bigint',
  integer: 'bigint',
  cents: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  text: 'text',
  timestamp: 'timestamptz',
  json: 'jsonb',
}

/** The upsert of one table, compiled once: one array a column, unnested by the server. $1: tenant, $2: stamp. */
function upsertText(db: Kysely<Database>, table: Table, schema: string, differing: boolean): string {
  const picked = slots(table).map((place) => {
    if (place === 'tenant_id') return '$1::bigint'
    if (place === '_synced_at') return '$2::timestamptz'
    if (place === '_deleted_at') return 'null::timestamptz'
    return `u.c${place}`
  })
  const columns = tupleColumns(table)
  const arrays = columns.map(({ kind }, place) => `$${place + 3}::${types[kind]}[]`)
  const names = columns.map((_, place) => `c${place}`)
  const source = sql.raw(
    `select ${picked.join(', ')} from unnest(${arrays.join(', ')}) as u(${names.join(', ')})`,
  )
  return upsertSql(db, table, source, differing, (name) => sql.id(schema, name))
}

const idList = (ids: readonly Value[]): string => `{${ids.join(',')}}`

/** Quarantine's statements are as many as there are numbers of rows; a server keeps prepared ones for good. */
const mostNames = 50

/** What all sessions of one warehouse share: the statements compiled so far, and what was written. */
export class StatementCache {
  readonly db: Kysely<Database>
  readonly schema: string
  /** Rows written by this process since it made statistics of their table. */
  readonly written = new Map<string, number>()
  readonly #upserts = new Map<string, string>()
  readonly #alike = new Map<string, string>()
  /** What statements are called when they come again. */
  readonly #names = new Map<string, string>()

  constructor(db: Kysely<Database>, schema: string) {
    this.db = db
    this.schema = schema
  }

  /** Undefined the first time. What comes again is prepared: progress and books of a page take longer to plan than to write. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known === undefined && this.#names.size < mostNames)
      this.#names.set(text, `again ${this.#names.size}`)
    return known
  }

  upsert(table: Table, differing: boolean): string {
    const name = `${table.name} ${differing}`
    const known = this.#upserts.get(name)
    if (known !== undefined) return known
    const made = upsertText(this.db, table, this.schema, differing)
    this.#upserts.set(name, made)
    return made
  }

  /** Counts the rows of arrays that are stored as they are. $1: tenant; the arrays from $3 on. */
  alike(table: Table): string {
    const known = this.#alike.get(table.name)
    if (known !== undefined) return known
    const columns = tupleColumns(table)
    const arrays = columns.map((column, i) => `$${i + 3}::${types[column.kind]}[]`)
    const names = columns.map((column) => pg.escapeIdentifier(column.name))
    const source = sql.raw(`select * from unnest(${arrays.join(', ')}) as u(${names.join(', ')})`)
    const text = alikeSql(this.db, table, source, sql.raw('$1::bigint'), (name) => sql.id(this.schema, name))
    this.#alike.set(table.name, text)
    return text
  }
}

export class PostgresSession implements Session {
  /** The first statement that failed. */
  failure: { readonly error: unknown } | undefined

  constructor(
    private readonly client: pg.PoolClient,
    private readonly shelf: StatementCache,
  ) {}

  async run<R>(query: CompiledQuery<R>): Promise<{ rows: R[]; affected: number }> {
    const parameters = query.parameters.map((value) => (typeof value === 'bigint' ? String(value) : value))
    const name = this.shelf.nameOf(query.sql)
    const result = await this.#query({ text: query.sql, values: parameters, ...(name && { name }) })
    return { rows: result.rows as R[], affected: result.rowCount ?? 0 }
  }

  async versions(table: Table, tenantId: Int64, ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const result = await this.#query<[Int64, string, string, string | null]>({
      name: `versions ${table.name}`,
      rowMode: 'array',
      text: `select id, updated_at, _synced_at, _deleted_at from ${this.#name(table)} where tenant_id = $1 and id = any($2::bigint[]) order by id for update`,
      values: [String(tenantId), idList(ids)],
    })
    return new Map(
      result.rows.map(([id, updatedAt, syncedAt, deletedAt]) => [id, { updatedAt, syncedAt, deletedAt }]),
    )
  }

  async upsert(table: Table, rows: Rows, shared: BatchStamp, differing: boolean): Promise<number> {
    const result = await this.#query({
      name: `${differing ? 'update' : 'upsert'} ${table.name}`,
      text: this.shelf.upsert(table, differing),
      values: [String(shared.tenantId), shared.syncedAt, ...columnsOf(table, rows)],
    })
    const count = result.rowCount ?? 0
    const { written } = this.shelf
    written.set(table.name, (written.get(table.name) ?? 0) + count)
    return count
  }

  async confirm(table: Table, ids: readonly Int64[], { tenantId, syncedAt }: BatchStamp): Promise<void> {
    await this.#query({
      name: `confirm ${table.name}`,
      text: `update ${this.#name(table)} set _synced_at = $1 where tenant_id = $2 and id = any($3::bigint[]) and _synced_at < $1`,
      values: [syncedAt, String(tenantId), idList(ids)],
    })
  }

  async childrenMatch(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<boolean> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const owned = `select count(*) from ${this.#name(table)} where tenant_id = $1 and ${pg.escapeIdentifier(table.owner)} = any($2::bigint[])`
    const result = await this.#query<[Int64, Int64]>({
      name: `holds ${table.name}`,
      rowMode: 'array',
      text: `select (${owned}), (${this.shelf.alike(table)})`,
      values: [String(tenantId), idList(owners), ...columnsOf(table, rows)],
    })
    const [stored, alike] = result.rows[0] ?? []
    return stored === rows.owners.length && alike === rows.owners.length
  }

  async clearQuarantine(
    resource: string,
    recordIds: readonly string[],
    { tenantId, syncedAt }: BatchStamp,
  ): Promise<void> {
    await this.#query({
      name: 'absolve',
      text: `delete from ${this.#name({ name: 'sync_quarantine' })} where tenant_id = $1 and resource = $2 and record_id = any($3::text[]) and last_seen_at < $4`,
      values: [String(tenantId), resource, recordIds, syncedAt],
    })
  }

  async prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: Rows): Promise<number> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const rest = table.key.slice(1)
    const same = rest.map((name, i) => `k.k${i} = t.${pg.escapeIdentifier(name)}`).join(' and ')
    const kinds = rest.map((name) => table.columns.find((c) => c.name === name)?.kind ?? 'text')
    const arrays = kinds.map((kind, i) => `$${i + 3}::${types[kind]}[]`).join(', ')
    const result = await this.#query({
      name: `prune ${table.name}`,
      text: `delete from ${this.#name(table)} t where tenant_id = $1 and ${pg.escapeIdentifier(table.owner)} = any($2::bigint[]) and not exists (select 1 from unnest(${arrays}) as k(${rest.map((_, i) => `k${i}`).join(', ')}) where ${same})`,
      values: [
        String(tenantId),
        idList(owners),
        ...columnsOf(
          table,
          rows,
          rest.map((name) => tupleIndex(table, name)),
        ),
      ],
    })
    return result.rowCount ?? 0
  }

  async #query<R extends pg.QueryResultRow | unknown[]>(
    query: pg.QueryConfig | (pg.QueryConfig & { readonly rowMode: 'array' }),
  ): Promise<{ rows: R[]; rowCount: number | null }> {
    try {
      return (await this.client.query(query)) as unknown as { rows: R[]; rowCount: number | null }
    } catch (error) {
      this.failure ??= { error }
      throw error
    }
  }

  #name(table: { readonly name: string }): string {
    return `${pg.escapeIdentifier(this.shelf.schema)}.${pg.escapeIdentifier(table.name)}`
  }
}
