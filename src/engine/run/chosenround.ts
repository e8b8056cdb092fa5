/*
 * A run on the cursors that are worth it now, in place of all. Who chooses them is the business of a feature
 * (features/targets); here is what holds for each such round: it ends with its time, and what it leaves out is no failure.
 */
import { type CursorState, readCursorsOf } from '../warehouse/cursors.js'
import { lastAuthorizations, readGranted } from '../warehouse/tenants.js'
import { type Authorizations, firstAuthorizations } from './askauthorizations.js'
import type { ChosenCursors, CursorEnd } from './cursor.js'
import { endingOf, timeLimit } from './ending.js'
import type { WritingRun } from './runcontext.js'
import type { RunEnd } from './runend.js'
import type { CursorTask, Run } from './tenant.js'

/** Whose authorizations are known. */
export type Granted = Pick<Authorizations, 'granted' | 'revoked' | 'missing' | 'forgotten' | 'reason'>

/** What a round works on. */
export interface ChosenRound {
  readonly tasks: readonly CursorTask[]
  /** When no cursor is begun any more, in ms since the epoch. */
  readonly endsAt: number
}

/** Chooses the cursors of a round, of tenants that are granted and wanted. */
export type ChooseRound = (run: WritingRun, granted: Granted) => Promise<ChosenRound>

/** Who was asked for a shorter time ago is not asked for again: rounds come every few minutes. */
const askedAnewAfter = 3_600_000_000n
/** One request tells of so many tenants. */
const inOneAnswer = 100

/**
 * Who is granted: asked as every run asks, where that costs one request; else once an hour. Between that one request tells
 * how many there are, and what the rate limit is.
 */
export async function grantedOf(
  run: WritingRun,
  ask: () => Promise<Authorizations>,
): Promise<{ readonly granted: Granted; readonly asked?: Authorizations }> {
  const { warehouse, config, clock } = run
  const asking = async () => {
    const asked = await firstAuthorizations(ask)
    return { granted: asked, asked }
  }
  const known = await readGranted(warehouse)
  if (known.all <= inOneAnswer) return asking()
  const last = await lastAuthorizations(warehouse)
  const { total } = await run.source.authorizations(1, run.signal, 1)
  if (last === null || clock.nowMicros() - last > askedAnewAfter || total !== known.granted.length)
    return asking()
  const except = new Set(config.sync.exceptTenants)
  const isMeant = (id: (typeof known.granted)[number]): boolean =>
    !(except.has(id) || known.forgotten.has(id))
  const { forgotten, revoked } = known
  const granted = known.granted.filter(isMeant)
  return { granted: { granted, revoked, missing: [], forgotten, reason: null } }
}

/** Lets the run know the states of the cursors that it works on. `cursors`: the map that it reads them from. */
export async function readStates(
  { warehouse }: Pick<Run, 'warehouse'>,
  tasks: readonly CursorTask[],
  cursors: Map<string, CursorState>,
): Promise<void> {
  for (const resource of new Set(tasks.map((task) => task.resource))) {
    const tenants = tasks.filter((task) => task.resource === resource).map(({ tenantId }) => tenantId)
    const states = await readCursorsOf(warehouse, resource.name, tenants)
    for (const [name, state] of states) cursors.set(name, state)
  }
}

/** Works on the cursors until all are done, or the round is over. */
export async function workOnRound(
  run: WritingRun,
  { tasks, endsAt }: ChosenRound,
  work: (run: WritingRun, chosen: ChosenCursors) => Promise<readonly CursorEnd[]>,
): Promise<Pick<RunEnd, 'ends' | 'reason'>> {
  run.observer.planned?.(new Set(tasks.map(({ tenantId }) => tenantId)).size, tasks.length)
  if (tasks.length === 0) return { ends: [], reason: null }
  const left = endsAt - Number(run.clock.nowMicros() / 1000n)
  using limited = timeLimit(Math.max(1, left), run)
  const ends = await work({ ...run, signal: limited.signal, timeLimited: true }, { tasks, left: [] })
  // What the round did not reach waits for the next one: that is what rounds are for.
  const reached = ends.filter(({ report }) => report.reason !== 'time_limit')
  return { ends: reached, reason: endingOf(run.signal) === 'interrupted' ? 'interrupted' : null }
}
