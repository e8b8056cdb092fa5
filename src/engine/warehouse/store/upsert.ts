/**
 * The upsert, in SQL that both databases accept (docs/dev/architecture.md, What else the engine rests on). The sessions of
 * sqlite/ and postgres/ compile it, each with its own source of rows.
 */
import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import { stampColumns, type Table, tupleColumns } from '../../model/table.js'

/** The name of a table as a statement needs it. */
type Qualify = (name: string) => Expression<unknown>

/**
 * The guard of root rows. A version is (updated_at, _synced_at), and an older one never overwrites a newer one. A
 * tombstone yields only to a request that was sent after the request that found the record gone: a page that was under
 * way meanwhile must not bring the record back. Equal stamps pass, so a repeated batch writes the same again.
 */
const rootGuard = (of: string, by: string): Expression<SqlBool> => {
  const [stored, sent] = [sql.id(of), sql.id(by)]
  return sql<SqlBool>`(${stored}.updated_at, ${stored}._synced_at) <= (${sent}.updated_at, ${sent}._synced_at) and (${stored}._deleted_at is null or ${stored}._synced_at < ${sent}._synced_at)`
}

/** Rows without a version: the list that was requested later wins, unless the stored stamp is void (voidstamps.ts). */
function unversionedGuard(of: string, by: string, qualify: Qualify): Expression<SqlBool> {
  const stamp = sql`${sql.id(of)}._synced_at`
  const end = sql`select max(stamps_until) from ${qualify('sync_lease')}`
  return sql<SqlBool>`(${stamp} <= ${sql.id(by)}._synced_at or ${stamp} > (${end}))`
}

/** Stamps: rows that differ only in these have the same content. */
const uncompared: ReadonlySet<string> = new Set(['_synced_at', '_seen_from', '_unlisted_at'])

function differs(table: Table): Expression<SqlBool> {
  const names = table.columns
    .map((c) => c.name)
    .filter((name) => !table.key.includes(name) && !uncompared.has(name))
  const stored = sql.join(names.map((name) => sql`${sql.id(table.name)}.${sql.id(name)}`))
  const brought = sql.join(names.map((name) => sql`excluded.${sql.id(name)}`))
  return sql<SqlBool>`(${stored}) is distinct from (${brought})`
}

/** Whether a row may be replaced: `of` and `by` are the names of the stored row and of the one that was sent. */
function guard(table: Table, of: string, by: string, qualify: Qualify): Expression<SqlBool> {
  // Apply writes the rows of a record only together with the record.
  if (table.role === 'child' || table.role === 'derived') return sql<SqlBool>`true`
  return table.columns.some((c) => c.name === 'updated_at')
    ? rootGuard(of, by)
    : unversionedGuard(of, by, qualify)
}

/** Of two concurrent requests, the later one may show the older version. No two versions share an instant. */
function newValue(table: Table, column: string): Expression<unknown> {
  const brought = sql`excluded.${sql.id(column)}`
  if (column !== '_seen_from') return brought
  const stored = sql`${sql.id(table.name)}.${sql.id(column)}`
  return sql`case when ${stored} > ${brought} then ${stored} else ${brought} end`
}

/** Like upsertSql, for rows that are new. */
export function insertSql<DB>(
  db: Kysely<DB>,
  table: Table,
  source: Expression<unknown>,
  {
    qualify = sql.id,
    skips = false,
  }: {
    readonly qualify?: Qualify
    /** A row whose key exists is skipped; otherwise the statement fails. */
    readonly skips?: boolean
  } = {},
): string {
  const columns = sql.join(table.columns.map((c) => sql.id(c.name)))
  const skip = skips ? sql` on conflict do nothing` : sql``
  return sql`insert into ${qualify(table.name)} (${columns}) ${source}${skip}`.compile(db).sql
}

/** `insert into … <source> on conflict …`, compiled. `source` returns rows in the order of `table.columns`. */
export function upsertSql<DB>(
  db: Kysely<DB>,
  table: Table,
  source: Expression<unknown>,
  which: 'all' | 'differing',
  qualify: Qualify = (name) => sql.id(name),
): string {
  const columns = sql.join(table.columns.map((c) => sql.id(c.name)))
  const key = sql.join(table.key.map((name) => sql.id(name)))
  const set = sql.join(
    table.columns
      // Whether its list shows a record isn't part of the record (unlisted.ts).
      .filter((c) => !table.key.includes(c.name) && c.name !== '_unlisted_at')
      .map((c) => sql`${sql.id(c.name)} = ${newValue(table, c.name)}`),
  )
  return sql`insert into ${qualify(table.name)} (${columns}) ${source} on conflict (${key}) do update set ${set} where ${guard(table, table.name, 'excluded', qualify)} ${which === 'differing' ? sql`and ${differs(table)}` : sql``}`.compile(
    db,
  ).sql
}

/** The source of a column's value: a position in the tuple, or a value that the batch shares. */
export type Slot = number | 'tenant_id' | '_synced_at' | '_deleted_at' | '_unlisted_at' | '_seen_from'

export function slots(table: Table): Slot[] {
  let place = 0
  return table.columns.map((c) => (stampColumns.has(c.name) ? (c.name as Slot) : place++))
}

export const tupleIndex = (table: Table, column: string): number =>
  tupleColumns(table).findIndex(({ name }) => name === column)

/** The position, in a table's tuples, of the id of the record that a row belongs to. */
export const ownerPlace = (table: Table): number => tupleIndex(table, table.owner ?? table.key[1] ?? '')

/**
 * The `select` that counts those rows of a source that an upsert would leave as they are: stored exactly like this, or
 * in a version that another request brought and the guard protects from them. `source` returns the table's tuple
 * columns, and `_synced_at`. Only a `select` doesn't lock: an upsert with nothing to change still locks its rows.
 */
export function settledSql<DB>(
  db: Kysely<DB>,
  table: Table,
  source: Expression<unknown>,
  tenant: Expression<unknown>,
  qualify: Qualify = (name) => sql.id(name),
): string {
  const names = tupleColumns(table).map(({ name }) => name)
  const pair = (name: string) => sql`s.${sql.id(name)} = v.${sql.id(name)}`
  const keys = sql.join(table.key.slice(1).map(pair), sql` and `)
  const stored = sql.join(names.map((name) => sql`s.${sql.id(name)}`))
  const brought = sql.join(names.map((name) => sql`v.${sql.id(name)}`))
  const yields = guard(table, 's', 'v', qualify)
  const others =
    table.owner === undefined ? sql` or (s._synced_at <> v._synced_at and not (${yields}))` : sql``
  // `offset 0` keeps Postgres from making this a join, for which it would read a whole table without statistics.
  const found = sql`select 1 as found from ${qualify(table.name)} as s where s.tenant_id = ${tenant} and ${keys} and ((${stored}) is not distinct from (${brought})${others}) limit 1 offset 0`
  return sql`select count(*) as n from (${source}) as v where exists (${found})`.compile(db).sql
}
