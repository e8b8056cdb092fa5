import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../schema/resource.js'
import { Bug, Retry, Stop } from '../errors.js'
import type { DriftEntry, Flattened, QuarantineEntry, Value } from '../model/flatten/batch.js'
import type { Table } from '../model/tables.js'
import type { Dialect, Session, Version } from './dialect.js'
import { enterRows, keepsRegister, openRegister } from './register/register.js'
import { type Origin, requestStatement } from './requests.js'
import type { Rows } from './rows.js'
import { settleAll } from './settleall.js'

/** One page on its way into the warehouse, as plain data. */
export interface Batch {
  readonly tenantId: Int64
  readonly resource: string
  readonly flattened: Flattened
  /** `startedAt` of the request that brought it. */
  readonly syncedAt: string
  /** Progress: state statements that commit together with the rows they speak of. */
  readonly statements: readonly CompiledQuery[]
  /** The lease's token; undefined where no run holds one. */
  readonly fence: Int64 | undefined
  /** How it came: kept with the rows, for `why`. */
  readonly origin?: Origin
}

export interface Applied {
  /** Warehouse rows really written, children and tags included. */
  readonly written: number
  /** Child rows removed because the new version has them no longer. */
  readonly removed: number
  /** Records that were older than what is stored. */
  readonly stale: number
  /** What was stored before, by record id. */
  readonly previous: ReadonlyMap<Int64, Version>
  /** Drift that no run has seen before. */
  readonly drift: readonly DriftEntry[]
}

/** Whether a version brought at `syncedAt` may overwrite the stored one: the guard of bulk.ts, said in JavaScript. */
export function supersedes(updatedAt: string, syncedAt: string, stored: Version): boolean {
  if (stored.deletedAt !== null && syncedAt <= stored.syncedAt) return false
  return updatedAt > stored.updatedAt || (updatedAt === stored.updatedAt && syncedAt >= stored.syncedAt)
}

interface Sorted {
  /** Ids that are new, or newer than what is stored. */
  readonly changed: Set<Value>
  /** Ids stored with the same version: seen again, and nearly always the same. */
  readonly same: Set<Value>
  /** Of both, those that were stored before: their children may have to go. */
  readonly known: Int64[]
  readonly stale: Set<Value>
}

function sortOut(batch: Batch, previous: ReadonlyMap<Int64, Version>): Sorted {
  const sorted: Sorted = { changed: new Set(), same: new Set(), known: [], stale: new Set() }
  for (const record of batch.flattened.records) {
    const stored = previous.get(record.id)
    if (stored && !supersedes(record.updatedAt, batch.syncedAt, stored)) {
      sorted.stale.add(record.id)
      continue
    }
    const isSame = stored?.updatedAt === record.updatedAt && stored.deletedAt === null
    ;(isSame ? sorted.same : sorted.changed).add(record.id)
    if (stored) sorted.known.push(record.id)
  }
  return sorted
}

/** Versions of live rows that come, and those in whose place they do. */
function liveRows({ flattened: { records } }: Batch, { changed }: Sorted, stored: Applied['previous']) {
  const came = records.filter(({ id }) => changed.has(id))
  const went = came.flatMap(({ id }) => {
    const before = stored.get(id)
    return before?.deletedAt === null ? [{ id, updatedAt: before.updatedAt }] : []
  })
  return { came, went }
}

/**
 * Statements are handed to the session one after another without waiting for their results, wherever the next does not
 * depend on them: on Postgres they travel together, and its process works while this one parses the next page.
 */
async function writeRoots(
  session: Session,
  table: Table,
  rows: Rows,
  batch: Batch,
  sorted: Sorted,
): Promise<number> {
  const all = sorted.same.size === 0 && sorted.stale.size === 0
  const changed = all ? rows : rows.pick((id) => sorted.changed.has(id))
  const expected = changed.owners.length
  const same = rows.pick((id) => sorted.same.has(id))
  const ids = same.owners as readonly Int64[]
  const [written, rewritten] = await settleAll([
    expected > 0 ? session.upsert(table, changed, batch, false) : 0,
    ids.length > 0 ? session.upsert(table, same, batch, true) : 0,
    ids.length > 0 ? session.confirm(table, ids, batch) : undefined,
  ])
  // Somebody else (a webhook) stored a newer version between the look and the write: look again.
  if (written < expected)
    throw new Retry(`${table.name}: rows changed while they were written`, {
      resource: batch.resource,
      after: 0,
    })
  return written + rewritten
}

async function writeChildren(
  session: Session,
  table: Table,
  all: Rows,
  batch: Batch,
  sorted: Sorted,
): Promise<{ written: number; removed: number }> {
  const rows = sorted.stale.size === 0 ? all : all.pick((id) => !sorted.stale.has(id))
  const same = [...sorted.same] as Int64[]
  const seen = sorted.changed.size === 0 ? rows : rows.pick((id) => sorted.same.has(id))
  const asBefore = same.length > 0 && (await session.childrenMatch(table, batch.tenantId, same, seen))
  const owners = asBefore ? sorted.known.filter((id) => !sorted.same.has(id)) : sorted.known
  const fresh = asBefore ? rows.pick((id) => sorted.changed.has(id)) : rows
  const [removed, written] = await settleAll([
    owners.length > 0 ? session.prune(table, batch.tenantId, owners, fresh) : 0,
    fresh.owners.length > 0 ? session.upsert(table, fresh, batch, true) : 0,
  ])
  return { written, removed }
}

async function writeQuarantine(
  dialect: Dialect,
  session: Session,
  batch: Batch,
  sorted: Sorted,
): Promise<void> {
  const skipped = new Set([...sorted.stale].map(String))
  const entries = batch.flattened.quarantine.filter((entry) => !skipped.has(entry.recordId))
  const statements: CompiledQuery[] = []
  for (let i = 0; i < entries.length; i += 100)
    statements.push(quarantineStatement(dialect, batch, entries.slice(i, i + 100)))
  const stored = [...sorted.changed, ...sorted.same].map(String)
  await settleAll([
    ...statements.map((statement) => session.run(statement)),
    stored.length > 0 ? session.clearQuarantine(batch.resource, stored, batch) : undefined,
  ])
}

function quarantineStatement(
  dialect: Dialect,
  batch: Batch,
  entries: readonly QuarantineEntry[],
): CompiledQuery {
  const { tenantId, resource, syncedAt } = batch
  const unique = new Map(entries.map((entry) => [`${entry.recordId} ${entry.path}`, entry]))
  const rows = [...unique.values()].map((entry) => ({
    tenant_id: tenantId,
    resource,
    record_id: entry.recordId,
    path: entry.path,
    value: entry.value,
    reason: entry.reason,
    first_seen_at: syncedAt,
    last_seen_at: syncedAt,
  }))
  return dialect.db
    .insertInto('sync_quarantine')
    .values(rows)
    .onConflict((c) =>
      c.columns(['tenant_id', 'resource', 'record_id', 'path']).doUpdateSet((eb) => ({
        value: eb.ref('excluded.value'),
        reason: eb.ref('excluded.reason'),
        last_seen_at: eb.ref('excluded.last_seen_at'),
      })),
    )
    .compile()
}

/** Returns what the warehouse did not know yet. */
async function writeDrift(dialect: Dialect, session: Session, batch: Batch): Promise<DriftEntry[]> {
  const { db } = dialect
  const name = (entry: DriftEntry): string => `${entry.resource} ${entry.path} ${entry.kind} ${entry.detail}`
  const drift = batch.flattened.drift.toSorted((a, b) => (name(a) < name(b) ? -1 : 1))
  const fresh: DriftEntry[] = []
  for (const entry of drift) {
    const stamps = { first_seen_at: batch.syncedAt, last_seen_at: batch.syncedAt }
    const inserted = await session.run(
      db
        .insertInto('sync_drift')
        .values({ ...entry, tenant_id: batch.tenantId, ...stamps })
        .onConflict((c) => c.doNothing())
        .compile(),
    )
    if (inserted.affected > 0) fresh.push(entry)
    else
      await session.run(
        db
          .updateTable('sync_drift')
          .set({ last_seen_at: batch.syncedAt })
          .where('resource', '=', entry.resource)
          .where('path', '=', entry.path)
          .where('kind', '=', entry.kind)
          .where('detail', '=', entry.detail)
          .compile(),
      )
  }
  return fresh
}

/** Fails when another run has taken the lease; holds it until the transaction ends. */
export async function checkFence(
  dialect: Dialect,
  session: Session,
  fence: Int64 | undefined,
): Promise<void> {
  if (fence === undefined) return
  const held = (await session.run(dialect.fence())).rows[0]?.token
  if (held === fence) return
  throw new Stop(
    `Another run has taken over (its token is ${held}, ours ${fence}); nothing of this page was written`,
    {
      exitCode: 4,
      hint: 'This process was stopped longer than its lease lasts. Run the same command again when the other has ended',
    },
  )
}

/**
 * The one write path: walks, backfills, reconciles and webhooks all come through here. In the transaction that the
 * session stands for: roots under the version guard, children exactly those of the new versions, embedded rows,
 * quarantine, drift, and the progress that speaks of them.
 */
export async function applyBatch(
  dialect: Dialect,
  tables: readonly Table[],
  embedded: readonly Table[],
  session: Session,
  batch: Batch,
): Promise<Applied> {
  const root = tables[0]
  if (!root) throw new Bug(`${batch.resource} has no table`)
  const ids = batch.flattened.records.map((record) => record.id)
  const { db } = dialect
  const isRegistered = ids.length > 0 && keepsRegister(root, embedded)
  const [register, previous] = await settleAll([
    isRegistered ? session.run(openRegister(db, batch, root)) : undefined,
    ids.length > 0 ? session.versions(root, batch.tenantId, ids) : new Map<Int64, Version>(),
  ])
  const sorted = sortOut(batch, previous)
  const entry = register && enterRows(db, batch, register.rows[0], liveRows(batch, sorted, previous))
  const rows = (table: Table): Rows => dialect.rows(table, batch.flattened)
  const tags = async (table: Table): Promise<number> => {
    if (table === root) return 0
    const found = rows(table)
    return found.owners.length > 0 ? session.upsert(table, found, batch, true) : 0
  }
  const writes = settleAll([
    writeRoots(session, root, rows(root), batch, sorted),
    settleAll(tables.slice(1).map((table) => writeChildren(session, table, rows(table), batch, sorted))),
    settleAll(embedded.map(tags)),
    writeQuarantine(dialect, session, batch, sorted),
  ])
  const drift =
    batch.flattened.drift.length > 0 ? await writes.then(() => writeDrift(dialect, session, batch)) : []
  const [[roots, children, others]] = await settleAll([
    writes,
    settleAll([...batch.statements, ...(entry ? [entry] : [])].map((statement) => session.run(statement))),
    checkFence(dialect, session, batch.fence),
  ])
  const written = [roots, ...others, ...children.map((child) => child.written)].reduce((a, b) => a + b, 0)
  if (batch.origin && written > 0) await session.run(requestStatement(db, batch, batch.origin, written))
  const removed = children.reduce((sum, child) => sum + child.removed, 0)
  return { written, removed, stale: sorted.stale.size, previous, drift }
}
