/**
 * Hides what is stored already, when `privacy` became stricter since it was stored (docs/privacy.md). Commands that write
 * do so under their lease, before their first request; flatten hides what comes after. Nothing is requested.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { historyName } from '../model/historytable.js'
import type { Model } from '../model/resourcemodel.js'
import { rootTable } from './database.js'
import { type HidingWork, hideReports, hideTable } from './hiddenrows.js'
import { demandRefill } from './layout.js'
import {
  type Hiding,
  isNewKey,
  type Known,
  keyNote,
  keyRow,
  loosened,
  nameOf,
  note,
  storedPrivacy,
  unhidden,
  wantedOf,
  withoutOlder,
} from './privacystate.js'
import { remakeNames, withOtherNames } from './recordnames.js'
import { demandRebuild } from './tenants.js'
import type { Warehouse } from './warehouse.js'

/** What was hidden, for people. */
export interface HiddenRows {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: number
}

/** The columns whose stored rows aren't hidden yet. */
export const waitingToHide = async (dialect: HidingWork['dialect'], hides: HidingWork['hides']) =>
  unhidden(await storedPrivacy(dialect.db).execute(), wantedOf(hides))

/** What `hideStored` did. */
export interface Hidden {
  readonly done: readonly HiddenRows[]
  /** Why what was hidden can still be found in the database's files; null if it can't. */
  readonly left: string | null
}

/** Whether `hideStored` has anything to do. */
export async function isUnhidden(
  dialect: HidingWork['dialect'],
  hides: HidingWork['hides'],
): Promise<boolean> {
  const known = await storedPrivacy(dialect.db).execute()
  if (isNewKey(known, hides) || known.some(({ state }) => /^(reading|traces)$/.test(state ?? ''))) return true
  return unhidden(known, wantedOf(hides)).length > 0
}

/**
 * Whether it has rows to hide, or lists to read for a new key: what only the holder of the whole warehouse does. Not of
 * tables that were found to let nothing be hidden.
 */
export const mustHide = async ({ dialect, model, interfered }: Warehouse): Promise<boolean> => {
  const known = await storedPrivacy(dialect.db).execute()
  const waiting = unhidden(known, wantedOf(model))
  return isNewKey(known, model) || waiting.some(({ table }) => !interfered.unchanged([table]))
}

/** Hides what is stored, and what is left of it in the database's files. Returns the tables that had something. */
export async function hideStored(work: HidingWork): Promise<Hidden> {
  const { dialect, transact, hides, at, interfered } = work
  const known = await storedPrivacy(dialect.db).execute()
  await beginReading(work, known)
  const waiting = unhidden(known, wantedOf(hides))
  if (waiting.length === 0) {
    await endReading(work)
    return { done: [], left: null }
  }
  const { keyVersion } = hides.privacy
  const state = ({ table, name, treatment, doneTo }: Hiding, more: Partial<Known> = {}): Known => ({
    ...{ table, column: name, mode: treatment, key_version: keyVersion },
    ...{
      state: 'hiding',
      done_to: doneTo,
      since: at,
      ...more,
    },
  })
  // From here on no other process may store more, whatever becomes of this one.
  await transact(async (session) => {
    await session.run(note(dialect.db, [...waiting.map((one) => state(one)), ...keyNote(hides, at)]))
    await session.run(demandRebuild(dialect.db))
  })
  const tables = [...new Set(waiting.map(({ table }) => table))]
  const live = await liveNames(dialect)
  const done: HiddenRows[] = []
  const left = new Set<string>()
  const rewrite = async (): Promise<void> => {
    for (const [table, columns, rows] of await hideTables(work, waiting))
      if (rows === undefined) left.add(table)
      else if (rows > 0) done.push({ table, columns, rows })
    // Names are made of what is hidden now.
    for (const resource of await withOtherNames(dialect.db, hides))
      if (!left.has(resource.name)) {
        const remake = () => remakeNames(dialect, transact, resource)
        if ((await interfered.changing('privacy', resource.name, remake)) === undefined)
          left.add(resource.name)
      }
    const reported = await hideReports(work)
    if (reported > 0) done.push({ table: 'sync_quarantine', columns: ['value'], rows: reported })
    // What still holds its values is erased when they are hidden.
    for (const name of left) if (there.includes(name)) there.splice(there.indexOf(name), 1)
  }
  const there = [...tables.filter((name) => live.has(`${name}.tenant_id`)), 'sync_quarantine', 'sync_drift']
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
  for (const group of new Set(waiting.map(({ table, doneTo }) => `${table} ${doneTo}`))) {
    const columns = waiting.filter(
      ({ table, name, doneTo }) =>
        `${table} ${doneTo}` === group && live.has(`${table}.${name.includes('.') ? '_children' : name}`),
    )
    const [first] = columns
    if (!first) continue
    const { table } = first
    const rows = await work.interfered.changing('privacy', table, () => hideTable(work, first, columns))
    done.push([table, columns.map(({ name }) => name), rows])
  }
  return done
}

/** Tries `hideStored` with one record of each table, for work whose transactions are undone. */
export const tryHiding = async (work: HidingWork): Promise<unknown> =>
  hideTables({ ...work, recordsAtOnce: 1 }, await waitingToHide(work.dialect, work.hides))

/** Removes what a program that was reading kept in the database's files. Returns why some is left; null if none is. */
export async function eraseTraces({ dialect, transact, at }: HidingWork): Promise<string | null> {
  const { db } = dialect
  const known = await storedPrivacy(db).where('state', '=', 'traces').execute()
  if (known.length === 0) return null
  const live = new Set((await dialect.catalog.liveColumns()).map(({ table }) => table))
  const tables = [...new Set(known.map(({ table }) => table))].filter((name) => live.has(name))
  const { left } = await dialect.erase([...tables, 'sync_quarantine', 'sync_drift'], async () => {})
  const rows = known.map((row) => ({ ...row, state: 'hidden', since: at }))
  if (left === null) await transact((session) => session.run(note(db, rows)))
  return left
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

/** The resources whose records make rows of a table, or versions of one. */
export const resourcesOf = ({ list }: Pick<Model, 'list'>, table: string): string[] =>
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
      if (row.mode === 'hash' && hides.tableByName.has(row.table)) {
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
    // Versions are loosened with their records.
    if (hides.tableByName.has(table)) done.push({ table, column, lists, rows })
  }
  return done
}
