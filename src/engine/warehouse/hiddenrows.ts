/** Rewrites rows, versions, quarantine and drift in which something is hidden now. Used by hiding.ts. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { historyName } from '../model/historytable.js'
import { hiddenValue } from '../model/privacy.js'
import type { Model } from '../model/resourcemodel.js'
import type { Column, Table } from '../model/table.js'
import { rootTable } from './database.js'
import { updateListed } from './derivedlines.js'
import type { Dialect } from './dialect.js'
import type { Transact } from './pendingmoves.js'
import type { Hides, Hiding } from './privacystate.js'
import type { Session } from './transaction.js'

/** Records whose rows are rewritten in one transaction. */
const recordsAtOnce = 2000

/** How stored rows are hidden: in transactions of the lease's holder. */
export interface HidingWork {
  readonly dialect: Dialect
  readonly transact: Transact
  readonly hides: Hides & Pick<Model, 'list' | 'tableByName'>
  /** Now, canonical. */
  readonly at: string
}

/** The column that says which record a row belongs to. */
const ownerOf = ({ role, owner }: Table): string => (role === 'child' ? (owner ?? 'id') : 'id')

/** The table of a resource, of its nested lists, or of its versions, whether they are still kept or not. */
function tableNamed(
  { hides }: HidingWork,
  name: string,
): { readonly table: Table; readonly nested?: readonly Table[] } {
  const known = hides.tableByName.get(name)
  if (known) return { table: known }
  for (const { resource, tables } of hides.list) {
    const [root, ...nested] = tables
    if (root && historyName(resource) === name) {
      const key = [...root.key, '_seen_from', '_valid_from']
      const stamps = key
        .slice(root.key.length)
        .map((stamp) => ({ name: stamp, kind: 'timestamp' as const, nullable: false, doc: '' }))
      return { table: { ...root, name, role: 'history', key, columns: [...root.columns, ...stamps] }, nested }
    }
  }
  throw new Bug(`There is no table ${name}`)
}

/** Columns of one table, which are all hidden up to the same record. */
export async function hideTable(
  work: HidingWork,
  { table: name, doneTo }: Hiding,
  columns: readonly Hiding[],
): Promise<number> {
  const { dialect, transact } = work
  const { table, nested = [] } = tableNamed(work, name)
  let done = 0
  let last = recordIn(doneTo)
  for (;;) {
    const next = await transact(async (session) => {
      const part = await nextRecords(dialect, session, { table, columns, nested, after: last })
      if (!part) return undefined
      done += await hidePart(work, session, { table, columns, nested, ...part })
      const reached = { done_to: JSON.stringify([String(part.to[0]), String(part.to[1])]) }
      const noted = dialect.db
        .updateTable('sync_privacy')
        .set(reached as never)
        .where('table', '=', name)
      await session.run(
        noted
          .where(
            'column',
            'in',
            columns.map((one) => one.name),
          )
          .compile(),
      )
      return part.to
    })
    if (!next) return done
    last = next
  }
}

/** The ids are kept as texts, since JSON may round them. */
function recordIn(doneTo: string | null): Part['after'] {
  if (doneTo === null) return undefined
  const [tenant = '0', record = '0'] = JSON.parse(doneTo) as string[]
  return [BigInt(tenant), BigInt(record)]
}

interface Part {
  readonly after: readonly [Int64, Int64] | undefined
  readonly to: readonly [Int64, Int64]
}

const anyOf = (columns: readonly Hiding[], nested: readonly Table[]) =>
  nested.length > 0
    ? sql<boolean>`1 = 1`
    : sql<boolean>`(${sql.join(
        columns.map(({ name }) => sql`${sql.ref(name)} is not null`),
        sql` or `,
      )})`

/** The next records that have something to hide. */
async function nextRecords(
  { db }: Dialect,
  session: Session,
  {
    table,
    columns,
    nested,
    after,
  }: { table: Table; columns: readonly Hiding[]; nested: readonly Table[]; after: Part['after'] },
): Promise<Part | undefined> {
  const owner = sql.ref(ownerOf(table))
  let query = db
    .selectFrom(rootTable(table))
    .select(['tenant_id as tenant', sql<Int64>`${owner}`.as('owner')])
    .distinct()
    .where(anyOf(columns, nested))
  if (after) query = query.where(sql<boolean>`(tenant_id, ${owner}) > (${after[0]}, ${after[1]})`)
  const { rows } = await session.run(query.orderBy('tenant_id').orderBy(owner).limit(recordsAtOnce).compile())
  const end = rows.at(-1)
  return end && { after, to: [end.tenant, end.owner] }
}

async function hidePart(
  { dialect, hides }: HidingWork,
  session: Session,
  {
    table,
    columns,
    nested,
    after,
    to,
  }: Part & { table: Table; columns: readonly Hiding[]; nested: readonly Table[] },
): Promise<number> {
  const { db, sql: words } = dialect
  const owner = sql.ref(ownerOf(table))
  const key = table.key.map((name) => columnNamed(table, name))
  const children: Column[] =
    nested.length > 0 ? [{ name: '_children', kind: 'json', nullable: false, doc: '' }] : []
  const set = [...columns.map(({ name }) => columnNamed(table, name)), ...children]
  const read = ({ name, kind }: Column) =>
    sql<unknown>`${kind === 'json' || kind === 'number' ? words.extra.exact(name) : sql.ref(name)}`.as(name)
  let query = db
    .selectFrom(rootTable(table))
    .select([...key, ...set].map(read))
    .where(sql<boolean>`(tenant_id, ${owner}) <= (${to[0]}, ${to[1]})`)
  if (after) query = query.where(sql<boolean>`(tenant_id, ${owner}) > (${after[0]}, ${after[1]})`)
  const rows = (await session.run(query.compile())).rows as readonly Readonly<Record<string, Value>>[]
  const changed = rows.map((row) => {
    const tenantId = row['tenant_id'] as Int64
    const values = columns.map((column) =>
      hiddenValue(hides.privacy, tenantId, column, row[column.name] ?? null),
    )
    const within = children.map(() => hiddenNested(hides, tenantId, String(row['_children'])))
    return [...key.map(({ name }) => row[name] ?? null), ...values, ...within]
  })
  await updateListed({ dialect, session }, { table, key, set, rows: changed })
  return changed.length
}

type Value = string | number | bigint | boolean | null

const columnNamed = ({ name, columns }: Table, wanted: string): Column => {
  const found = columns.find((column) => column.name === wanted)
  if (!found) throw new Bug(`${name} has no column ${wanted}`)
  return found
}

/** The rows of nested lists that a version keeps as JSON. No number is parsed: every digit stays. */
function hiddenNested({ privacy, hidden }: Hides, tenantId: Int64, text: string): string {
  const mark = `number:${randomUUID()}:`
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${mark}${token}"`,
  )
  const lists = JSON.parse(marked) as Record<string, Record<string, string | boolean | null>[]>
  for (const [table, rows] of Object.entries(lists))
    for (const column of hidden.get(table) ?? [])
      for (const row of rows)
        if (Object.hasOwn(row, column.name))
          row[column.name] = hiddenValue(privacy, tenantId, column, row[column.name] ?? null) as string | null
  return JSON.stringify(lists).replaceAll(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1')
}

/** Values in quarantine, and examples of drift. */
export async function hideReports({ dialect: { db }, transact, hides }: HidingWork): Promise<number> {
  let done = 0
  for (const { name, places } of hides.list) {
    done += await transact(async (session) => {
      const held = db
        .selectFrom('sync_quarantine')
        .select(['tenant_id', 'record_id', 'path', 'reason', sql<string>`''`.as('value')])
        .where('resource', '=', name)
        .where('value', 'is not', null)
      const { rows } = await session.run(held.compile())
      const found = rows.filter(({ path }) => places.hides(path))
      for (const { tenant_id, record_id, path, reason, value } of found) {
        const entry = places.entry({ recordId: record_id, path, value, reason: reason ?? '' })
        const set = { value: null, reason: entry.reason }
        await session.run(
          db
            .updateTable('sync_quarantine')
            .set(set)
            .where((eb) => eb.and({ tenant_id, resource: name, record_id, path }))
            .compile(),
        )
      }
      const shown = db
        .selectFrom('sync_drift')
        .select(['path', 'kind', 'detail'])
        .where('resource', '=', name)
      for (const key of (await session.run(shown.compile())).rows) {
        if (!places.hides(key.path)) continue
        const here = { resource: name, ...key }
        await session.run(
          key.detail === ''
            ? db
                .updateTable('sync_drift')
                .set({ example: null })
                .where((eb) => eb.and(here))
                .compile()
            : db
                .deleteFrom('sync_drift')
                .where((eb) => eb.and(here))
                .compile(),
        )
      }
      return found.length
    })
  }
  return done
}
