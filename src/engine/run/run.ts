/*
 * A run that writes: `sync`, `backfill`, `reconcile`, and the steps of a job. The command line and the tests start it;
 * `plan` and `verify` use run/readonlyrun.ts instead.
 */
import { setMaxListeners } from 'node:events'
import { describeError, Skip, Stop } from '../base/errors.js'
import { fromMicros } from '../base/timestamp.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import { openLease } from '../warehouse/lease/openlease.js'
import { type Cursor, readCursors } from '../warehouse/state/cursors.js'
import { readLateness } from '../warehouse/state/latenessrows.js'
import { lastTurns } from '../warehouse/state/runcursors.js'
import {
  checkSourceIdentity,
  readListsFrom,
  storeSource,
  storeSourceIdentity,
} from '../warehouse/state/sourceidentity.js'
import { readForgotten } from '../warehouse/state/tenants.js'
import {
  type Authorizations,
  AuthorizationWatch,
  askAuthorizations,
  firstAuthorizations,
  recordAuthorizations,
} from './askauthorizations.js'
import { afterCursors, beforeCursors, learnZones, migrateWhole, rewriteStored } from './catchup.js'
import { chooseResources, planTasks } from './choosecursors.js'
import {
  type ChooseRound,
  type ChosenRound,
  grantedOf,
  isSpent,
  readStates,
  workOnRound,
} from './chosenround.js'
import { type Begin, endingOfRun } from './cursor.js'
import { CursorHands } from './cursorhands.js'
import { endingOf, isCut } from './ending.js'
import { grantsOfShard, type KnownGrants } from './grantsofshard.js'
import { latenessOf } from './lateness.js'
import { recordCursors, recordFailures } from './records.js'
import { workOnAll } from './refilling.js'
import type { Dependencies, Writing, WritingRun } from './runcontext.js'
import { type RunEnd, reportOf, withQuarantine } from './runend.js'
import { type RecordedRun, runOnRecord } from './runonrecord.js'
import type { RunReport, RunRequest } from './runreport.js'
import { now } from './tenant.js'
import { Beginning, wholeLists } from './wholelists.js'

/**
 * Runs `sync`, `reconcile` or `backfill`: claims the warehouse, asks which tenants there are, does the work on every
 * cursor, and records the results. A cursor's failure only affects that cursor. Throws Stop if the run as a whole can't
 * continue. When the signal fires, work in progress is committed, and the report shows what was not reached.
 */
export async function runSync(deps: Dependencies, request: StepRequest): Promise<RunReport> {
  // A wrong choice is refused before anything is claimed.
  chooseResources(deps, request)
  await migrateWhole(deps, request.job ?? request.mode)
  await using lease = await openLease({ ...deps, patience: 0 }, request.job ?? request.mode)
  await checkSourceIdentity(deps.warehouse, deps.source.address)
  const report = await runOnRecord(deps, lease, request, (run) => runStep(run, request))
  lease.throwIfLost()
  return report
}

/** What a run, or a step of a job, should do, and how its work on a cursor starts. */
export interface StepRequest extends RunRequest {
  readonly begin: Begin
  /** Chooses the cursors instead of taking all. */
  readonly round?: ChooseRound
}

/** The work of a run, or of one step of a job. `recorded` is already on record. */
export async function runStep(recorded: RecordedRun, request: StepRequest, step = 1): Promise<RunReport> {
  const startedAt = now(recorded)
  const { warehouse, signal, asked, shard, stamps } = recorded
  const resources = chooseResources(recorded, request)
  // Every request under way listens to the signal.
  setMaxListeners(0, signal)
  if (!shard) await rewriteStored(recorded)
  const { round } = request
  const cursors = round ? new Map<string, Cursor>() : await readCursors(warehouse, { shard })
  const { run, ask } = await openRun(recorded, cursors)
  const since = fromMicros(stamps.next())
  const ended = round
    ? await workOnDue(run, request, { round, ask, cursors, done: recorded.done })
    : await workOnChosen(run, request, { resources, known: await knownGrants(run, ask) })
  const end = inStep(await withQuarantine(run, ended, since), step)
  if (signal.aborted && !asked.aborted) throw signal.reason
  if (request.mode !== 'backfill') await recordFailures(run, end.ends)
  await recordCursors(run, end.ends, request.mode)
  const report = reportOf(run, request, startedAt, end)
  if (report.rows_upserted > 0) await optimize(run)
  return report
}

/**
 * Everything a writer needs to know before it works on cursors: how late records come, where lists begin, who is
 * granted. `ask` queries the source for that and records what it finds.
 */
export async function openRun(
  writing: Writing & Pick<WritingRun, 'stats'>,
  cursors: Map<string, Cursor>,
): Promise<{ readonly run: WritingRun; readonly ask: () => Promise<Authorizations> }> {
  const { warehouse, beside } = writing
  const forgotten = await readForgotten(warehouse)
  const ask = async (): Promise<Authorizations> =>
    recordAuthorizations(writing, await askAuthorizations(writing, { forgotten }))
  const keep = async (text: string): Promise<void> => {
    await warehouse.write([storeSource(warehouse.db, { lists_from: text })])
  }
  const isAccepted = [...cursors.values()].some(({ watermark }) => watermark !== null)
  const beginning = new Beginning(await readListsFrom(warehouse), keep, isAccepted)
  const run: WritingRun = {
    ...writing,
    source: wholeLists(writing.source, beginning),
    cursors,
    lateness: latenessOf(await readLateness(warehouse, now(writing))),
    authorizations: new AuthorizationWatch(ask),
    learnZones: writing.besideRows && ((tenantId) => learnZones(writing, tenantId)),
    hands: beside && new CursorHands(cursors),
    beforeWalk: beside && ((cursor) => beside.beforeWalk(cursor)),
  }
  return { run, ask }
}

/**
 * Statistics help the planner and promise nothing: if analyzing a table fails, the run that has ended isn't affected.
 */
async function optimize({ warehouse, observer }: WritingRun): Promise<void> {
  try {
    await warehouse.trying(() => warehouse.dialect.bulk.optimize(warehouse.tables))
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    observer.warning?.('The warehouse could not update its statistics', { error: describeError(error) })
  }
}

/** Every run asks who is granted. Of several shards, one does. */
async function knownGrants(run: WritingRun, ask: () => Promise<Authorizations>): Promise<KnownGrants> {
  if (run.shard) return grantsOfShard(run, ask)
  const asked = await firstAuthorizations(ask)
  return { granted: asked, asked }
}

async function workOnChosen(
  run: WritingRun,
  request: StepRequest,
  {
    resources,
    known: { granted: authorizations, asked },
  }: { readonly resources: readonly ResourceModel[]; readonly known: KnownGrants },
): Promise<RunEnd> {
  if (asked) await takeSource(run, asked)
  const turns = run.timeLimited ? await lastTurns(run.warehouse, request.mode, run.shard) : undefined
  const chosen = planTasks(run, request, { resources, authorizations, turns })
  await beforeCursors(run)
  const ends = await workBeside(run, request, undefined, () => workOnAll(run, request, chosen, request.begin))
  if (run.warehouse.model.forgotten.tenants.size > 0) await (await import('./readwanted.js')).readWanted(run)
  await afterCursors(run)
  return { ends, reason: endingOfRun(run, ends) ?? authorizations.reason, quarantined: run.stats.quarantined }
}

interface DueWork {
  readonly round: ChooseRound
  readonly ask: () => Promise<Authorizations>
  /** The map in which the run looks up its cursors. */
  readonly cursors: Map<string, Cursor>
  /** See `ChooseRound`. */
  readonly done: readonly RunReport[]
}

/** Works on the cursors of a round. If its time or the rate limit is up before it can begin, that isn't a failure either. */
async function workOnDue(run: WritingRun, request: StepRequest, due: DueWork): Promise<RunEnd> {
  try {
    return await workOnChosenRound(run, request, due)
  } catch (error) {
    const isToldToWait = error instanceof Stop && error.details.code === 'told_to_wait' && isSpent(run)
    const ending = endingOf(run.signal)
    if (!isToldToWait && !isCut(ending)) throw error
    if (isSpent(run)) run.observer.notice?.('The rate limit is spent: this round reads nothing', {})
    return { ends: [], reason: ending === 'wanted' ? ending : null, quarantined: run.stats.quarantined }
  }
}

async function workOnChosenRound(
  run: WritingRun,
  request: StepRequest,
  { round, ask, cursors, done }: DueWork,
): Promise<RunEnd> {
  const { granted, asked } = await grantedOf(run, ask)
  if (asked) await takeSource(run, asked)
  const chosen = await round(run, granted, done)
  await readStates(run, [...chosen.tasks, ...(chosen.limited?.tasks ?? [])], cursors)
  await beforeCursors(run)
  const { ends, reason } = await workOnRound(run, chosen, {
    work: (limited, tasks) => workOnAll(limited, request, tasks, request.begin),
    beside: (limited, work) => workBeside(limited, request, chosen, work),
  })
  if (run.warehouse.model.forgotten.tenants.size > 0) await (await import('./readwanted.js')).readWanted(run)
  await afterCursors(run)
  return { ends, reason: reason ?? granted.reason, quarantined: run.stats.quarantined }
}

/** Does the planned work and, alongside it, whatever becomes due meanwhile. */
async function workBeside<T>(
  run: WritingRun,
  { mode }: StepRequest,
  round: ChosenRound | undefined,
  planned: () => Promise<T>,
): Promise<T> {
  const { beside, hands } = run
  await using _ = beside && hands ? beside.during(run, { mode, hands, targetOf: round?.targetOf }) : null
  return await planned()
}

/**
 * A warehouse without a source takes the first one that grants a tenant. A mistyped address or partner grants no
 * tenant; it must not become this warehouse's source.
 */
async function takeSource(run: WritingRun, { granted }: Authorizations): Promise<void> {
  const { warehouse, source } = run
  if (granted.length === 0 || (await checkSourceIdentity(warehouse, source.address))) return
  await warehouse.write([storeSourceIdentity(warehouse.db, source.address, now(run))])
}

/** The same end, as part of a job's step. */
const inStep = (end: RunEnd, step: number): RunEnd => {
  if (step === 1) return end
  return { ...end, ends: end.ends.map((one) => ({ ...one, report: { ...one.report, step } })) }
}
