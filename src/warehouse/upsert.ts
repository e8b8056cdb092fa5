import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import type { Table } from '../model/tables.js'
import { stampColumns } from '../model/tables.js'

/**
 * The SQL of the one write path, the same for every dialect: what happens when a row is there already.
 * Guard of root rows: version is (updated_at, _synced_at), and an older one never overwrites a newer one. A tombstone
 * moreover yields only to a request that was sent after the one that found the record gone: a page in flight meanwhile
 * must not resurrect it. Equal stamps pass, so that a replay writes the same again.
 */
const rootGuard = (table: string): Expression<SqlBool> => {
  const mine = sql.id(table)
  return sql<SqlBool>`(${mine}.updated_at, ${mine}._synced_at) <= (excluded.updated_at, excluded._synced_at) and (${mine}._deleted_at is null or ${mine}._synced_at < excluded._synced_at)`
}

/** Rows without a version of their own: the list that was asked for later wins. */
const unversionedGuard = (table: string): Expression<SqlBool> =>
  sql<SqlBool>`${sql.id(table)}._synced_at <= excluded._synced_at`

/** Whether the row says something else than the stored one; the stamp, which every request would change, apart. */
function differs(table: Table): Expression<SqlBool> {
  const names = table.columns
    .map((c) => c.name)
    .filter((name) => !table.key.includes(name) && name !== '_synced_at')
  const stored = sql.join(names.map((name) => sql`${sql.id(table.name)}.${sql.id(name)}`))
  const brought = sql.join(names.map((name) => sql`excluded.${sql.id(name)}`))
  return sql<SqlBool>`(${stored}) is distinct from (${brought})`
}

/**
 * A child that another owner claims goes to the owner with the newer version: without a rule, the order of the pages
 * would decide, and a re-read of an old record would take children back from where they have moved. An owner that this
 * very batch has written (its stamp says so) claims it no longer: within a page, flatten has settled that.
 */
function ownerGuard(table: Table, root: (name: string) => Expression<unknown>): Expression<SqlBool> {
  if (!table.owner || table.key.includes(table.owner)) return sql<SqlBool>`true`
  const mine = sql.id(table.name)
  const owner = sql.id(table.owner)
  const owners = root(table.resource)
  return sql<SqlBool>`(${mine}.${owner} = excluded.${owner} or not exists (select 1 from ${owners} as o, ${owners} as n where o.tenant_id = excluded.tenant_id and o.id = ${mine}.${owner} and o._deleted_at is null and n.tenant_id = excluded.tenant_id and n.id = excluded.${owner} and o._synced_at <> excluded._synced_at and (o.updated_at, o._synced_at, o.id) > (n.updated_at, n._synced_at, n.id)))`
}

function guard(table: Table, root: (name: string) => Expression<unknown>): Expression<SqlBool> {
  if (table.role === 'child') return ownerGuard(table, root)
  return table.columns.some((c) => c.name === 'updated_at')
    ? rootGuard(table.name)
    : unversionedGuard(table.name)
}

/** `insert into … <source> on conflict …`, compiled; `source` yields rows in the order of `table.columns`. */
export function upsertSql<DB>(
  db: Kysely<DB>,
  table: Table,
  source: Expression<unknown>,
  differing: boolean,
  qualify: (name: string) => Expression<unknown> = (name) => sql.id(name),
): string {
  const columns = sql.join(table.columns.map((c) => sql.id(c.name)))
  const key = sql.join(table.key.map((name) => sql.id(name)))
  const set = sql.join(
    table.columns
      .filter((c) => !table.key.includes(c.name))
      .map((c) => sql`${sql.id(c.name)} = excluded.${sql.id(c.name)}`),
  )
  return sql`insert into ${qualify(table.name)} (${columns}) ${source} on conflict (${key}) do update set ${set} where ${guard(table, qualify)} ${differing ? sql`and ${differs(table)}` : sql``}`.compile(
    db,
  ).sql
}

/** Where each column's value comes from: a place in the tuple, or what the batch shares. */
export type Slot = number | 'tenant_id' | '_synced_at' | '_deleted_at'

export function slots(table: Table): Slot[] {
  let place = 0
  return table.columns.map((c) => (stampColumns.has(c.name) ? (c.name as Slot) : place++))
}

/** The place of a column in a table's tuples. */
export function tupleIndex(table: Table, column: string): number {
  const names = table.columns.filter((c) => !stampColumns.has(c.name)).map((c) => c.name)
  return names.indexOf(column)
}

/**
 * `select` that counts the rows of a source which are stored as they are; `source` yields rows `v` of the table's tuple
 * columns, and `tenant` is the expression for the tenant. Read only: an upsert that finds nothing to do locks rows.
 */
export function alikeSql<DB>(
  db: Kysely<DB>,
  table: Table,
  source: Expression<unknown>,
  tenant: Expression<unknown>,
  qualify: (name: string) => Expression<unknown> = (name) => sql.id(name),
): string {
  const names = table.columns.map((c) => c.name).filter((name) => !stampColumns.has(name))
  const pair = (name: string) => sql`s.${sql.id(name)} = v.${sql.id(name)}`
  const keys = sql.join(table.key.slice(1).map(pair), sql` and `)
  const stored = sql.join(names.map((name) => sql`s.${sql.id(name)}`))
  const brought = sql.join(names.map((name) => sql`v.${sql.id(name)}`))
  // `offset 0` keeps Postgres from making a join of it: without statistics it would read the whole table for one page.
  const found = sql`select 1 as found from ${qualify(table.name)} as s where s.tenant_id = ${tenant} and ${keys} and (${stored}) is not distinct from (${brought}) limit 1 offset 0`
  return sql`select count(*) as n from (${source}) as v where exists (${found})`.compile(db).sql
}
