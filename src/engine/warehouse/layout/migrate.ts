import { createHash } from 'node:crypto'
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Skip, Stop } from '../../base/errors.js'
import { joinedNames } from '../../base/format.js'
import type { Table } from '../../model/table.js'
import { isEverybodys, ofTable } from '../classify.js'
import type { Db } from '../database.js'
import type { Dialect, LiveColumn, Obstacle } from '../dialect.js'
import { heldColumns, mayHold, storedPrivacy } from '../hiding/privacystate.js'
import { rowSettingsName } from '../lease/oneconfiguration.js'
import { refuseNarrow } from '../openwarehouse.js'
import { allMeta, storeMeta } from '../state/meta.js'
import type { Session } from '../transaction.js'
import type { Warehouse, Writer } from '../warehouse.js'
import type { Change } from './ddl.js'
import { isNewWarehouse, missing } from './ddl.js'
import { refusalOf } from './interference.js'
import { consequencesOf, recordConsequences } from './layout.js'
import { namesAfter, namesMemory } from './recordnames.js'
import { leftColumns, trackedChanges, trackedColumns, trackPromoted } from './trackedcolumns.js'

/**
 * Incremented when older programs can no longer use a warehouse. Additions don't count. 4: several processes write at a
 * time, each with a lease of its own. 5: `sync_registers.sketch`, which 0.3.0 compares with the rows, is no longer
 * written.
 */
const schemaVersion = 5

/** That of 0.2.0. Warehouses from there on are upgraded. */
const oldestVersion = 3

const digest = (tables: readonly Table[]): string =>
  createHash('sha256').update(JSON.stringify(tables)).digest('hex')

/**
 * Runs a query in the current transaction, or outside of any. SQLite has one connection: during a transaction a query
 * that asks for another waits forever.
 */
type Ask = <T>(query: CompiledQuery<T>) => Promise<{ readonly rows: T[] }>

async function readAllMeta(
  { db }: Dialect,
  live: readonly LiveColumn[],
  ask: Ask,
): Promise<ReadonlyMap<string, string | null>> {
  if (!live.some(({ table }) => table === 'sync_meta')) return new Map()
  const { rows } = await ask(allMeta(db).compile())
  return new Map(rows.map((row) => [row.name, row.value]))
}

function refuseOtherVersions(meta: ReadonlyMap<string, string | null>, where: string): void {
  const found = Number(meta.get('schema_version') ?? schemaVersion)
  if (found >= oldestVersion && found <= schemaVersion) return
  if (found < oldestVersion)
    throw new Stop(
      `The warehouse ${where} was made by a version before 0.2.0 (its tables are of version ${found}); expected one made by 0.2.0 or later`,
      { exitCode: 2, hint: 'Name a new warehouse in warehouse.url and type shopsync sync' },
    )
  throw new Stop(
    `The warehouse ${where} has tables of version ${found}; this program knows versions up to ${schemaVersion}`,
    { exitCode: 2, hint: 'Expected a newer shopsync: upgrade the program, or name another warehouse.url' },
  )
}

/** In sync_meta, while rows are copied into this warehouse: where they are copied from, and since when. */
export const copyMark = 'copy'

export interface UnfinishedCopy {
  readonly from: string
  readonly since: string
}

/** In sync_meta of a copy of some tenants: no command writes to it. */
export const partMark = 'part'

export interface PartMark {
  readonly from: string
  readonly at: string
  readonly tenants: readonly string[]
}

function refusePart(value: string | null, where: string): void {
  if (!value) return
  const { from, at, tenants } = JSON.parse(value) as PartMark
  throw new Stop(
    `The warehouse ${where} is a copy of tenant ${tenants.join(', ')} from ${from}, as of ${at}; nothing was done`,
    { exitCode: 2, hint: 'It can only be read. Name the original in warehouse.url, or make the copy again' },
  )
}

/** Tables of others, where there is no warehouse: a wrong address or schema must not fill up somebody's database. */
function strangers(live: readonly LiveColumn[]): string[] {
  const names = [...new Set(live.map(({ table }) => table))]
  // A listener makes its inbox first.
  return names.includes('sync_meta') ? [] : names.filter((name) => !isEverybodys(name)).sort()
}

const ownPlace = 'Name a place without tables in warehouse.url or warehouse.schema'

function refuseStrangers([first, ...more]: readonly string[], where: string): void {
  if (first === undefined) return
  throw new Stop(
    `There is no warehouse in ${where}, but ${more.length === 0 ? 'a table' : 'tables'} of others: ${joinedNames([first, ...more])}; nothing was made`,
    { exitCode: 2, hint: ownPlace },
  )
}

/** Throws Stop if no command writes to it: it is a copy of some tenants, or somebody else's. */
export const checkWritable = (warehouse: Warehouse): Promise<void> =>
  warehouse.trying(async () => refuseUnwritable(await survey(warehouse), warehouse.where))

function refuseUnwritable({ part, others }: Awaited<ReturnType<typeof survey>>, where: string): void {
  refusePart(part, where)
  refuseStrangers(others, where)
}

/** `value`: the mark's. undefined if there is no mark. */
export const unfinishedCopy = (value: string | null | undefined): UnfinishedCopy | undefined =>
  value ? (JSON.parse(value) as UnfinishedCopy) : undefined

function refuseUnfinished(meta: ReadonlyMap<string, string | null>, where: string): void {
  const copy = unfinishedCopy(meta.get(copyMark))
  if (!copy) return
  throw new Stop(`The warehouse ${where} is an unfinished copy of ${copy.from}, started at ${copy.since}`, {
    exitCode: 2,
    hint: 'With the configuration of the original, type the same shopsync copy again: it continues where it stopped',
  })
}

/** Stops if this program can't read the warehouse. For commands that don't call `plan` before they read. */
export async function refuseUnreadable(db: Db, where: string): Promise<void> {
  const rows = await allMeta(db, ['schema_version', copyMark]).execute()
  const meta = new Map(rows.map(({ name, value }) => [name, value]))
  refuseOtherVersions(meta, where)
  refuseUnfinished(meta, where)
}

/** Compares all tables and columns with what exists: one may have been dropped since the last run. */
async function survey(
  warehouse: Warehouse,
  ask: Ask = (query) => warehouse.db.executeQuery(query),
): Promise<{
  readonly changes: readonly Change[]
  /** Whether the warehouse was made for exactly these tables. */
  readonly isKnown: boolean
  /** The settings that shaped the rows last; null if none are stored. */
  readonly stored: string | null
  /** What the stored names are made of; null if none are. */
  readonly names: string | null
  /** The mark of a copy of some tenants; null if it is none. */
  readonly part: string | null
  readonly others: readonly string[]
}> {
  const { dialect, rowSettings, interfered } = warehouse
  const live = await warehouse.columns()
  const meta = await readAllMeta(dialect, live, ask)
  refuseOtherVersions(meta, dialect.where)
  refuseUnfinished(meta, dialect.where)
  const stored = meta.get(rowSettingsName) ?? null
  rowSettings?.look(stored)
  const isTracked = live.some(({ table }) => table === 'sync_columns')
  const tracked = isTracked ? (await ask(trackedColumns(dialect.db))).rows : []
  const isHiding = mayHold(warehouse.model).length > 0 && live.some(({ table }) => table === 'sync_privacy')
  const hidden = isHiding ? (await ask(storedPrivacy(dialect.db).compile())).rows : []
  warehouse.found = {
    left: leftColumns(dialect, warehouse.model, tracked, live),
    held: heldColumns(warehouse.model, hidden),
  }
  const { model, tables } = warehouse
  const isKnown = meta.get('model') === digest(tables)
  const changes: Change[] = []
  for (const change of await missing(dialect, live, tables))
    if (change.refusal) await interfered.keepBack('structure', change.table, change.refusal)
    else changes.push(change)
  changes.push(...trackedChanges(dialect.db, model, tracked, live))
  const names = meta.get(namesMemory) ?? null
  const part = meta.get(partMark) ?? null
  return { changes, isKnown, stored, names, part, others: strangers(live) }
}

/** The changes that `migrate` would make now. Writes nothing. */
export function plannedChanges(warehouse: Warehouse): Promise<
  (Change & {
    /** Whether the cursors of a tenant that write to the table would read their lists whole. */
    refills(tenantId: Int64): boolean
  })[]
> {
  return warehouse.trying(async () => {
    const { changes } = await survey(warehouse)
    const { model } = warehouse
    const consequences = consequencesOf(model, changes)
    const shown =
      consequences.reported.length > 0
        ? await warehouse.dialect.db
            .selectFrom('sync_drift')
            .select(['tenant_id', 'resource', 'path'])
            .execute()
        : []
    const isReported = (of: string, tenantId: Int64): boolean =>
      consequences.reported.some(({ resource, path }) => {
        const has = shown.some(
          (one) => one.tenant_id === tenantId && one.resource === of && one.path === path,
        )
        return resource === of && has
      })
    return changes.map((change) => {
      const of = model.tableByName.get(change.table)?.resource ?? ''
      return { ...change, refills: (id) => consequences.refills.has(of) || isReported(of, id) }
    })
  })
}

/** Whether no version of shopsync has ever created its tables there. */
export const isNew = async (warehouse: Warehouse): Promise<boolean> =>
  isNewWarehouse(await plannedChanges(warehouse))

/** That there is no warehouse, why, and what to type: all commands say it in these words. */
export async function absence(warehouse: Warehouse): Promise<Obstacle> {
  const { catalog } = warehouse.dialect
  const { problem, hint } = await warehouse.read(() => catalog.absence())
  const others = strangers(await warehouse.read(() => catalog.liveColumns()))
  return {
    problem: `There is no warehouse yet: ${problem}`,
    hint: others.length > 0 ? `It has tables of others. ${ownPlace}` : hint,
  }
}

/** The same in a sentence; undefined if there is a warehouse. */
export async function absenceText(warehouse: Warehouse): Promise<string | undefined> {
  if (!(await isNew(warehouse))) return undefined
  const { problem, hint } = await absence(warehouse)
  return `${problem}. ${hint}`
}

export async function absenceStop(warehouse: Warehouse, exitCode: 1 | 2): Promise<Stop> {
  const { problem, hint } = await absence(warehouse)
  return new Stop(`${problem}; nothing was created`, { exitCode, hint })
}

/**
 * For commands that write nothing, before they read: what a table lacks keeps back its lists alone. Throws Stop where
 * nobody can go on, since there is no warehouse, or the product's own tables are an older version's.
 */
export async function checkTables(warehouse: Warehouse): Promise<void> {
  const changes = await plannedChanges(warehouse)
  if (isNewWarehouse(changes)) throw await absenceStop(warehouse, 1)
  const hint = 'Type shopsync sync, or shopsync migrate to update only the tables'
  const [first, ...more] = changes.filter(({ table }) => isEverybodys(table))
  if (first)
    throw new Stop(
      `The warehouse is missing ${more.length + 1} changes, the first: ${first.table}, ${first.what}; expected its tables to be up to date`,
      { exitCode: 2, hint },
    )
  // What an index is for can be read without it.
  for (const { table, what, kind } of changes)
    if (kind !== 'index') {
      const lacks = `The table ${table} is not yet as this version or configuration asks: ${what}`
      const details = { reason: 'failed', code: 'not_migrated', table, hint } as const
      await warehouse.interfered.keepBack('structure', table, new Skip(lacks, details))
    }
}

/** For programs that stay up: what a table lacked when they began, another process may have made since. */
export async function lookAgain(warehouse: Warehouse): Promise<void> {
  if (warehouse.interfered.allUnchanged().length === 0) return
  warehouse.interfered.forgetUnchanged('structure')
  await checkTables(warehouse)
}

/**
 * Reads with checkTables only where reading fails: an older version's tables lack columns, and a list of what is missing
 * helps more than the database's error.
 */
export const readThenCheck = <T>(warehouse: Warehouse, read: () => Promise<T>): Promise<T> =>
  read().catch(async (error: unknown) => {
    // What a role may not read, it may not check either: the refusal says what it lacks.
    if (error instanceof Stop && error.exitCode === 3) throw error
    // Nor may anything be made there that it lacks.
    await refuseNarrow(warehouse)
    await checkTables(warehouse)
    const table = error instanceof Skip ? error.details.table : undefined
    throw (table === undefined ? undefined : warehouse.interfered.unchanged([table])) ?? error
  })

const except = (unchanged: ReadonlySet<string>, changes: readonly Change[]): Change[] =>
  changes.filter(({ table }) => !unchanged.has(table))

/**
 * Brings the warehouse's tables up to date, in one transaction: if anything interrupts it, the warehouse is as it was
 * before. Concurrent migrations wait for each other. What the database refuses to do to one table is left for the next
 * migration: it must not keep the other tables from being changed.
 */
export const migrate = (warehouse: Writer, onChange?: (change: Change) => void): Promise<readonly Change[]> =>
  warehouse.trying(() => migrateTables(warehouse, onChange))

async function migrateTables(
  warehouse: Writer,
  onChange?: (change: Change) => void,
): Promise<readonly Change[]> {
  const { interfered, dialect } = warehouse
  interfered.forgetUnchanged('structure')
  const unchanged = new Set<string>()
  const uncommented = new Set<string>()
  for (;;)
    try {
      return await migrateOthers(warehouse, { unchanged, uncommented }, onChange)
    } catch (error) {
      const classed = dialect.classify(error)
      const refusal = refusalOf(classed)
      const table = refusal?.details.table
      // What others hold, or own, keeps its comments.
      const isComment = commenting.has(error as object)
      const left = isComment ? uncommented : unchanged
      if (!refusal || table === undefined || left.has(table)) throw classed
      left.add(table)
      if (!isComment) await interfered.keepBack('structure', table, refusal)
    }
}

/** Errors of comments on tables. */
const commenting = new WeakSet<object>()

async function comment({ dialect }: Warehouse, session: Session, tables: readonly Table[]): Promise<void> {
  const each = tables.flatMap((table) =>
    dialect.catalog.comments([table]).map((text) =>
      session.run(text).catch((error) => {
        if (error instanceof Error) commenting.add(error)
        throw ofTable(error, table.name)
      }),
    ),
  )
  // Sent together, and answered one by one: the first refusal is the one that counts.
  const [failed] = (await Promise.allSettled(each)).flatMap((end) =>
    end.status === 'rejected' ? [end.reason] : [],
  )
  if (failed !== undefined) throw failed
}

async function migrateOthers(
  warehouse: Writer,
  { unchanged, uncommented }: Readonly<Record<'unchanged' | 'uncommented', ReadonlySet<string>>>,
  onChange?: (change: Change) => void,
): Promise<readonly Change[]> {
  const { clock, dialect, rowSettings } = warehouse
  const surveyed = await survey(warehouse)
  const { changes: all, isKnown, stored } = surveyed
  refuseUnwritable(surveyed, dialect.where)
  const found = except(unchanged, all)
  // Tables and views of an older configuration aren't made again, either.
  rowSettings?.check(stored, dialect.where)
  if (found.length === 0 && isKnown) return []
  return dialect.transaction(async (session) => {
    await dialect.catalog.prepare(session)
    // Compared again after taking the lock: another process may have migrated meanwhile.
    const again = await survey(warehouse, (query) => session.run(query))
    const changes = except(unchanged, again.changes)
    const { model, tables } = warehouse
    const consequences = consequencesOf(model, changes)
    for (const change of changes) {
      onChange?.(change)
      for (const statement of change.statements)
        await session.run(statement).catch((error) => {
          throw isNewWarehouse(all) ? error : ofTable(error, change.table)
        })
    }
    await comment(
      warehouse,
      session,
      tables.filter(({ name }) => !unchanged.has(name) && !uncommented.has(name)),
    )
    const at = await dialect.now(session, clock)
    const following = [
      ...recordConsequences(dialect.db, consequences, at),
      ...trackPromoted(dialect.db, model, (table) => !unchanged.has(table)),
      storeMeta(dialect.db, 'schema_version', String(schemaVersion)),
      storeMeta(dialect.db, namesMemory, namesAfter(again.names, model, changes)),
    ]
    // While a table could not be changed, all are compared strictly again.
    if (unchanged.size === 0) following.push(storeMeta(dialect.db, 'model', digest(tables)))
    for (const statement of following) await session.run(statement)
    if (isNewWarehouse(changes)) warehouse.rememberMade()
    return changes
  })
}
