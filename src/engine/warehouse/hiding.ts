/**
 * Hides what is stored already, when `privacy` became stricter since it was stored (docs/privacy.md). Commands that write
 * do so under their lease, before their first request; flatten hides what comes after. Nothing is requested.
 *
 * What each column's rows are like is in `sync_privacy`:
 *
 * (no row):  they are as the API sent them.
 * hiding:    they are being hidden. A run after a kill continues after the last record that is done.
 * hidden:    they are hidden, in the way that the row says.
 * reading:   the configuration hides less since, or with another key: the lists are read whole, and then it is `hidden`,
 *            or the row is gone.
 *
 * Less privacy is never taken from a configuration alone: a file that lost a line would bring customers' names into the
 * warehouse, and nobody would know. `shopsync migrate --loosen-privacy` says that it is meant.
 */
import { randomUUID } from 'node:crypto'
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Bug, Stop } from '../base/errors.js'
import { historyName } from '../model/historytable.js'
import { type HiddenColumn, hiddenValue, keyCheck, noPrivacy } from '../model/privacy.js'
import type { Model } from '../model/resourcemodel.js'
import type { StateRows } from '../model/state.js'
import type { Column, Table } from '../model/table.js'
import { type Db, rootTable } from './database.js'
import { updateListed } from './derivedlines.js'
import type { Dialect } from './dialect.js'
import { demandRefill } from './layout.js'
import type { Transact } from './pendingmoves.js'
import { remakeNames, withOtherNames } from './recordnames.js'
import type { Session } from './transaction.js'

type Known = StateRows['sync_privacy']

/** What a process hides. */
export type Hides = Pick<Model, 'privacy' | 'hidden' | 'byName'>

export const hidesNothing: Hides = { privacy: noPrivacy, hidden: new Map(), byName: new Map() }

/** The row that tells keys apart has this name and no table. */
const keyRow = { table: '', column: 'key' } as const

/** Records whose rows are rewritten in one transaction. */
const recordsAtOnce = 2000

export const storedPrivacy = (db: Db) => db.selectFrom('sync_privacy').selectAll()

const wantedOf = ({ hidden }: Hides): (HiddenColumn & { readonly table: string })[] =>
  [...hidden].flatMap(([table, columns]) => columns.map((column) => ({ ...column, table })))

const nameOf = ({ table, column }: Pick<Known, 'table' | 'column'>): string => `${table}.${column}`

/** The columns of which this process would store more than the warehouse may have. */
export function loosened(known: readonly Known[], hides: Hides): Known[] {
  const wanted = new Map(wantedOf(hides).map((one) => [`${one.table}.${one.name}`, one.treatment]))
  return known.filter(({ table, column, mode }) => {
    if (table === keyRow.table) return false
    // A column that is no longer configured is part of `_extra` again.
    const isField = hides.byName.get(table)?.tables[0]?.columns.some(({ name }) => name === column) ?? true
    const now = wanted.get(`${table}.${column}`) ?? (isField ? undefined : wanted.get(`${table}._extra`))
    return now === undefined || (mode === 'drop' && now === 'hash')
  })
}

const otherKey = (where: string, found: string, expected: string, hint: string): Stop =>
  new Stop(`The pseudonyms in ${where} were made with ${found}, expected ${expected}; nothing was done`, {
    exitCode: 2,
    hint,
  })

/** Throws Stop if this process would store more of a column than the warehouse may have, or other pseudonyms. */
export function refuseLooser(known: readonly Known[], hides: Hides, where: string): void {
  const loose = loosened(known, hides)
  if (loose.length > 0)
    throw new Stop(
      `The warehouse ${where} hides ${loose.map(nameOf).join(', ')}, and this configuration does not, or less; nothing was done`,
      {
        exitCode: 2,
        hint: 'Put the setting back under privacy; or type shopsync migrate --loosen-privacy, and the lists are read whole',
      },
    )
  const check = keyCheck(hides.privacy)
  const key = known.find(({ table }) => table === keyRow.table)
  if (!key || check === null) return
  const [theirs, ours] = [Number(key.key_version), hides.privacy.keyVersion]
  if (ours < theirs)
    throw otherKey(
      where,
      `keyVersion ${theirs}`,
      `${ours} or less`,
      'Put privacy.key and privacy.keyVersion back',
    )
  if (ours === theirs && key.mode !== check)
    throw otherKey(
      where,
      `another key of version ${theirs}`,
      'this one',
      `Use that key, or set privacy.keyVersion to ${theirs + 1}: every list with hashed columns is then read whole once`,
    )
}

/** What is to be done with one column. */
interface Hiding extends HiddenColumn {
  readonly table: string
  readonly doneTo: string | null
}

/** The columns whose stored rows aren't hidden yet as configured. */
function unhidden(known: readonly Known[], hides: Hides): Hiding[] {
  const states = new Map(known.map((row) => [nameOf(row), row]))
  return wantedOf(hides).flatMap((column) => {
    const state = states.get(`${column.table}.${column.name}`)
    if (state?.mode === column.treatment && state.state !== 'hiding') return []
    const doneTo =
      state?.mode === column.treatment && state.done_to !== null ? JSON.stringify(state.done_to) : null
    return [{ ...column, doneTo }]
  })
}

/** Whether the key is a newer one than that of the stored pseudonyms. */
const isNewKey = (known: readonly Known[], { privacy }: Hides): boolean => {
  const key = known.find(({ table }) => table === keyRow.table)
  return key !== undefined && keyCheck(privacy) !== null && Number(key.key_version) < privacy.keyVersion
}

const note = (db: Db, rows: readonly Known[]): CompiledQuery =>
  db
    .insertInto('sync_privacy')
    .values([...rows])
    .onConflict((c) =>
      c.columns(['table', 'column']).doUpdateSet((eb) => ({
        mode: eb.ref('excluded.mode'),
        key_version: eb.ref('excluded.key_version'),
        state: eb.ref('excluded.state'),
        done_to: eb.ref('excluded.done_to'),
        since: eb.ref('excluded.since'),
      })),
    )
    .compile()

/** How stored rows are hidden: in transactions of the lease's holder. */
export interface HidingWork {
  readonly dialect: Dialect
  readonly transact: Transact
  readonly hides: Hides & Pick<Model, 'list' | 'tableByName'>
  /** Now, canonical. */
  readonly at: string
}

/** What was hidden, for people. */
export interface HiddenRows {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: number
}

/** The columns whose stored rows aren't hidden yet. */
export const waitingToHide = async ({ db }: Pick<Dialect, 'db'>, hides: Hides) =>
  unhidden(await storedPrivacy(db).execute(), hides)

/** What `hideStored` did. */
export interface Hidden {
  readonly done: readonly HiddenRows[]
  /** Why what was hidden can still be found in the database's files; null if it can't. */
  readonly left: string | null
}

/** Whether `hideStored` has anything to do. */
export async function isUnhidden({ db }: Pick<Dialect, 'db'>, hides: Hides): Promise<boolean> {
  const known = await storedPrivacy(db).execute()
  return (
    unhidden(known, hides).length > 0 ||
    isNewKey(known, hides) ||
    known.some(({ state }) => state === 'reading')
  )
}

/** Hides what is stored, and what is left of it in the database's files. Returns the tables that had something. */
export async function hideStored(work: HidingWork): Promise<Hidden> {
  const { dialect, transact, hides, at } = work
  const known = await storedPrivacy(dialect.db).execute()
  await beginReading(work, known)
  const waiting = unhidden(known, hides)
  if (waiting.length === 0) {
    await endReading(work)
    return { done: [], left: null }
  }
  const { keyVersion } = hides.privacy
  const state = ({ table, name, treatment, doneTo }: Hiding, more: Partial<Known> = {}): Known => ({
    ...{ table, column: name, mode: treatment, key_version: keyVersion },
    ...{
      state: 'hiding',
      done_to: doneTo === null ? null : (JSON.parse(doneTo) as unknown),
      since: at,
      ...more,
    },
  })
  // From here on no other process may store more, whatever becomes of this one.
  await transact((session) =>
    session.run(note(dialect.db, [...waiting.map((one) => state(one)), ...keyNote(hides, at)])),
  )
  const done: HiddenRows[] = []
  const tables = [...new Set(waiting.map(({ table }) => table))]
  const groups = new Set(waiting.map(({ table, doneTo }) => `${table} ${doneTo}`))
  const live = new Set((await dialect.catalog.liveColumns()).map(({ table, name }) => `${table}.${name}`))
  const rewrite = async (): Promise<void> => {
    for (const group of groups) {
      const columns = waiting.filter(
        ({ table, name, doneTo }) => `${table} ${doneTo}` === group && live.has(`${table}.${name}`),
      )
      const [first] = columns
      const rows = first ? await hideTable(work, first, columns) : 0
      if (first && rows > 0) done.push({ table: first.table, columns: columns.map(({ name }) => name), rows })
    }
    // Names are made of what is hidden now.
    for (const resource of await withOtherNames(dialect.db, hides))
      await remakeNames(dialect, transact, resource)
    const reported = await hideReports(work)
    if (reported > 0) done.push({ table: 'sync_quarantine', columns: ['value'], rows: reported })
  }
  const there = [...tables.filter((name) => live.has(`${name}.tenant_id`)), 'sync_quarantine', 'sync_drift']
  const left = (await holdsRows(work, there)) ? (await dialect.erase(there, rewrite)).left : null
  await transact((session) =>
    session.run(
      note(
        dialect.db,
        waiting.map((one) => state(one, { state: 'hidden', done_to: null })),
      ),
    ),
  )
  await endReading(work)
  return { done, left }
}

function keyNote({ privacy }: Hides, at: string): Known[] {
  const mode = keyCheck(privacy)
  const row = { ...keyRow, key_version: privacy.keyVersion, state: 'hidden', done_to: null, since: at }
  return mode === null ? [] : [{ ...row, mode }]
}

async function holdsRows({ dialect: { db } }: HidingWork, tables: readonly string[]): Promise<boolean> {
  for (const name of tables) {
    const { rows } = await db.executeQuery(
      db
        .selectFrom(name as 'tenants')
        .select(sql<number>`1`.as('one'))
        .limit(1)
        .compile(),
    )
    if (rows.length > 0) return true
  }
  return false
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
async function hideTable(
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
async function hideReports({ dialect: { db }, transact, hides }: HidingWork): Promise<number> {
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

/** The resources whose records make rows of a table, or versions of one. */
const resourcesOf = ({ list }: Pick<Model, 'list'>, table: string): string[] =>
  list.flatMap(({ name, resource, tables }) =>
    historyName(resource) === table || tables.some((one) => one.name === table) ? [name] : [],
  )

/** With a newer key, the lists with hashed columns are read whole: only the source knows the texts. */
async function beginReading(
  { dialect: { db }, transact, hides, at }: HidingWork,
  known: readonly Known[],
): Promise<void> {
  if (!isNewKey(known, hides)) return
  const hashed = known.filter(({ mode, table }) => table !== keyRow.table && mode === 'hash')
  const rows = hashed.map((row) => ({
    ...row,
    key_version: hides.privacy.keyVersion,
    state: 'reading',
    since: at,
  }))
  const lists = new Set(hashed.flatMap(({ table }) => resourcesOf(hides, table)))
  await transact(async (session) => {
    await session.run(note(db, [...rows, ...keyNote(hides, at)]))
    for (const name of lists) await session.run(demandRefill(db, name, 'privacy.keyVersion was raised', at))
  })
}

/** When all lists of a column are through, pseudonyms of an earlier key that are left are of nobody that is listed. */
async function endReading({ dialect: { db }, transact, hides }: HidingWork): Promise<void> {
  const known = await storedPrivacy(db).where('state', '=', 'reading').execute()
  for (const row of known) {
    const lists = resourcesOf(hides, row.table)
    await transact(async (session) => {
      const waiting = db
        .selectFrom('sync_cursors')
        .select('resource')
        .where('refill', 'is not', null)
        .where('resource', 'in', [...lists, ''])
      if ((await session.run(waiting.limit(1).compile())).rows.length > 0) return
      // Versions that have ended keep the pseudonyms of their time.
      if (row.mode === 'hash' && hides.tableByName.has(row.table)) await session.run(withoutOlder(db, row))
      await session.run(note(db, [{ ...row, state: 'hidden' }]))
    })
  }
}

const withoutOlder = (db: Db, { table, column, key_version: version }: Known): CompiledQuery =>
  db
    .updateTable(table as 'tenants')
    .set({ [column]: null } as never)
    .where(sql<boolean>`${sql.ref(column)} like 'h%:%' and ${sql.ref(column)} not like ${`h${version}:%`}`)
    .compile()

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
  hides,
  at,
}: HidingWork): Promise<LoosenedColumn[]> {
  const loose = loosened(await storedPrivacy(db).execute(), hides)
  const wanted = new Map(wantedOf(hides).map((one) => [`${one.table}.${one.name}`, one.treatment]))
  const { keyVersion } = hides.privacy
  const done: LoosenedColumn[] = []
  for (const row of loose) {
    const { table, column } = row
    const mode = wanted.get(nameOf(row))
    const lists = resourcesOf(hides, table)
    const rows = await transact(async (session) => {
      const state = mode && { ...row, mode, key_version: keyVersion, state: 'reading', since: at }
      const here = { table, column }
      await session.run(
        state
          ? note(db, [state])
          : db
              .deleteFrom('sync_privacy')
              .where((eb) => eb.and(here))
              .compile(),
      )
      for (const name of lists) await session.run(demandRefill(db, name, 'privacy hides less', at))
      if (hides.tableByName.get(table)?.role !== 'root') return 0
      const deleted = db
        .selectFrom(rootTable({ name: table }))
        .select((eb) => eb.fn.countAll<Int64>().as('n'))
        .where('_deleted_at', 'is not', null)
      return Number((await session.run(deleted.compile())).rows[0]?.n ?? 0)
    })
    done.push({ table, column, lists, rows })
  }
  return done
}
