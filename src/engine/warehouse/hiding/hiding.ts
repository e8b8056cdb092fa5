/**
 * Hides what is stored already, when `privacy` became stricter since it was stored (docs/privacy.md): rows, versions,
 * quarantine and drift. Commands that write do so under their lease, before their first request; flatten hides what comes
 * after. Nothing is requested.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Int64, Kind } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import type { Value } from '../../model/flatten/batch.js'
import { valueOfMember } from '../../model/flatten/membertext.js'
import { historyName, historyTable } from '../../model/historytable.js'
import { hiddenValue, longestKept } from '../../model/privacy.js'
import type { Model } from '../../model/resourcemodel.js'
import type { Column, Table } from '../../model/table.js'
import { rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import type { InterferedTables } from '../layout/interference.js'
import { remakeNames, withOtherNames } from '../layout/recordnames.js'
import { cursorQuery, demandRefill } from '../state/cursors.js'
import { demandRebuild } from '../state/tenants.js'
import { columnNamed, exactly, updateListed } from '../store/derived.js'
import type { Session, Transact } from '../transaction.js'
import {
  type Hiding,
  hiddenOf,
  isNewKey,
  type Known,
  keyNote,
  loosened,
  nameOf,
  note,
  quarantined,
  recordIn,
  resourcesOf,
  storedPrivacy,
  unhidden,
  wantedOf,
  withoutOlder,
} from './privacystate.js'

/** How stored rows are hidden: in transactions of the lease's holder. */
interface HidingWork {
  readonly dialect: Dialect
  readonly transact: Transact
  readonly model: Model
  readonly interfered: Pick<InterferedTables, 'changing'>
  /** Now, canonical. */
  readonly at: string
  /** Records whose rows are rewritten in one transaction. */
  readonly recordsAtOnce?: number
}

export interface HiddenRows {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: number
}

export interface Hidden {
  readonly done: readonly HiddenRows[]
  /** Why what was hidden can still be found in the database's files; null if it can't. */
  readonly left: string | null
}

/** Hides what is stored, and what is left of it in the database's files. Returns the tables that had something. */
export async function hideStored(work: HidingWork): Promise<Hidden> {
  const { dialect, transact, model, at, interfered } = work
  const known = await storedPrivacy(dialect.db).execute()
  await beginReading(work, known)
  const waiting = unhidden(known, model)
  if (waiting.length === 0) {
    await endReading(work)
    return { done: [], left: null }
  }
  const { keyVersion } = model.privacy
  const state = ({ table, column, treatment, doneTo }: Hiding, more: Partial<Known> = {}): Known => ({
    table,
    column,
    mode: treatment,
    key_version: keyVersion,
    state: 'hiding',
    done_to: doneTo,
    since: at,
    ...more,
  })
  // From here on no other process may store more, whatever becomes of this one.
  await transact(async (session) => {
    await session.run(note(dialect.db, [...waiting.map((one) => state(one)), ...keyNote(model, at)]))
    await session.run(demandRebuild(dialect.db))
  })
  const done: HiddenRows[] = []
  const left = new Set<string>()
  const rewrite = async (): Promise<void> => {
    for (const [table, columns, rows] of await hideTables(work, waiting))
      if (rows === undefined) left.add(table)
      else if (rows > 0) done.push({ table, columns, rows })
    // Names are made of what is hidden now.
    for (const resource of await withOtherNames(dialect.db, model))
      if (!left.has(resource.name)) {
        const remake = () => remakeNames(dialect, transact, resource)
        if ((await interfered.changing('privacy', resource.name, remake)) === undefined)
          left.add(resource.name)
      }
    const reported = await hideReports(work)
    if (reported > 0) done.push({ table: quarantined.table, columns: [quarantined.column], rows: reported })
    // What still holds its values is erased when they are hidden.
    for (const name of left) if (there.includes(name)) there.splice(there.indexOf(name), 1)
  }
  const there = await traced(dialect, waiting)
  const traces = (await holdsRows(work, there)) ? (await dialect.erase(there, rewrite)).left : null
  const hidden = waiting.filter(({ table }) => !left.has(table))
  const ends = hidden.map((one) =>
    state(one, { state: traces === null ? 'hidden' : 'traces', done_to: null }),
  )
  if (ends.length > 0) await transact((session) => session.run(note(dialect.db, ends)))
  await endReading(work)
  return { done, left: traces }
}

const liveNames = async ({ catalog }: HidingWork['dialect']): Promise<ReadonlySet<string>> =>
  new Set((await catalog.liveColumns()).map(({ table, name }) => `${table}.${name}`))

/** The tables that may have traces of hidden values. */
async function traced(dialect: Dialect, hidden: readonly { readonly table: string }[]): Promise<string[]> {
  const live = await liveNames(dialect)
  const tables = new Set([...hidden.map(({ table }) => table), 'sync_quarantine', 'sync_drift'])
  return [...tables].filter((name) => live.has(`${name}.tenant_id`))
}

/**
 * Hides columns, those of a table that are hidden up to the same record together, with how many rows had them; undefined
 * where the database doesn't let the table be rewritten: its lists wait, so nothing is stored unhidden.
 */
async function hideTables(
  work: HidingWork,
  waiting: readonly Hiding[],
): Promise<(readonly [table: string, columns: readonly string[], rows: number | undefined])[]> {
  const live = await liveNames(work.dialect)
  const done: [string, string[], number | undefined][] = []
  const stored = waiting.filter(({ table }) => table !== quarantined.table)
  for (const group of new Set(stored.map(({ table, doneTo }) => `${table} ${doneTo}`))) {
    const columns = stored.filter(
      ({ table, column, doneTo }) =>
        `${table} ${doneTo}` === group && live.has(`${table}.${placeOf(column)}`),
    )
    const [first] = columns
    if (!first) continue
    const { table } = first
    const rows = await work.interfered.changing('privacy', table, () => hideTable(work, first, columns))
    done.push([table, columns.map(({ column }) => column), rows])
  }
  return done
}

/** Tries `hideStored` with one record of each table, for work whose transactions are undone. */
export async function tryHiding(work: HidingWork): Promise<void> {
  const known = await storedPrivacy(work.dialect.db).execute()
  await hideTables({ ...work, recordsAtOnce: 1 }, unhidden(known, work.model))
}

/** Removes what a program that was reading kept in the database's files. Returns why some is left; null if none is. */
export async function eraseTraces({ dialect, transact, at }: HidingWork): Promise<string | null> {
  const { db } = dialect
  const known = await storedPrivacy(db).where('state', '=', 'traces').execute()
  if (known.length === 0) return null
  const { left } = await dialect.erase(await traced(dialect, known), async () => {})
  const rows = known.map((row) => ({ ...row, state: 'hidden', since: at }))
  if (left === null) await transact((session) => session.run(note(db, rows)))
  return left
}

async function holdsRows({ dialect: { db } }: HidingWork, tables: readonly string[]): Promise<boolean> {
  for (const name of tables) {
    const row = db.selectFrom(name as 'tenants').select(sql<number>`1`.as('one'))
    if (await row.limit(1).executeTakeFirst()) return true
  }
  return false
}

/** With a newer key, the lists with hashed columns are read whole: only the source knows the texts. */
async function beginReading(
  { dialect: { db }, transact, model, at }: HidingWork,
  known: readonly Known[],
): Promise<void> {
  if (!isNewKey(known, model)) return
  const { keyVersion: key_version } = model.privacy
  const hashed = hiddenOf(known).filter(({ mode }) => mode === 'hash')
  const rows = hashed.map((row) => ({ ...row, key_version, state: 'reading', since: at }))
  const lists = new Set(hashed.flatMap(({ table }) => resourcesOf(model, table)))
  await transact(async (session) => {
    await session.run(note(db, [...rows, ...keyNote(model, at)]))
    for (const name of lists) await session.run(demandRefill(db, name, 'privacy.keyVersion was raised', at))
  })
}

/** When all lists of a column are through, pseudonyms of an earlier key that are left are of nobody that is listed. */
async function endReading({ dialect: { db }, transact, model }: HidingWork): Promise<void> {
  const known = await storedPrivacy(db).where('state', '=', 'reading').execute()
  for (const row of known) {
    const lists = resourcesOf(model, row.table)
    await transact(async (session) => {
      const waiting = cursorQuery(db, ['refill'], {
        resources: [...lists],
        where: (eb) => eb('refill', 'is not', null),
      })
      if ((await session.run(waiting.limit(1).compile())).rows.length > 0) return
      // Versions that have ended keep the pseudonyms of their time.
      if (row.mode === 'hash' && model.tableByName.has(row.table)) {
        await session.run(withoutOlder(db, row))
        await session.run(demandRebuild(db))
      }
      await session.run(note(db, [{ ...row, state: 'hidden' }]))
    })
  }
}

/** A column that may be stored again. */
export interface LoosenedColumn {
  readonly table: string
  readonly column: string
  /** Resources whose lists the next sync reads whole. */
  readonly lists: readonly string[]
  /** Deleted rows, which no list shows: they stay hidden. */
  readonly rows: number
}

/** Lets this configuration store what the warehouse has hidden so far. The lists are read whole for it. */
export async function loosen({
  dialect: { db },
  transact,
  model,
  at,
}: HidingWork): Promise<LoosenedColumn[]> {
  const loose = loosened(await storedPrivacy(db).execute(), model)
  const wanted = new Map(wantedOf(model).map((one) => [nameOf(one), one.treatment]))
  const { keyVersion } = model.privacy
  const done: LoosenedColumn[] = []
  for (const row of loose) {
    const { table, column } = row
    const mode = wanted.get(nameOf(row))
    const lists = resourcesOf(model, table)
    const rows = await transact(async (session) => {
      const removed = db.deleteFrom('sync_privacy').where((eb) => eb.and({ table, column }))
      await session.run(
        mode
          ? note(db, [{ ...row, mode, key_version: keyVersion, state: 'reading', since: at }])
          : removed.compile(),
      )
      for (const name of lists) await session.run(demandRefill(db, name, 'privacy hides less', at))
      if (model.tableByName.get(table)?.role !== 'root') return 0
      const deleted = db
        .selectFrom(rootTable({ name: table }))
        .select((eb) => eb.fn.countAll<Int64>().as('n'))
        .where('_deleted_at', 'is not', null)
      return Number((await session.run(deleted.compile())).rows[0]?.n ?? 0)
    })
    // Versions are loosened with their records.
    if (model.tableByName.has(table)) done.push({ table, column, lists, rows })
  }
  return done
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
function tableOf(model: Model, name: string, columns: readonly Hiding[]): HidingTable {
  const list = model.list.find(
    ({ tables, resource }) => tables[0]?.name === name || historyName(resource) === name,
  )
  const isExtraHidden = model.hidden.get(name)?.some((column) => column.name === '_extra') ?? false
  const promoted = Object.entries(isExtraHidden ? {} : (list?.promoted ?? {})).filter(([field]) =>
    columns.some(({ column }) => column === field),
  )
  const table = model.tableByName.get(name) ?? (list && historyTable({ ...list.resource, history: true }))
  if (!table) throw new Bug(`There is no table ${name}`)
  return { table, columns, promoted }
}

/** Columns of one table, which are all hidden up to the same record. Returns how many rows were rewritten. */
export async function hideTable(
  work: HidingWork,
  { table: name, doneTo }: Hiding,
  columns: readonly Hiding[],
): Promise<number> {
  const { dialect, transact, recordsAtOnce = 2000 } = work
  const hiding = tableOf(work.model, name, columns)
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
      const names = columns.map(({ column }) => column)
      await session.run(noted.where('column', 'in', names).compile())
      return part.to
    })
    if (!next) return done
    last = next
  }
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
  const holding = columns.map(({ column }) => sql`${sql.ref(placeOf(column))} is not null`)
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
  { dialect, model: { privacy } }: HidingWork,
  session: Session,
  { table, columns, promoted, after, to }: HidingTable & Part,
): Promise<number> {
  const { db, sql: words } = dialect
  const owner = ownerOf(table)
  const key = table.key.map((name) => columnNamed(table, name))
  const own = columns.filter(({ column }) => !column.includes('.'))
  const nested = columns.filter(({ column }) => column.includes('.'))
  const places = new Set([
    ...columns.map(({ column }) => placeOf(column)),
    ...(promoted.length > 0 ? ['_extra'] : []),
  ])
  const set = [...places].map((name) => columnNamed(table, name))
  const read = (column: Column) => sql<unknown>`${exactly(dialect, column)}`.as(column.name)
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
      const column = own.find((one) => one.column === name)
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
    for (const one of nested) {
      const [table = '', name = ''] = one.column.split('.')
      for (const row of lists[table] ?? [])
        if (Object.hasOwn(row, name)) row[name] = hide(one, row[name] ?? null)
    }
    return lists
  })

/** Values in quarantine, and examples of drift. Returns how many values were hidden. */
export async function hideReports({ dialect: { db }, transact, model }: HidingWork): Promise<number> {
  let done = 0
  for (const { name: resource, places } of model.list) {
    if (!places.hides('')) continue
    done += await transact(async (session) => {
      const held = db
        .selectFrom('sync_quarantine')
        .select(['tenant_id', 'record_id', 'path', 'reason'])
        // Longer ones aren't kept, whatever they are.
        .select(sql<string>`substr(value, 1, ${longestKept + 1})`.as('value'))
        .where('resource', '=', resource)
        .where('value', 'is not', null)
      let changed = 0
      for (const entry of (await session.run(held.compile())).rows) {
        const { value, reason } = places.entry(entry)
        if (value !== null) continue
        const { tenant_id, record_id, path } = entry
        const here = db.updateTable('sync_quarantine').set({ value, reason })
        const key = { tenant_id, resource, record_id, path }
        changed += (await session.run(here.where((eb) => eb.and(key)).compile())).affected
      }
      const shown = db
        .selectFrom('sync_drift')
        .select(['path', 'kind', 'detail', 'example'])
        .where('resource', '=', resource)
      for (const entry of (await session.run(shown.compile())).rows) {
        const left = places.drift(entry)
        if (left === entry) continue
        const { path, kind, detail } = entry
        const key = { resource, path, kind, detail }
        const here = left
          ? db
              .updateTable('sync_drift')
              .set({ example: null })
              .where((eb) => eb.and(key))
          : db.deleteFrom('sync_drift').where((eb) => eb.and(key))
        await session.run(here.compile())
      }
      return changed
    })
  }
  return done
}
