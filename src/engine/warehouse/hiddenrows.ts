/** Rewrites rows, versions, quarantine and drift in which something is hidden now. Used by hiding.ts. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Int64, Kind } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import type { Value } from '../model/flatten/batch.js'
import { valueOfMember } from '../model/flatten/membertext.js'
import { historyName } from '../model/historytable.js'
import { hiddenValue } from '../model/privacy.js'
import type { Model } from '../model/resourcemodel.js'
import type { Column, Table } from '../model/table.js'
import { rootTable } from './database.js'
import { updateListed } from './derivedlines.js'
import type { Dialect } from './dialect.js'
import type { InterferedTables } from './interference.js'
import type { Hides, Hiding } from './privacystate.js'
import type { Session, Transact } from './transaction.js'

/** How stored rows are hidden: in transactions of the lease's holder. */
export interface HidingWork {
  readonly dialect: Dialect
  readonly transact: Transact
  readonly hides: Hides & Pick<Model, 'list' | 'tableByName'>
  readonly interfered: Pick<InterferedTables, 'changing'>
  /** Now, canonical. */
  readonly at: string
  /** Records whose rows are rewritten in one transaction. */
  readonly recordsAtOnce?: number
}

/** The column that says which record a row belongs to. */
const ownerOf = ({ role, owner }: Table): string => (role === 'child' ? (owner ?? 'id') : 'id')

/** A table, with what is hidden in it up to the same record. */
interface HidingTable {
  readonly table: Table
  readonly columns: readonly Hiding[]
  /** Hidden columns that the configuration has made of fields in `_extra`, where these may still be. */
  readonly promoted: readonly (readonly [name: string, kind: Kind])[]
}

/** The table of a resource, of its nested lists, or of its versions, whether they are still kept or not. */
function tableOf(
  { hides }: Pick<HidingWork, 'hides'>,
  name: string,
  columns: readonly Hiding[],
): HidingTable {
  const list = hides.list.find(
    ({ tables, resource }) => tables[0]?.name === name || historyName(resource) === name,
  )
  const isExtraHidden = hides.hidden.get(name)?.some((column) => column.name === '_extra') ?? false
  const promoted = Object.entries(isExtraHidden ? {} : (list?.promoted ?? {})).filter(([field]) =>
    columns.some((column) => column.name === field),
  )
  const known = hides.tableByName.get(name)
  if (known) return { table: known, columns, promoted }
  const root = list?.tables[0]
  if (!root) throw new Bug(`There is no table ${name}`)
  const stamps = ['_seen_from', '_valid_from']
  const own = stamps.map((stamp) => field(stamp, 'timestamp'))
  const key = [...root.key, ...stamps]
  return {
    table: { ...root, name, role: 'history', key, columns: [...root.columns, ...own] },
    columns,
    promoted,
  }
}

const field = (name: string, kind: Kind): Column => ({ name, kind, nullable: true, doc: '' })

/** Columns of one table, which are all hidden up to the same record. Returns how many rows were rewritten. */
export async function hideTable(
  work: HidingWork,
  { table: name, doneTo }: Hiding,
  columns: readonly Hiding[],
): Promise<number> {
  const { dialect, transact, recordsAtOnce = 2000 } = work
  const hiding = tableOf(work, name, columns)
  let done = 0
  let last = recordIn(doneTo)
  for (;;) {
    const next = await transact(async (session) => {
      const part = await nextRecords(dialect, session, { ...hiding, recordsAtOnce }, last)
      if (!part) return undefined
      done += await hidePart(work, session, { ...hiding, ...part })
      const reached = { done_to: JSON.stringify([String(part.to[0]), String(part.to[1])]) }
      const noted = dialect.db
        .updateTable('sync_privacy')
        .set(reached as never)
        .where('table', '=', name)
      const names = columns.map((one) => one.name)
      await session.run(noted.where('column', 'in', names).compile())
      return part.to
    })
    if (!next) return done
    last = next
  }
}

/** The ids are kept as texts, since JSON may round them. */
export function recordIn(doneTo: string | null): Part['after'] {
  if (doneTo === null) return undefined
  const [tenant = '0', record = '0'] = JSON.parse(doneTo) as string[]
  return [BigInt(tenant), BigInt(record)]
}

interface Part {
  readonly after: readonly [Int64, Int64] | undefined
  readonly to: readonly [Int64, Int64]
}

const afterRecord = (owner: string, after: Part['after']) =>
  after ? sql<boolean>`(tenant_id, ${sql.ref(owner)}) > (${after[0]}, ${after[1]})` : sql<boolean>`1 = 1`

/** The next records that have something to hide. */
async function nextRecords(
  { db, sql: { extra } }: Dialect,
  session: Session,
  { table, columns, promoted, recordsAtOnce }: HidingTable & { readonly recordsAtOnce: number },
  after: Part['after'],
): Promise<Part | undefined> {
  const owner = ownerOf(table)
  const holding = columns.map(({ name }) => sql`${sql.ref(placeOf(name))} is not null`)
  const members = promoted.map(([name]) => sql`${extra.has(name)}`)
  const { rows } = await session.run(
    db
      .selectFrom(rootTable(table))
      .select(['tenant_id as tenant', sql<Int64>`${sql.ref(owner)}`.as('owner')])
      .distinct()
      .where(sql<boolean>`(${sql.join([...holding, ...members], sql` or `)})`)
      .where(afterRecord(owner, after))
      .orderBy('tenant_id')
      .orderBy(sql.ref(owner))
      .limit(recordsAtOnce)
      .compile(),
  )
  const end = rows.at(-1)
  return end && { after, to: [end.tenant, end.owner] }
}

/** Rows of nested lists are in one column of a version. */
const placeOf = (name: string): string => (name.includes('.') ? '_children' : name)

async function hidePart(
  { dialect, hides: { privacy } }: HidingWork,
  session: Session,
  { table, columns, promoted, after, to }: HidingTable & Part,
): Promise<number> {
  const { db, sql: words } = dialect
  const owner = ownerOf(table)
  const key = table.key.map((name) => columnNamed(table, name))
  const own = columns.filter(({ name }) => !name.includes('.'))
  const nested = columns.filter(({ name }) => name.includes('.'))
  const set = [
    ...own.map(({ name }) => columnNamed(table, name)),
    ...(promoted.length > 0 ? [field('_extra', 'json')] : []),
    ...(nested.length > 0 ? [field('_children', 'json')] : []),
  ]
  const read = ({ name, kind }: Column) =>
    sql<unknown>`${kind === 'json' || kind === 'number' ? words.extra.exact(name) : sql.ref(name)}`.as(name)
  const members = promoted.map(([name]) =>
    sql<string | null>`${words.extra.member(name)}`.as(`member ${name}`),
  )
  const found = db
    .selectFrom(rootTable(table))
    .select([...[...key, ...set].map(read), ...members])
    .where(sql<boolean>`(tenant_id, ${sql.ref(owner)}) <= (${to[0]}, ${to[1]})`)
    .where(afterRecord(owner, after))
  const rows = (await session.run(found.compile())).rows as readonly Readonly<Record<string, Value>>[]
  const changed = rows.map((row) => {
    const tenantId = row['tenant_id'] as Int64
    const valueIn = (name: string): Value => {
      const kind = promoted.find(([one]) => one === name)?.[1]
      const member = kind && row[`member ${name}`]
      if (row[name] != null || kind === undefined || member == null) return row[name] ?? null
      return valueOfMember(String(member), kind, words.numbers).value
    }
    return set.map(({ name }) => {
      const column = own.find((one) => one.name === name)
      if (column) return hiddenValue(privacy, tenantId, column, valueIn(name))
      const text = row[name]
      if (text == null) return null
      return name === '_extra'
        ? withoutMembers(String(text), promoted)
        : hiddenNested(String(text), nested, (one, value) => hiddenValue(privacy, tenantId, one, value))
    })
  })
  const all = rows.map((row, i) => [...key.map(({ name }) => row[name] ?? null), ...(changed[i] ?? [])])
  await updateListed({ dialect, session }, { table, key, set, rows: all })
  return rows.length
}

const columnNamed = ({ name, columns }: Table, wanted: string): Column => {
  const found = columns.find((column) => column.name === wanted)
  if (!found) throw new Bug(`${name} has no column ${wanted}`)
  return found
}

/** Changes JSON. No number is parsed: every digit stays. */
function edited<T>(text: string, edit: (value: T) => unknown): string | null {
  const mark = `number:${randomUUID()}:`
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${mark}${token}"`,
  )
  const value = edit(JSON.parse(marked) as T)
  return value === null ? null : JSON.stringify(value).replaceAll(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1')
}

/** `_extra` without fields that have columns now; null if nothing is left. */
const withoutMembers = (text: string, promoted: HidingTable['promoted']): string | null =>
  edited<Record<string, unknown>>(text, (fields) => {
    const left = Object.entries(fields).filter(([name]) => !promoted.some(([one]) => one === name))
    return left.length > 0 ? Object.fromEntries(left) : null
  })

/** The rows of nested lists that a version keeps. */
const hiddenNested = (
  text: string,
  nested: readonly Hiding[],
  hide: (column: Hiding, value: Value) => Value,
): string | null =>
  edited<Record<string, Record<string, Value>[]>>(text, (lists) => {
    for (const column of nested) {
      const [table = '', name = ''] = column.name.split('.')
      for (const row of lists[table] ?? [])
        if (Object.hasOwn(row, name)) row[name] = hide(column, row[name] ?? null)
    }
    return lists
  })

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
