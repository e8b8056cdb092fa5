/**
 * The one write path: stores a batch in a session's transaction (docs/dev/architecture.md, What else the engine rests on).
 * Called by warehouse.ts, and by SQLite's writer thread.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { allSettled } from '../../base/allsettled.js'
import { Bug } from '../../base/errors.js'
import type { Value } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import { type Db, rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import { checkStored } from '../layout/interference.js'
import { checkFence, expectedGeneration } from '../lease/fence.js'
import { writeDrift } from '../state/drift.js'
import { quarantineStatements } from '../state/quarantine.js'
import { storeRequest } from '../state/requests.js'
import type { Rows, Session } from '../transaction.js'
import { enterRows, keepsRegister, openRegister } from './register.js'
import { clearUnlisted } from './unlisted.js'
import {
  type Applied,
  type Batch,
  type BatchTables,
  besideRoot,
  supersedes,
  type Version,
} from './versionbatch.js'
import { keepEmbedded, keepReplaced, versionTables } from './versions.js'
import { storedVersions } from './voidstamps.js'

/** The ids of a batch, by how their versions compare with the stored ones. */
interface SortedIds {
  /** New, or newer than the stored version. */
  readonly changed: Set<Value>
  /** Stored with the same version. The content is nearly always the same too. */
  readonly same: Set<Value>
  /** The stored ones among `changed` and `same`; some of their children may have to be removed. */
  readonly known: Int64[]
  readonly stale: Set<Value>
}

function sortIds(batch: Batch, previous: ReadonlyMap<Int64, Version>): SortedIds {
  const sorted: SortedIds = { changed: new Set(), same: new Set(), known: [], stale: new Set() }
  for (const record of batch.page.records) {
    const stored = previous.get(record.id)
    const isForced = stored !== undefined && batch.forceOlder?.get(record.id) === stored.updatedAt
    if (stored && !isForced && !supersedes(record.updatedAt, batch.syncedAt, stored)) {
      sorted.stale.add(record.id)
      continue
    }
    const isSame = stored?.updatedAt === record.updatedAt && stored.deletedAt === null
    ;(isSame ? sorted.same : sorted.changed).add(record.id)
    if (stored) sorted.known.push(record.id)
  }
  return sorted
}

/** The ids of the stored live rows that the batch replaces. */
const replacedIds = ({ changed }: SortedIds, stored: Applied['previous']): Int64[] =>
  [...stored].flatMap(([id, { deletedAt }]) => (changed.has(id) && deletedAt === null ? id : []))

/**
 * Lets rows named in `forceOlder` go back to the version in the batch, since the upsert's guard lets nothing older
 * pass. A row that has another version by now is left to the guard.
 */
async function returnToOlder<R extends Rows<R>>(
  db: Db,
  root: Table,
  session: Session<R>,
  { forceOlder, page, tenantId }: Batch,
): Promise<void> {
  for (const { id, updatedAt } of page.records) {
    const stored = forceOlder?.get(id)
    if (stored === undefined || stored <= updatedAt) continue
    const step = db
      .updateTable(rootTable(root))
      .set({ updated_at: updatedAt })
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id)
      .where('updated_at', '=', stored)
    await session.run(step.compile())
  }
}

interface Work<R extends Rows<R>> {
  readonly where: string
  readonly session: Session<R>
  readonly batch: Batch
  readonly sorted: SortedIds
  /**
   * None of the records existed, so neither did their child rows, unless a root row was deleted without its children.
   */
  readonly isNew: boolean
}

/**
 * Unless a statement needs the result of the previous one, it is passed to the session without waiting. Postgres then
 * gets the statements together and works while this process parses the next page.
 */
async function writeRoots<R extends Rows<R>>(table: Table, rows: R, work: Work<R>): Promise<number> {
  const { session, batch, sorted } = work
  const isAll = sorted.same.size === 0 && sorted.stale.size === 0
  const changed = isAll ? rows : rows.pick((id) => sorted.changed.has(id))
  const expected = changed.owners.length
  const same = sorted.same.size === 0 ? undefined : rows.pick((id) => sorted.same.has(id))
  const ids = (same?.owners ?? []) as readonly Int64[]
  const [written, rewritten] = await allSettled([
    expected > 0 ? session.upsert(table, changed, batch, 'all') : 0,
    same ? session.upsert(table, same, batch, 'differing') : 0,
    ids.length > 0 ? session.confirm(table, ids, batch) : undefined,
  ])
  await checkStored(work, table, changed, { isShort: written < expected })
  if (same) await checkStored(work, table, same)
  return written + rewritten
}

/**
 * The root rows of a table without a register. Where there is one, pages that write the same rows wait for each other at
 * it. These rows may have been written by pages of other lists since the look, so only the guard decides: a record that
 * lost to another page is stale. One statement locks all rows, in the order of their keys, so two pages that want the same
 * rows can't wait for each other.
 */
async function writeContested<R extends Rows<R>>(
  table: Table,
  rows: R,
  { sorted, ...work }: Work<R>,
): Promise<{ readonly written: number; readonly sorted: SortedIds }> {
  const { session, batch } = work
  const sent = sorted.stale.size === 0 ? rows : rows.pick((id) => !sorted.stale.has(id))
  const ids = batch.page.records.map(({ id }) => id)
  // Rows without records are names of a bare list: each is written, for its stamp.
  const isBare = ids.length === 0
  const written =
    sent.owners.length > 0 ? await session.upsert(table, sent, batch, isBare ? 'all' : 'differing') : 0
  const isShort = written < (isBare ? sent.owners.length : sorted.changed.size)
  await checkStored(work, table, sent, { isShort })
  const found = isShort ? await session.versions(table, batch.tenantId, ids, 'unlocked') : undefined
  const after = found ? sortIds(batch, found) : sorted
  if (after.same.size > 0) await session.confirm(table, [...after.same] as Int64[], batch)
  return { written, sorted: after }
}

async function writeChildren<R extends Rows<R>>(
  table: Table,
  all: R,
  work: Work<R>,
): Promise<{ readonly written: number; readonly removed: number }> {
  const { session, batch, sorted, isNew } = work
  if (isNew) {
    const inserted = all.owners.length > 0 ? await session.insert(table, all, batch) : 0
    await checkStored(work, table, all)
    return { written: inserted, removed: 0 }
  }
  const rows = sorted.stale.size === 0 ? all : all.pick((id) => !sorted.stale.has(id))
  const same = [...sorted.same] as Int64[]
  const seen = (): R => (sorted.changed.size === 0 ? rows : rows.pick((id) => sorted.same.has(id)))
  const asBefore = same.length > 0 && (await session.childrenMatch(table, same, seen(), batch))
  const owners = asBefore ? sorted.known.filter((id) => !sorted.same.has(id)) : sorted.known
  const fresh = asBefore ? rows.pick((id) => sorted.changed.has(id)) : rows
  const [removed, written] = await allSettled([
    owners.length > 0 && !isOnePerRecord(table) ? session.prune(table, batch.tenantId, owners, fresh) : 0,
    fresh.owners.length > 0 ? session.upsert(table, fresh, batch, 'differing') : 0,
  ])
  const replaced = [...sorted.changed, ...(asBefore ? [] : same)] as Int64[]
  await checkStored(work, table, fresh, { owners: isOnePerRecord(table) ? [] : replaced })
  return { written, removed }
}

/** Whether a record has at most one row, which the next version replaces. */
const isOnePerRecord = ({ key, owner }: Table): boolean => key.length === 2 && key[1] === owner

/** Stale records keep their entries, because the stored version is newer. */
async function writeQuarantine<R extends Rows<R>>(
  db: Db,
  { session, batch, sorted }: Work<R>,
): Promise<void> {
  const skipped = new Set([...sorted.stale].map(String))
  const entries = batch.page.quarantine.filter((entry) => !skipped.has(entry.recordId))
  const stored = [...sorted.changed, ...sorted.same].map(String)
  await allSettled([
    ...quarantineStatements(db, batch, entries).map((statement) => session.run(statement)),
    stored.length > 0 ? session.clearQuarantine(batch.resource, stored, batch) : undefined,
  ])
}

/** The stored versions of the batch's records, seen once its cursor's register is open. */
async function look<R extends Rows<R>>(
  db: Db,
  root: Table,
  { isRegistered, locks }: { readonly isRegistered: boolean; readonly locks: 'locked' | 'unlocked' },
  session: Session<R>,
  batch: Batch,
) {
  if (batch.page.records.length === 0) return { versions: new Map<Int64, Version>(), lowered: 0 }
  const [, stored] = await allSettled([
    isRegistered ? session.run(openRegister(db, batch, root)) : undefined,
    storedVersions(db, root, session, batch, locks),
  ])
  return stored
}

/**
 * Keeps pages of a tenant apart that would lock the same rows in different orders, until the transaction ends: one that
 * also changes rows of other lists, as it finds them, writes alone in its tenant. A page of its own list alone writes
 * beside others of those.
 */
const tenantTurn = (db: Db, tenantId: Int64, how: 'alone' | 'beside'): CompiledQuery => {
  const tenant = db.selectFrom('tenants').select('tenant_id').where('tenant_id', '=', tenantId)
  return (how === 'alone' ? tenant.forNoKeyUpdate() : tenant.forShare()).compile()
}

/** Keeps the versions that the batch is about to replace, if versions are kept. Returns what to do when it is written. */
async function keepVersions<R extends Rows<R>, E>(
  dialect: Dialect<R, E>,
  session: Session<R>,
  { tables, embedded, history, embeddedHistory }: BatchTables,
  batch: Batch<E>,
  { sorted, replaced }: { readonly sorted: SortedIds; readonly replaced: readonly Int64[] },
): Promise<() => Promise<void>> {
  const doubtful: (() => Promise<void>)[] = []
  const rows = (table: Table): R => dialect.bulk.rows(batch.page.rows, table)
  const [inside] = embedded
  if (embeddedHistory && inside && batch.resource !== inside.resource && rows(inside).owners.length > 0) {
    const keeping = { dialect, session, tables: versionTables(embeddedHistory, embedded) }
    doubtful.push(await keepEmbedded(keeping, rows(inside), batch))
  }
  const { changed, same, stale } = sorted
  if (history && changed.size + same.size > 0) {
    const fresh = (table: Table): R =>
      stale.size === 0 ? rows(table) : rows(table).pick((id) => !stale.has(id))
    const keeping = { dialect, session, tables: versionTables(history, tables) }
    const replacing = { ...batch, replaced, same: [...same] as Int64[], rows: fresh }
    doubtful.push(await keepReplaced(keeping, replacing))
  }
  return async () => void (await allSettled(doubtful.map((drop) => drop())))
}

const isVersioned = ({ history, embeddedHistory }: BatchTables): boolean =>
  history !== undefined || embeddedHistory !== undefined

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

/**
 * Stores a batch: root rows under the version guard, exactly the child rows of the new versions, what follows from
 * them, embedded rows, quarantine, drift, and the batch's own statements. The session's transaction makes this atomic.
 */
export async function applyBatch<R extends Rows<R>, E>(
  dialect: Dialect<R, E>,
  session: Session<R>,
  to: BatchTables,
  batch: Batch<E>,
  {
    sent,
    isCautious = false,
  }: {
    /** Called when the database has all rows, and nothing is sent before it has answered. */
    readonly sent?: () => void
    /** Whether child rows may exist without their record. */
    readonly isCautious?: boolean
  } = {},
): Promise<Applied> {
  const [root] = to.tables
  if (!root) throw new Bug(`${batch.resource} has no table`)
  const { db } = dialect
  const rows = (table: Table): R => dialect.bulk.rows(batch.page.rows, table)
  const isEmpty = batch.page.records.length === 0 && rows(root).owners.length === 0
  const { children, embedded, derived } = besideRoot(to, isEmpty)
  const isRegistered = keepsRegister(root, to.embedded)
  // A page that locks some rows of a contested table and then waits for others may hold up one that waits for it.
  const locks = isRegistered || isVersioned(to) ? 'locked' : 'unlocked'
  const isKeepingOthers = to.embeddedHistory && to.embedded.some((table) => rows(table).owners.length > 0)
  const turn = batch.closing || isKeepingOthers ? 'alone' : batch.page.forgotten && 'beside'
  if (turn && dialect.locksRows) await session.run(tenantTurn(db, batch.tenantId, turn))
  const looked = await look(db, root, { isRegistered, locks }, session, batch)
  const { versions: previous, lowered } = looked
  const sorted = sortIds(batch, previous)
  const replaced = replacedIds(sorted, previous)
  const dropUnchanged = isVersioned(to)
    ? await keepVersions(dialect, session, to, batch, { sorted, replaced })
    : undefined
  const isNew = isRegistered && !isCautious && previous.size === 0
  const before = { where: dialect.where, session, batch, sorted, isNew }
  if (batch.forceOlder) await returnToOlder(db, root, session, batch)
  const contested = isRegistered ? undefined : await writeContested(root, rows(root), before)
  const work = { ...before, sorted: contested?.sorted ?? sorted }
  const moved = { came: sorted.changed.size, went: replaced.length }
  const entry = isRegistered ? enterRows(db, batch, moved) : undefined
  const writeEmbedded = async (table: Table): Promise<number> => {
    const found = table === root ? undefined : rows(table)
    if (!found || found.owners.length === 0) return 0
    const written = await session.upsert(table, found, batch, 'differing')
    await checkStored(work, table, found)
    return written
  }
  const writes = allSettled([
    contested?.written ?? writeRoots(root, rows(root), work),
    allSettled(children.map((table) => writeChildren(table, rows(table), work))),
    allSettled(embedded.map(writeEmbedded)),
    allSettled(derived.map((table) => writeChildren(table, rows(table), work))),
    writeQuarantine(db, work),
  ])
  const { drift: found } = batch.page
  const drift = found.length > 0 ? await writes.then(() => writeDrift(db, session, batch, found)) : []
  const listed = clearUnlisted(db, { root, derived: to.derived }, batch, previous)
  const statements: readonly CompiledQuery[] = [...batch.statements, ...(entry ? [entry] : []), ...listed]
  const stored = allSettled([
    writes,
    allSettled(statements.map((statement) => session.run(statement))),
    checkFence(dialect, session, batch.fence, expectedGeneration(batch.page)),
  ])
  sent?.()
  const [[ofRoots, ofChildren, ofEmbedded]] = await stored
  await dropUnchanged?.()
  await batch.closing?.(session)
  const written = ofRoots + sum(ofChildren.map((child) => child.written)) + sum(ofEmbedded)
  if (batch.origin && written > 0) await session.run(storeRequest(db, batch, batch.origin, written))
  const removed = sum(ofChildren.map((child) => child.removed))
  if (batch.ifChanged && written + removed > 0) await session.run(batch.ifChanged)
  return { written, changed: ofRoots, removed, stale: work.sorted.stale.size, lowered, previous, drift }
}
