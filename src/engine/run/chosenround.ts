/*
 * A run on the cursors that are worth it now, instead of all. A feature chooses them (features/targets). This file has
 * what applies to every such round: it ends when its time is up, and whatever it leaves out isn't a failure.
 */
import type { Int64 } from '../../../schema/resource.js'
import { type Cursor, readCursors } from '../warehouse/state/cursors.js'
import { readMeta, storeMeta } from '../warehouse/state/meta.js'
import { lastAuthorizations, readGranted } from '../warehouse/state/tenants.js'
import { limitedRequests } from './aroundsource.js'
import { type Authorizations, firstAuthorizations, type Granted } from './askauthorizations.js'
import type { ChosenCursors, CursorEnd } from './cursor.js'
import { endingOf, isCut, timeLimit } from './ending.js'
import { grantsOfShard, type KnownGrants, storedGrants } from './grantsofshard.js'
import type { WritingRun } from './runcontext.js'
import type { RunEnd } from './runend.js'
import type { RunReport } from './runreport.js'
import type { CursorTask, Run } from './tenant.js'

/** What a round works on. */
export interface ChosenRound {
  readonly tasks: readonly CursorTask[]
  /** They come after the others. */
  readonly limited?: {
    readonly tasks: readonly CursorTask[]
    /** How many requests they may take together. The next round goes on where they are cut short. */
    readonly requests: number
  }
  /** No cursor starts after this time, in ms since the epoch. */
  readonly endsAt: number
  /** In how many ms a change to this list must be in the warehouse. */
  targetOf(resource: string, tenantId: Int64): number
}

/**
 * Chooses a round's cursors, from tenants that are granted and selected. `done`: what the steps before it reported, in a
 * job.
 */
export type ChooseRound = (
  run: WritingRun,
  granted: Granted,
  done: readonly RunReport[],
) => Promise<ChosenRound>

/** Where the number of authorizations is kept, in sync_meta: those of forgotten tenants count, and have no row. */
const markName = 'authorizations'

/** Authorizations younger than this aren't requested again: rounds come every few minutes. */
const askedAnewAfter = 3_600_000_000n
/**
 * Which tenants are granted: requested as in every run if that costs one request, otherwise once an hour. In between,
 * one request finds out how many there are and what the rate limit is.
 */
export async function grantedOf(run: WritingRun, ask: () => Promise<Authorizations>): Promise<KnownGrants> {
  if (run.shard) return grantsOfShard(run, ask)
  const { warehouse, clock } = run
  const asking = async () => {
    const asked = await firstAuthorizations(ask)
    return { granted: asked, asked }
  }
  const known = await readGranted(warehouse)
  if (known.all <= run.source.pageSize) return asking()
  const last = await lastAuthorizations(warehouse)
  const { total, isUncounted } = await run.source.authorizations(1, 1, run.signal)
  // Without a count, only the whole list shows a new tenant.
  if (isUncounted) return asking()
  const counted = (await readMeta(warehouse, markName)) ?? String(known.granted.length)
  if (last === null || clock.nowMicros() - last > askedAnewAfter || String(total) !== counted) {
    const asked = await asking()
    if (String(total) !== counted) await warehouse.write([storeMeta(warehouse.db, markName, String(total))])
    return asked
  }
  return { granted: storedGrants(run, known) }
}

/** Gives the run the states of the cursors that it works on. `cursors`: the map that the run reads them from. */
export async function readStates(
  { warehouse }: Pick<Run, 'warehouse'>,
  tasks: readonly CursorTask[],
  cursors: Map<string, Cursor>,
): Promise<void> {
  for (const resource of new Set(tasks.map((task) => task.resource))) {
    const tenants = tasks.filter((task) => task.resource === resource).map(({ tenantId }) => tenantId)
    const states = await readCursors(warehouse, { resources: [resource.name], tenants })
    for (const [name, state] of states) cursors.set(name, state)
  }
}

/** Whether the source says that no request is left until its window ends. A round then has nothing to do, and no failure. */
export function isSpent({ source, clock }: Pick<WritingRun, 'source' | 'clock'>): boolean {
  const { window } = source.stats()
  return window?.remaining === 0 && window.resetsAt > Number(clock.nowMicros() / 1000n)
}

/** Works on the cursors until all are done or the round is over. */
export async function workOnRound(
  run: WritingRun,
  { tasks, limited, endsAt }: ChosenRound,
  {
    work,
    beside,
  }: {
    work(run: WritingRun, chosen: ChosenCursors): Promise<readonly CursorEnd[]>
    /** Does the work, and alongside it what becomes due meanwhile. */
    beside<T>(run: WritingRun, work: () => Promise<T>): Promise<T>
  },
): Promise<Pick<RunEnd, 'ends' | 'reason'>> {
  const all = [...tasks, ...(limited?.tasks ?? [])]
  run.observer.planned?.(new Set(all.map(({ tenantId }) => tenantId)).size, all.length)
  if (all.length === 0) return { ends: [], reason: null }
  const left = endsAt - Number(run.clock.nowMicros() / 1000n)
  using limit = timeLimit(Math.max(1, left), run)
  const timed: WritingRun = { ...run, signal: limit.signal, timeLimited: true }
  const ends = await beside(timed, async () => {
    const done = tasks.length > 0 ? await work(timed, { tasks, left: [] }) : []
    if (!limited || limited.tasks.length === 0 || limit.signal.aborted) return done
    const few: WritingRun = { ...timed, ...limitedRequests(run.source, limited.requests, limit.signal) }
    return [...done, ...(await work(few, { tasks: limited.tasks, left: [] }))]
  })
  // What the round didn't reach waits for the next one; that is by design.
  const reached = ends.filter(
    ({ report: { reason } }) => !isCut(reason) && !(reason === 'told_to_wait' && isSpent(run)),
  )
  const ending = endingOf(run.signal)
  return { ends: reached, reason: ending === 'time_limit' ? null : ending }
}
