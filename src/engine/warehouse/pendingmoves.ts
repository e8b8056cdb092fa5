/**
 * Moves the values of one field between `_extra` and a column, batch by batch in the order of the rows' keys.
 * migratecolumns.ts decides which fields move, and where to.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64, Kind } from '../../../schema/resource.js'
import type { QuarantineEntry, Value } from '../model/flatten/batch.js'
import { cut } from '../model/flatten/jsontext.js'
import { memberOfValue, valueOfMember } from '../model/flatten/membertext.js'
import type { Table } from '../model/table.js'
import { rootTable } from './database.js'
import type { Dialect } from './dialect.js'
import { quarantineStatements } from './quarantine.js'
import { demandRebuild } from './tenants.js'
import type { Session } from './transaction.js'

/** Rows per transaction. */
const rowsAtOnce = 500
/** The most of a value that quarantine keeps. */
const longestValue = 4096

/** Runs work in a transaction of the run that holds the lease. */
export type Transact = <T>(work: (session: Session) => Promise<T>) => Promise<T>

export interface MovingField {
  /** The resource's own table. */
  readonly table: Table
  readonly name: string
  readonly kind: Kind
  readonly to: 'column' | '_extra'
  /** What is stored of a value where it goes to, and in quarantine: `privacy` may hide it there. */
  readonly hidden: {
    value(tenantId: Int64, value: Value): Value
    entry(entry: QuarantineEntry): QuarantineEntry
  }
}

/** A row whose value hasn't moved yet. */
interface WaitingRow {
  readonly tenant: number | bigint
  readonly id: number | bigint
  readonly syncedAt: string
  /** The member's JSON text, or the column's value. */
  readonly value: unknown
}

/** Moves what hasn't moved yet. Returns the number of rows. */
export async function moveValues(dialect: Dialect, transact: Transact, field: MovingField): Promise<number> {
  let moved = 0
  let last: WaitingRow | undefined
  for (;;) {
    const rows = await transact((session) => moveBatch(dialect, session, field, last))
    moved += rows.length
    last = rows.at(-1)
    if (rows.length < rowsAtOnce) return moved
  }
}

async function moveBatch(
  dialect: Dialect,
  session: Session,
  field: MovingField,
  after: WaitingRow | undefined,
): Promise<readonly WaitingRow[]> {
  const { rows } = await session.run(waitingRows(dialect, field, after))
  const move = field.to === 'column' ? fill : empty
  for (const row of rows) for (const statement of move(dialect, field, row)) await session.run(statement)
  if (rows.length > 0)
    await session.run(
      demandRebuild(
        dialect.db,
        rows.map(({ tenant }) => tenant),
      ),
    )
  return rows
}

/** The next rows whose `_extra` has the member, or whose column has a value. */
function waitingRows(
  { db, sql: { extra } }: Dialect,
  { table, name, kind, to }: MovingField,
  after: WaitingRow | undefined,
): CompiledQuery<WaitingRow> {
  const key = sql.ref(table.key[1] ?? '')
  const column = kind === 'number' || kind === 'json' ? extra.exact(name) : sql.ref(name)
  let query = db
    .selectFrom(rootTable(table))
    .select([
      'tenant_id as tenant',
      sql<number | bigint>`${key}`.as('id'),
      '_synced_at as syncedAt',
      sql<unknown>`${to === 'column' ? extra.member(name) : column}`.as('value'),
    ])
    .where(to === 'column' ? extra.has(name) : sql<boolean>`${sql.ref(name)} is not null`)
  if (after) query = query.where(sql<boolean>`(tenant_id, ${key}) > (${after.tenant}, ${after.id})`)
  return query.orderBy('tenant_id').orderBy(key).limit(rowsAtOnce).compile()
}

/** The update of one row. Its stamps stay the same because its version does. */
function rewrite(
  { db }: Dialect,
  { table, name }: MovingField,
  { tenant, id }: WaitingRow,
  { value, _extra }: { readonly value: Value; readonly _extra: unknown },
): CompiledQuery {
  return db
    .updateTable(rootTable(table))
    .set({ [name]: value, _extra } as never)
    .where('tenant_id', '=', tenant)
    .where(sql.ref(table.key[1] ?? ''), '=', id)
    .compile()
}

/** A value that the column can't hold goes to quarantine, as it would if it came from the API. */
function fill(dialect: Dialect, field: MovingField, row: WaitingRow): CompiledQuery[] {
  const { name, kind, table, hidden } = field
  const { value: plain, reason } = valueOfMember(String(row.value), kind, dialect.sql.numbers)
  const value = hidden.value(row.tenant, plain)
  const update = rewrite(dialect, field, row, { value, _extra: dialect.sql.extra.without(name) })
  if (reason === null) return [update]
  const { tenant: tenantId, id, syncedAt } = row
  const text = cut(String(row.value), longestValue)
  const entry = hidden.entry({ recordId: String(id), path: name, value: text, reason })
  return [
    update,
    ...quarantineStatements(dialect.db, { tenantId, resource: table.resource, syncedAt }, [entry]),
  ]
}

function empty(dialect: Dialect, field: MovingField, row: WaitingRow): CompiledQuery[] {
  const value = field.hidden.value(row.tenant, row.value as Value)
  const { extra } = dialect.sql
  const _extra =
    value === null ? sql.ref('_extra') : extra.with(field.name, memberOfValue(row.value, field.kind))
  return [rewrite(dialect, field, row, { value: null, _extra })]
}
