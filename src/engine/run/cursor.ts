/*
 * Runs the work on cursors to its end: one cursor, or all of a run. A cursor's failure stays with the cursor; the
 * run and the read-only run throw on only what concerns every cursor.
 */
import type { Int64 } from '../../../schema/resource.js'
import { eachLimited } from '../base/eachlimited.js'
import { describeError, Skip, Stop } from '../base/errors.js'
import { type Reason, reasons } from '../base/reasons.js'
import { inSpan } from '../base/trace.js'
import { type Claim, movesWatermark, verdict } from '../walk/verdict.js'
import { cursorColumns } from '../warehouse/cursors.js'
import { answeringTenants, type Explained, explainAbsence, notGranted, ungrantedOf } from './absence.js'
import type { Begin, CursorResult } from './cursorwork.js'
import { type Ending, endingOf } from './ending.js'
import { type CursorContext, type CursorTask, type GrantStanding, keyOf, now, stateOf } from './runcontext.js'
import type { CursorReport } from './runreport.js'

/** A cursor of a tenant that is not granted: it is not asked for. */
export interface LeftOut extends CursorTask {
  readonly standing: Exclude<GrantStanding, 'granted'>
}

/** The cursors of a run, in the order in which they begin, and those that are left out. */
export interface ChosenCursors {
  readonly tasks: readonly CursorTask[]
  readonly left: readonly LeftOut[]
}

/** What came of one cursor, before it is known whether the tenant's other resources answer. */
export interface CursorEnd {
  readonly task: CursorTask
  readonly report: CursorReport
  readonly startedAt: string
  readonly finishedAt: string
  readonly quarantined: number
  readonly books: unknown
  /** A 404 on a resource whose path the document does not show: "not offered", if the tenant answers otherwise. */
  readonly absent: boolean
  /** The run was told to end: stored rows stay, and the next run goes on here. This is no failure. */
  readonly interrupted: boolean
}

function problem(result: CursorResult): string | null {
  if (result.unstorable > 0)
    return `${result.unstorable} ${result.unstorable === 1 ? 'record' : 'records'} could not be stored: see shopsync quarantine`
  if (result.problem !== undefined) return result.problem
  if (result.outcome?.verdict !== 'unproven') return null
  const { reason, books } = result.outcome
  const { first, last, distinct } = books
  const words = reasons[reason ?? 'totals_disagree']
  if (movesWatermark(result.outcome))
    return `All that the source shows is stored, but ${words}: ${first} records at first, ${last} at last, ${distinct} seen. Later runs look again`
  return `The books do not close (${words}): ${first} records at first, ${last} at last, ${distinct} seen. The watermark stays; the next run reads the list again`
}

const claimed = ({
  verdict: completeness,
  reason,
}: Claim): Pick<CursorReport, 'completeness' | 'reason'> => ({
  completeness,
  reason,
})

/** What can be claimed of a cursor that is not asked for, or whose work failed. */
const nothingSeen = (reason: Reason | null): Claim => verdict({ basis: { by: 'nothing', reason } })

function claimOf({ unstorable, outcome }: CursorResult): Claim {
  if (!outcome) return nothingSeen(unstorable > 0 ? 'record_unstorable' : null)
  return unstorable > 0 ? verdict({ ...outcome.evidence, unstorable }) : outcome
}

const undone = (ending: Ending): Explained => ({
  text: `${reasons[ending]}; the next run goes on where this one stopped`,
  status: 'skipped',
  reason: ending,
  absent: false,
})

/** What a failure means for this cursor. Throws on a failure that concerns the whole run. */
async function explain(context: CursorContext, task: CursorTask, error: unknown): Promise<Explained> {
  const ending = endingOf(context.signal)
  // What the signal itself threw is no failure; a warehouse that was lost meanwhile is one of the whole run.
  if (error instanceof Stop && error !== context.signal.reason) throw error
  if (ending) return undone(ending)
  if (!(error instanceof Skip)) throw error
  if (error.reason === 'absent') return explainAbsence(context, task, error)
  const reason = error.details.code ?? 'unreachable'
  return { text: describeError(error), status: 'failed', reason, absent: false }
}

/** The numbers that the verdict rests on. */
function booksOf({ outcome, reconciled }: CursorResult): unknown {
  return reconciled ? { ...outcome?.books, reconciled } : (outcome?.books ?? null)
}

/** Runs one cursor to its end; throws only a failure that concerns the whole run. */
async function runCursor(context: CursorContext, task: CursorTask, begin: Begin): Promise<CursorEnd> {
  const startedAt = now(context)
  const before = context.counted.quarantined
  const source = context.source.tagged()
  const work = begin(task, source)
  context.observer.begun?.(keyOf(task))
  const end = (result: CursorResult, error: string | null, failure?: Explained): CursorEnd => ({
    task,
    startedAt,
    finishedAt: now(context),
    quarantined: context.counted.quarantined - before,
    books: booksOf(result),
    absent: failure?.absent ?? false,
    interrupted: failure !== undefined && isEnding(failure.reason),
    report: {
      ...cursorColumns(keyOf(task)),
      step: 1,
      status: error === null ? 'ok' : (failure?.status ?? 'failed'),
      ...claimed(failure ? nothingSeen(failure.reason) : claimOf(result)),
      watermark: result.watermark,
      requests: source.stats().requests,
      records: result.records,
      records_changed: result.changed,
      rows_upserted: result.written,
      rows_deleted: result.removed,
      error,
      ...(result.reconciled && { reconciled: result.reconciled }),
    },
  })
  try {
    const result = await work.run()
    return end(result, problem(result))
  } catch (error) {
    const failure = await explain(context, task, error)
    return end({ ...work.progress, outcome: null }, failure.text, failure)
  }
}

function tracedCursor(context: CursorContext, task: CursorTask, begin: Begin): Promise<CursorEnd> {
  const { tenantId, resource } = task
  const site = { 'shopsync.tenant_id': String(tenantId), 'shopsync.resource': resource.name }
  return inSpan('cursor', site, async (tell) => {
    const end = await runCursor(context, task, begin)
    const { status, completeness, reason, records, requests } = end.report
    const verdict = { 'shopsync.status': status, 'shopsync.completeness': completeness }
    const failure = status === 'failed' ? (reason ?? 'failed') : undefined
    const counts = { 'shopsync.records': records, 'shopsync.requests': requests }
    tell({ ...verdict, ...counts, 'shopsync.reason': reason ?? undefined, 'error.type': failure })
    return end
  })
}

const isEnding = (reason: Reason): boolean => reason === 'interrupted' || reason === 'time_limit'

/** The end of a cursor that is not asked for: its tenant is not granted, or its turn did not come. */
function notBegun(context: CursorContext, task: CursorTask, { text, status, reason }: Explained): CursorEnd {
  const at = now(context)
  return {
    task,
    startedAt: at,
    finishedAt: at,
    quarantined: 0,
    books: null,
    absent: false,
    interrupted: isEnding(reason),
    report: {
      ...cursorColumns(keyOf(task)),
      step: 1,
      status,
      ...claimed(nothingSeen(reason)),
      watermark: stateOf(context, task)?.watermark ?? null,
      requests: 0,
      records: 0,
      records_changed: 0,
      rows_upserted: 0,
      rows_deleted: 0,
      error: text,
    },
  }
}

/** A 404 means "not offered" only where the tenant is granted and answers otherwise. */
async function settleAbsent(context: CursorContext, ends: readonly CursorEnd[]): Promise<CursorEnd[]> {
  const absent = ends.filter((end) => end.absent)
  if (absent.length === 0) return [...ends]
  const ungranted = await ungrantedOf(
    context,
    absent.map(({ task }) => task),
  )
  const answers = answeringTenants(context, ends)
  return ends.map((end) => {
    if (!end.absent) return end
    const settled = settledReport(end, ungranted.get(end.task.tenantId), answers)
    context.observer.cursor?.(settled)
    return { ...end, report: settled }
  })
}

function settledReport(
  { task: { tenantId }, report }: CursorEnd,
  standing: Exclude<GrantStanding, 'granted'> | undefined,
  answers: (tenantId: Int64) => boolean,
): CursorReport {
  if (standing === undefined)
    return answers(tenantId) ? { ...report, status: 'unavailable', reason: null } : report
  const { text, status, reason } = notGranted(tenantId, standing)
  return { ...report, status, reason, error: text }
}

/** Works on every cursor, at most `sync.concurrency` at once. A failure of the run lets no further cursor begin. */
export async function runCursors(
  context: CursorContext,
  { tasks, left }: ChosenCursors,
  begin: Begin,
): Promise<CursorEnd[]> {
  const ends = left.map(({ standing, ...task }) =>
    notBegun(context, task, notGranted(task.tenantId, standing)),
  )
  const revoked = new Set<Int64>()
  await eachLimited(tasks, Math.max(1, context.config.sync.concurrency), async (task) => {
    const ending = endingOf(context.signal)
    const end = ending
      ? notBegun(context, task, undone(ending))
      : revoked.has(task.tenantId)
        ? notBegun(context, task, notGranted(task.tenantId, 'revoked'))
        : await tracedCursor(context, task, begin)
    if (end.report.reason === 'revoked') revoked.add(task.tenantId)
    ends.push(end)
    if (!end.interrupted && !end.absent) context.observer.cursor?.(end.report)
  })
  return settleAbsent(context, ends)
}

/** A time limit that came when all was done has ended nothing. */
export function endingOfRun(
  { signal }: Pick<CursorContext, 'signal'>,
  ends: readonly CursorEnd[],
): Ending | null {
  const ending = endingOf(signal)
  return ending === 'time_limit' && !ends.some(({ interrupted }) => interrupted) ? null : ending
}
