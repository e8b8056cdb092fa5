/**
 * Rewrites stored rows whose shape follows from the configuration alone, without a request: the names of records, and
 * since when a version was seen, where a history was switched on or off. Runs do so under their lease, before any other
 * work; so does the command `migrate`.
 */

import { type CompiledQuery, sql } from 'kysely'
import { nameColumn } from '../../model/flatten/recordname.js'
import type { ResourceModel } from '../../model/resourcemodel.js'
import { type Db, rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import { pendingPrivacy } from '../hiding/privacystate.js'
import { demandRebuild } from '../state/tenants.js'
import { briefly, type Transact } from '../transaction.js'
import type { Warehouse, Writer } from '../warehouse.js'
import { remakeNames, withOtherNames } from './recordnames.js'
import { keptVersions, seenFrom, track, untrack } from './trackedcolumns.js'

interface Rewrite {
  readonly resource: ResourceModel
  readonly to: 'history' | 'no history' | 'name'
}

export interface RewrittenRows {
  readonly table: string
  readonly column: string
  readonly to: Rewrite['to']
  readonly values: number
}

const columnOf = (to: Rewrite['to']): string => (to === 'name' ? nameColumn : seenFrom)

/** What to do so that the rows match the model. Empty if they do. */
async function waitingRewrites({ dialect: { db }, model }: Warehouse): Promise<Rewrite[]> {
  const kept = await keptVersions(db).execute()
  const switched = model.list.flatMap((resource): Rewrite[] => {
    const known = kept.find((row) => row.resource === resource.name)
    const isWanted = resource.history !== undefined
    if (isWanted ? known?.state === 'column' : known === undefined) return []
    return [{ resource, to: isWanted ? 'history' : 'no history' }]
  })
  const named = await withOtherNames(db, model)
  return [...switched, ...named.map((resource): Rewrite => ({ resource, to: 'name' }))]
}

/** The tables that `rewriteRows` would change. Rows to hide are no such thing: a claim of the lease hides them. */
export const tablesToRewrite = (warehouse: Warehouse): Promise<string[]> =>
  warehouse.trying(async () => (await waitingRewrites(warehouse)).map(({ resource }) => resource.name))

/** What `rewriteRows` would do, and what `privacy` changes (hiding/privacystate.ts). */
export interface PendingRewrite extends Pick<RewrittenRows, 'table' | 'column'> {
  readonly to: Rewrite['to'] | 'hidden' | 'new key' | 'loosened'
  readonly resource: string
  /** Whether the lists of its resource are read whole afterwards. */
  readonly refills: boolean
}

/** What is waiting, for commands that show it first. Changes nothing. */
export const pendingRewrites = (warehouse: Warehouse): Promise<PendingRewrite[]> =>
  warehouse.trying(async () => {
    const waiting = await waitingRewrites(warehouse)
    const pending = waiting.map(
      ({ resource: { name }, to }): PendingRewrite => ({
        resource: name,
        table: name,
        column: columnOf(to),
        to,
        refills: false,
      }),
    )
    const hidden = (await warehouse.has('sync_privacy'))
      ? await pendingPrivacy(warehouse.db, warehouse.model)
      : []
    for (const { lists, ...change } of hidden)
      for (const resource of lists.length > 0 ? lists : [''])
        pending.push({ ...change, resource, refills: resource !== '' })
    return pending
  })

/** Rewrites all rows that don't match the model, under the lease. Ends with the signal. */
export function rewriteRows(warehouse: Writer, signal: AbortSignal): Promise<RewrittenRows[]> {
  const transact = briefly(warehouse, signal)
  return warehouse.trying(async () => {
    const done: RewrittenRows[] = []
    warehouse.interfered.forgetUnchanged('rows')
    for (const rewrite of await waitingRewrites(warehouse)) {
      const { resource, to } = rewrite
      const values = await warehouse.interfered.changing('rows', resource.name, () =>
        to === 'name'
          ? remakeNames(warehouse.dialect, transact, resource)
          : switchHistory(warehouse.dialect, transact, rewrite),
      )
      if (values !== undefined) done.push({ table: resource.name, column: columnOf(to), to, values })
    }
    return done
  })
}

/**
 * On: an existing row counts as seen since the last request that showed it. An earlier beginning would claim what
 * nobody observed, such as versions that came while the history was off. Off: nothing maintains the column any more,
 * and a leftover value would be wrong from the row's next version on.
 */
async function switchHistory(
  { db, catalog }: Dialect,
  transact: Transact,
  { resource: { name: resource }, to }: Rewrite,
): Promise<number> {
  const live = await catalog.liveColumns()
  const exists = live.some(({ table, name }) => table === resource && name === seenFrom)
  return transact(async (session) => {
    const column = { resource, name: seenFrom, kind: 'timestamp', state: 'column' }
    await session.run(to === 'history' ? track(db, column) : untrack(db, column))
    if (!exists) return 0
    const { affected } = await session.run(stampSeen(db, resource, to))
    if (affected > 0) await session.run(demandRebuild(db))
    return affected
  })
}

function stampSeen(db: Db, name: string, to: Rewrite['to']): CompiledQuery {
  const since = to === 'history' ? sql.ref('_synced_at') : sql`null`
  return db
    .updateTable(rootTable({ name }))
    .set({ [seenFrom]: since } as never)
    .where(sql<boolean>`${sql.ref(seenFrom)} is distinct from ${since}`)
    .compile()
}
