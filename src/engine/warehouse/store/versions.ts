/**
 * Keeps versions before a batch replaces them, and before a record is marked deleted (docs/history.md). A version is
 * read from the rows themselves, in the transaction that changes them: a version that no row ever held is never
 * claimed.
 */
import type { Int64 } from '../../../../schema/resource.js'
import { allSettled } from '../../base/allsettled.js'
import { Bug } from '../../base/errors.js'
import { type Table, tupleColumns } from '../../model/table.js'
import type { Dialect, VersionWords } from '../dialect.js'
import type { Rows, Session } from '../transaction.js'
import type { BatchStamp } from './versionbatch.js'

type Ids = readonly Int64[]

/** A transaction that keeps versions of one resource. */
interface Keeping<R extends Rows<R>> {
  readonly dialect: Dialect<R>
  readonly session: Session<R>
  readonly tables: VersionTables
}

/** The history's table, and the tables of the resource whose versions it keeps: its own first. */
export function versionTables(history: Table, [root, ...children]: readonly Table[]): VersionTables {
  if (!root) throw new Bug(`${history.resource} has no table`)
  return { history, root, children }
}

/** By database, since tests open several with the same model. Some of the texts have ten thousand characters. */
const known = new WeakMap<object, Map<string, VersionTexts>>()

function textsOf<R extends Rows<R>>({ dialect: { db, sql }, tables }: Keeping<R>): VersionTexts {
  const ofDatabase = known.get(db) ?? new Map<string, VersionTexts>()
  known.set(db, ofDatabase)
  const texts = ofDatabase.get(tables.history.name) ?? versionTexts(sql.versionWords, tables)
  ofDatabase.set(tables.history.name, texts)
  return texts
}

interface Replacing<R extends Rows<R>> extends BatchStamp {
  /** Live rows that get another version. */
  readonly replaced: Ids
  /** Records that come with the version they already have. The content is nearly always the same too. */
  readonly same: Ids
  rows(table: Table): R
}

/** Whether records that come with the version they already have are stored exactly as they come, with their children. */
async function isStored<R extends Rows<R>>(
  { session, tables: { root, children } }: Keeping<R>,
  { same, rows, ...by }: Replacing<R>,
): Promise<boolean> {
  if (same.length === 0) return true
  const ids = new Set<unknown>(same)
  const picked = (table: Table): R => rows(table).pick((owner) => ids.has(owner))
  const [alike, matches] = await allSettled([
    session.countSettled(root, picked(root), by),
    allSettled(children.map((table) => session.childrenMatch(table, same, picked(table), by))),
  ])
  return alike === same.length && matches.every(Boolean)
}

async function keep<R extends Rows<R>>(keeping: Keeping<R>, ids: Ids, by: BatchStamp): Promise<void> {
  if (ids.length === 0) return
  await keeping.session.ask(textsOf(keeping).keep, [by.tenantId, ids, by.syncedAt, 'replaced'])
}

/**
 * For records that may or may not have changed, only the database can tell, once it has them. What was kept of
 * unchanged ones is removed again.
 */
async function dropUnchanged<R extends Rows<R>>(
  keeping: Keeping<R>,
  ids: Ids,
  by: BatchStamp,
): Promise<void> {
  if (ids.length === 0) return
  const texts = textsOf(keeping)
  const given = [by.tenantId, ids, by.syncedAt] as const
  await keeping.session.ask(texts.dropUnchanged, given)
  await keeping.session.ask(texts.begin, given)
}

/** Keeps what a batch is about to replace. The batch's own records are locked. Returns what to do when it is written. */
export async function keepReplaced<R extends Rows<R>>(
  keeping: Keeping<R>,
  replacing: Replacing<R>,
): Promise<() => Promise<void>> {
  const { replaced, same } = replacing
  const doubtful = (await isStored(keeping, replacing)) ? [] : same
  await keep(keeping, [...replaced, ...doubtful], replacing)
  return () => dropUnchanged(keeping, doubtful, replacing)
}

/** Keeps what is replaced by rows inside records of another resource. Returns what to do when they are written. */
export async function keepEmbedded<R extends Rows<R>>(
  keeping: Keeping<R>,
  rows: R,
  by: BatchStamp,
): Promise<() => Promise<void>> {
  const { session, tables } = keeping
  const stored = await session.versions(tables.root, by.tenantId, rows.owners as Ids)
  const live = [...stored].flatMap(([id, { deletedAt }]) => (deletedAt === null ? id : []))
  const ids = new Set<unknown>(live)
  const met = rows.pick((id) => ids.has(id))
  const alike = live.length === 0 ? 0 : await session.countSettled(tables.root, met, by)
  if (alike === live.length) return async () => {}
  await keep(keeping, live, by)
  return () => dropUnchanged(keeping, live, by)
}

/** Keeps the version of a record that was found to be gone. The row is locked. */
export async function keepDeleted<R extends Rows<R>>(
  keeping: Keeping<R>,
  tenantId: Int64,
  { id, updatedAt, askedAt }: { readonly id: Int64; readonly updatedAt: string; readonly askedAt: string },
): Promise<void> {
  const { keepUnlessNewer } = textsOf(keeping)
  await keeping.session.ask(keepUnlessNewer, [tenantId, [id], askedAt, 'deleted', updatedAt])
}

/*
 * The statements. $1: the tenant; $2: ids of records; $3: the stamp of the request
 * that showed their end. Both databases take the same text except for a few words.
 */

/** The tables of a resource whose versions are kept. */
interface VersionTables {
  readonly history: Table
  readonly root: Table
  readonly children: readonly Table[]
}

/** The statements for one resource. */
interface VersionTexts {
  /** Keeps the versions that live rows have. $4: what ends them. */
  readonly keep: string
  /** The same, if the row still has the version $5 and was last seen before $3. */
  readonly keepUnlessNewer: string
  /** Removes what was kept of rows that turned out to be unchanged. */
  readonly dropUnchanged: string
  /** Starts the current version of the others. */
  readonly begin: string
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The columns of a nested row that the version doesn't already have. What is computed from it isn't part of it. */
export const nestedColumns = ({ columns, owner }: Table) =>
  columns.filter(
    ({ name, computedBy }) =>
      name !== 'tenant_id' && name !== '_synced_at' && name !== owner && computedBy === undefined,
  )

/** The order of the nested rows: those of one item together, by their positions. */
export const nestedOrder = (table: Table): string[] => {
  const ancestors = table.columns
    .slice(
      0,
      table.columns.findIndex(({ name }) => name === 'position'),
    )
    .filter(({ name }) => name !== 'tenant_id' && name !== table.owner)
  return [...ancestors.map(({ name }) => name), 'position', ...table.key.slice(1)].filter(
    (name, at, all) => name !== table.owner && all.indexOf(name) === at,
  )
}

function versionTexts(words: VersionWords, { history, root, children }: VersionTables): VersionTexts {
  const [kept, live, stamp] = [words.from(history.name), words.from(root.name), words.instant('$3')]
  const columns = root.columns
    .filter(({ computedBy }) => computedBy === undefined)
    .map(({ name }) => name)
    .filter((name) => name !== '_seen_from' && name !== '_unlisted_at')
  const since = 'coalesce(r._seen_from, r._synced_at)'
  /** Of two concurrent requests, the later one may show the older version: its period is empty, never negative. */
  const end = (from: string): string => `case when ${stamp} > ${from} then ${stamp} else ${from} end`
  const nested = words.nested(children, 'r')
  const target = [...columns, '_seen_from', '_children', '_valid_from', '_seen_to', '_ended_by']
  const source = [
    ...columns.map((name) => `r.${quoted(name)}`),
    since,
    nested,
    'r.updated_at',
    end(since),
    'cast($4 as text)',
  ]
  const others = target.filter((name) => !history.key.includes(name)).map(quoted)
  // A version with an empty period is replaced, because there is no instant at which it existed.
  const again = `on conflict (${history.key.map(quoted).join(', ')}) do update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')} where h._seen_to <= h._seen_from`
  const keep = (more: string): string =>
    `insert into ${kept} as h (${target.map(quoted).join(', ')}) select ${source.join(', ')} from ${live} as r where r.tenant_id = $1 and r.id ${words.within('$2')} and r._deleted_at is null${more} ${again}`
  const same = tupleColumns(root).flatMap(({ name, computedBy }) => (computedBy ? [] : quoted(name)))
  const pair = (alias: string): string => `(${same.map((name) => `${alias}.${name}`).join(', ')})`
  return {
    keep: keep(''),
    keepUnlessNewer: keep(` and r.updated_at = ${words.instant('$5')} and r._synced_at < ${stamp}`),
    dropUnchanged: `delete from ${kept} as h where h.tenant_id = $1 and h.id ${words.within('$2')} and h._ended_by = 'replaced' and h._seen_to = ${end('h._seen_from')} and exists (select 1 from ${live} as r where r.tenant_id = $1 and r.id = h.id and ${pair('r')} is not distinct from ${pair('h')} and h._children = ${nested})`,
    begin: `update ${live} as r set _seen_from = ${stamp} where r.tenant_id = $1 and r.id ${words.within('$2')} and r._deleted_at is null and r._seen_from < ${stamp} and exists (select 1 from ${kept} as h where h.tenant_id = $1 and h.id = r.id and h._seen_to = ${stamp})`,
  }
}
