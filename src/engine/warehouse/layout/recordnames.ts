/**
 * Computes the stored names of records, and what is like them, again (model/flatten/recordname.ts) when they are made of
 * other fields than before, and in a warehouse of an older program, which has none. Sends no request. rewrites.ts
 * calls this; what the names of each resource were made of is in `sync_meta`.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Stored } from '../../../../schema/derive.js'
import type { Int64 } from '../../../../schema/resource.js'
import { fieldText } from '../../model/flatten/membertext.js'
import { madeColumns, madeOf, nameColumn } from '../../model/flatten/recordname.js'
import type { Model, ResourceModel } from '../../model/resourcemodel.js'
import type { Column, Table } from '../../model/table.js'
import { type Db, readerOf, rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import { readMeta, storeMeta } from '../state/meta.js'
import { demandRebuild } from '../state/tenants.js'
import { columnNamed, updateListed } from '../store/derived.js'
import type { Transact } from '../transaction.js'
import type { Change } from './ddl.js'

const recordsAtOnce = 500
/** In sync_meta. */
export const namesMemory = 'names'
/** Raise it whenever the same fields make another name. */
const version = 1

const parsed = (stored: string | null): Readonly<Record<string, string>> =>
  stored ? (JSON.parse(stored) as Readonly<Record<string, string>>) : {}

const readNamesMade = async (db: Db): Promise<Readonly<Record<string, string>>> =>
  parsed(await readMeta(readerOf(db), namesMemory))

/** What the names of a resource are made of: the fields, and the kinds of those that the configuration made columns. */
function namesText({ resource, promoted }: ResourceModel): string | undefined {
  const [name, ...more] = madeColumns(resource)
  if (!name) return undefined
  const fields = [name, ...more].flatMap(({ lists }) => lists.flat())
  const columns = Object.fromEntries(Object.entries(promoted).filter(([column]) => fields.includes(column)))
  const besides = more.map(({ name: column, kind, lists }) => [column, kind, lists])
  return JSON.stringify({
    version,
    lists: name.lists,
    columns,
    besides: besides.length > 0 ? besides : undefined,
  })
}

/** What is remembered after a migration: tables that it made have no names to make again, columns that it made have none. */
export function namesAfter(
  stored: string | null,
  { byName }: Model,
  changes: readonly Pick<Change, 'table' | 'kind' | 'column'>[],
): string {
  const made: Record<string, string> = { ...parsed(stored) }
  for (const { table, kind, column } of changes) {
    const resource = byName.get(table)
    const text = resource && namesText(resource)
    if (kind === 'table' && text !== undefined) made[table] = text
    if (column?.computedBy === nameColumn) delete made[table]
  }
  return JSON.stringify(made)
}

interface NamedRow {
  readonly tenant: Int64
  readonly id: Int64
  readonly [field: `field ${number}`]: unknown
  readonly [member: `member ${number}`]: unknown
  readonly [column: `_${string}`]: Stored
}

function nextRows(
  { db, sql: { extra } }: Dialect,
  table: Table,
  fields: readonly { readonly name: string; readonly column: Column | undefined }[],
  made: ReturnType<typeof madeColumns>,
  after: NamedRow | undefined,
): CompiledQuery<NamedRow> {
  const values = fields.flatMap(({ name, column }, i) => {
    const isExact = column?.kind === 'number' || column?.kind === 'json'
    const value = column ? (isExact ? extra.exact(name) : sql.ref(name)) : sql`null`
    // While a list is to be read again, for a column that the configuration has made or left, the value is in either.
    return [sql<unknown>`${value}`.as(`field ${i}`), sql<unknown>`${extra.member(name)}`.as(`member ${i}`)]
  })
  const query = db
    .selectFrom(rootTable(table))
    .select([
      'tenant_id as tenant',
      'id',
      ...made.map(({ name }) => sql<Stored>`${sql.ref(name)}`.as(name)),
      ...values,
    ])
  const rest = after ? query.where(sql<boolean>`(tenant_id, id) > (${after.tenant}, ${after.id})`) : query
  return rest.orderBy('tenant_id').orderBy('id').limit(recordsAtOnce).compile() as CompiledQuery<NamedRow>
}

/** The resources whose stored names are made of other fields than the configured ones. */
export async function withOtherNames(db: Db, { list }: Model): Promise<ResourceModel[]> {
  const made = await readNamesMade(db)
  return list.filter((resource) => {
    const wanted = namesText(resource)
    return wanted !== undefined && made[resource.name] !== wanted
  })
}

/** Makes the stored names of a resource again, and remembers what of. Returns how many records got another one. */
export async function remakeNames(
  dialect: Dialect,
  transact: Transact,
  resource: ResourceModel,
): Promise<number> {
  const live = await dialect.catalog.liveColumns()
  const isLive = (wanted: string): boolean =>
    live.some(({ table, name }) => table === resource.name && name === wanted)
  const isWhole = madeColumns(resource.resource).every(({ name }) => isLive(name))
  const changed = isWhole ? await fillNames(dialect, transact, resource) : 0
  const made = { ...(await readNamesMade(dialect.db)), [resource.name]: namesText(resource) ?? '' }
  await transact((session) => session.run(storeMeta(dialect.db, namesMemory, JSON.stringify(made))))
  return changed
}

async function fillNames(
  dialect: Dialect,
  transact: Transact,
  { resource, tables: [table] }: ResourceModel,
): Promise<number> {
  const made = madeColumns(resource)
  if (!table) return 0
  const fields = [...new Set(made.flatMap(({ lists }) => lists.flat()))].map((name) => ({
    name,
    column: table.columns.find((column) => column.name === name),
  }))
  const key = table.key.map((name) => columnNamed(table, name))
  const set = made.map(({ name }) => columnNamed(table, name))
  let changed = 0
  let last: NamedRow | undefined
  for (;;) {
    const rows = await transact(async (session) => {
      const found = (await session.run(nextRows(dialect, table, fields, made, last))).rows
      const others = found.flatMap((row) => {
        const texts = new Map(
          fields.map(({ name, column }, i) => [
            name,
            fieldText(row[`field ${i}`], column?.kind ?? 'json') ?? fieldText(row[`member ${i}`], 'json'),
          ]),
        )
        const values = made.map((column) => madeOf(column, (field) => texts.get(field) ?? null))
        const isSame = made.every(({ name }, i) => row[name as `_${string}`] === values[i])
        return isSame ? [] : [[row.tenant, row.id, ...values] as const]
      })
      changed += others.length
      await updateListed({ dialect, session }, { table, key, set, rows: others })
      const tenants = others.map(([tenant]) => tenant)
      if (tenants.length > 0) await session.run(demandRebuild(dialect.db, tenants))
      return found
    })
    last = rows.at(-1)
    if (rows.length < recordsAtOnce) return changed
  }
}
