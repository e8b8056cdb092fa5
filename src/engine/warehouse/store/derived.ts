/**
 * Recomputes what follows from stored records, using their stored rows, after a rule or its settings have changed
 * (recompute.ts). Runs in the caller's transaction.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Lines, RuleSettings, Stored, StoredRow } from '../../../../schema/derive.js'
import type { Int64 } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import { inParts } from '../../base/parts.js'
import { deriveRecord, rowOfTuple } from '../../model/flatten/derivedvalues.js'
import type { DerivedModel, ResourceModel } from '../../model/resourcemodel.js'
import type { Column, Table } from '../../model/table.js'
import { rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import { demandRebuild } from '../state/tenants.js'
import type { Session } from '../transaction.js'
import type { Version } from './versionbatch.js'
import { quoted } from './versions.js'
import { stampsBegin } from './voidstamps.js'

/** The settings of the rules, by tenant. */
export interface Rules {
  of(tenantId: Int64): RuleSettings
  /** The part of the settings that determines the rows, as JSON. Rows with other settings are recomputed. */
  textOf(tenantId: Int64): string
}

/** Records of one tenant, and how to compute what follows from them. */
interface StoredRecords {
  readonly dialect: Dialect
  readonly session: Session
  readonly resource: ResourceModel
  readonly settings: RuleSettings
  readonly tenantId: Int64
  /** The row of the lease under which they are recomputed. */
  readonly lease: string
}

/** Rows per statement: at most 64 columns, and SQLite allows 32,766 parameters. */
const rowsAtOnce = 100

type Ids = readonly Int64[]

/** Selects a column without losing a digit. */
export const exactly = ({ sql: { extra } }: Dialect, { name, kind }: Column) =>
  kind === 'number' || kind === 'json' ? extra.exact(name) : sql.ref(name)

const storedAs = (value: unknown, kind: Column['kind'] | undefined): Stored =>
  kind === 'boolean' && value !== null ? value === true || value === 1 : (value as Stored)

/** The rows of one table for those records, by record. */
async function readRows(
  { dialect, session, tenantId }: StoredRecords,
  table: Table,
  columns: readonly string[],
  ids: Ids,
): Promise<Map<Int64, StoredRow[]>> {
  const owner = table.owner ?? table.key[1] ?? ''
  const wanted = table.columns.filter(
    ({ name, computedBy }) => columns.includes(name) || computedBy !== undefined,
  )
  const query = dialect.db
    .selectFrom(rootTable(table))
    .select([
      sql<Int64>`${sql.ref(owner)}`.as('record of'),
      ...wanted.map((column) => sql<unknown>`${exactly(dialect, column)}`.as(column.name)),
    ])
    .where('tenant_id', '=', tenantId)
    .where(sql<Int64>`${sql.ref(owner)}`, 'in', [...ids])
  const { rows } = await session.run<Record<string, unknown>>(query.compile() as never)
  const found = new Map<Int64, StoredRow[]>()
  for (const { 'record of': id, ...values } of rows) {
    const row = Object.fromEntries(wanted.map(({ name, kind }) => [name, storedAs(values[name], kind)]))
    const known = found.get(id as Int64)
    if (known) known.push(row)
    else found.set(id as Int64, [row])
  }
  return found
}

/** What is in quarantine for those records, by record. */
async function readPaths(
  { dialect: { db }, session, resource, tenantId }: StoredRecords,
  ids: Ids,
): Promise<Map<string, string[]>> {
  const { rows } = await session.run(
    db
      .selectFrom('sync_quarantine')
      .select(['record_id', 'path'])
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource.name)
      .where('record_id', 'in', ids.map(String))
      .compile(),
  )
  const paths = new Map<string, string[]>()
  for (const { record_id, path } of rows) paths.set(record_id, [...(paths.get(record_id) ?? []), path])
  return paths
}

function* statementsFor(
  { dialect: { db }, tenantId }: StoredRecords,
  table: Table,
  ids: Ids,
  rows: readonly object[],
): Generator<CompiledQuery> {
  const name = table.name as 'tenants'
  const owner = sql<Int64>`${sql.ref(table.owner ?? '')}`
  yield db
    .deleteFrom(name)
    .where('tenant_id', '=', tenantId)
    .where(owner, 'in', [...ids])
    .compile()
  for (const some of inParts(rows, rowsAtOnce))
    yield db
      .insertInto(name)
      .values(some as never)
      .compile()
}

async function deriveOne(
  records: StoredRecords,
  one: DerivedModel,
  versions: ReadonlyMap<Int64, Version>,
): Promise<void> {
  const { dialect, session, resource, settings, tenantId, lease } = records
  const ids = [...versions.keys()]
  const read = resource.tables.filter(({ name }) => Object.hasOwn(one.declared.reads, name))
  const found: [string, Map<Int64, StoredRow[]>][] = []
  for (const table of read)
    found.push([table.name, await readRows(records, table, one.declared.reads[table.name] ?? [], ids)])
  const ofItself = one.declared.reads[one.table.name]
  const gone = ids.filter((id) => versions.get(id)?.deletedAt !== null)
  if (ofItself && gone.length > 0)
    found.push([one.table.name, await readRows(records, one.table, ofItself, gone)])
  const paths = await readPaths(records, ids)
  const context = { tenantId, settings, form: dialect.sql.numbers }
  const changed = new ChangedLines(read, one.declared.name)
  const { rows: leases } = await session.run(stampsBegin(dialect.db, lease).compile())
  const begin = leases[0]?.from ?? ''
  const rows = [...versions].flatMap(([id, { syncedAt, deletedAt, unlistedAt }]) => {
    const own = Object.fromEntries(found.map(([name, byId]) => [name, byId.get(id) ?? []]))
    const record = { tenantId, rows: own, quarantined: paths.get(String(id)) ?? [] }
    const { tuples, lines } = deriveRecord(one, id, record, context)
    if (lines) changed.add(tenantId, id, own, lines)
    return tuples.map((tuple) => ({
      tenant_id: tenantId,
      ...rowOfTuple(one.table, tuple),
      // The record hasn't changed, but this row has.
      _synced_at: syncedAt > begin ? syncedAt : begin,
      _deleted_at: deletedAt,
      _unlisted_at: unlistedAt,
    }))
  })
  for (const statement of statementsFor(records, one.table, ids, rows)) await session.run(statement)
  await changed.write(records)
}

/** Recomputes the rows that follow from those records. Locks the records first, as every writer does. */
export async function deriveStored(records: StoredRecords, ids: Ids): Promise<void> {
  const { session, resource, tenantId } = records
  const [root] = resource.tables
  if (!root) throw new Bug(`${resource.name} has no table`)
  const versions = await session.versions(root, tenantId, [...new Set(ids)])
  if (versions.size === 0) return
  for (const one of resource.derived) await deriveOne(records, one, versions)
}

/*
 * Computed columns of stored lines are written where their values have changed. A changed time zone affects no line,
 * and a changed rate only taxed ones; the others aren't touched.
 */

/** Rows per statement. Their JSON has a few hundred kilobytes. */
const linesAtOnce = 5000

export const columnNamed = ({ name, columns }: Table, wanted: string): Column => {
  const found = columns.find((column) => column.name === wanted)
  if (!found) throw new Bug(`${name} has no column ${wanted}`)
  return found
}

/** A value as JSON, every digit kept. */
const asJson = (value: Stored): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null)

class ChangedLines {
  readonly #targets: readonly {
    readonly table: Table
    /** The columns of its key, including the tenant. */
    readonly key: readonly Column[]
    readonly computed: readonly Column[]
    readonly rows: (readonly Stored[])[]
  }[]

  constructor(tables: readonly Table[], by: string) {
    this.#targets = tables.flatMap((table) => {
      const computed = table.columns.filter(({ computedBy }) => computedBy === by)
      const key = table.key.map((name) => columnNamed(table, name))
      return computed.length > 0 ? [{ table, key, computed, rows: [] }] : []
    })
  }

  /** `rows`: the rows of one record as the rule read them. `lines`: what the rule computes for them. */
  add(tenantId: Int64, id: Int64, rows: Readonly<Record<string, readonly StoredRow[]>>, lines: Lines): void {
    for (const { table, key, computed, rows: changed } of this.#targets)
      for (const [i, row] of (rows[table.name] ?? []).entries()) {
        const values = lines[table.name]?.slice(i * computed.length, (i + 1) * computed.length) ?? []
        if (computed.every(({ name }, j) => (row[name] ?? null) === (values[j] ?? null))) continue
        const own = key.slice(1).map(({ name }) => (name === table.owner ? id : (row[name] ?? null)))
        changed.push([tenantId, ...own, ...computed.map((_, j) => values[j] ?? null)])
      }
  }

  async write(where: { readonly dialect: Dialect; readonly session: Session }): Promise<void> {
    for (const { table, key, computed, rows } of this.#targets)
      await updateListed(where, { table, key, set: computed, rows })
    // Of lines, only their records have stamps, and those say which request brought them.
    const tenants = this.#targets.flatMap(({ rows }) => rows.map(([tenantId]) => tenantId as Int64))
    if (tenants.length > 0) await where.session.run(demandRebuild(where.dialect.db, tenants))
  }
}

/** Sets columns of rows that are given by their keys: in each row the key's values, then those to set. */
export async function updateListed(
  { dialect, session }: { readonly dialect: Dialect; readonly session: Session },
  {
    table,
    key,
    set,
    rows,
  }: {
    readonly table: Pick<Table, 'name'>
    /** Including the tenant. */
    readonly key: readonly Column[]
    readonly set: readonly Column[]
    readonly rows: readonly (readonly Stored[])[]
  },
): Promise<void> {
  // The tenant is one of the given values. If it were a parameter, SQLite without statistics would read all lines of the
  // tenant for each of these.
  const given = dialect.sql.listed('$1', [...key, ...set])
  const values = set.map(({ name }) => `${quoted(name)} = v.${quoted(name)}`)
  const same = key.map(({ name }) => `l.${quoted(name)} = v.${quoted(name)}`)
  const text = `update ${dialect.sql.versionWords.from(table.name)} as l set ${values.join(', ')} from ${given} as v where ${same.join(' and ')}`
  for (const some of inParts(rows, linesAtOnce))
    await session.ask(text, [`[${some.map((row) => `[${row.map(asJson).join(',')}]`).join(',')}]`])
}
