/*
 * Runs the work on cursors to its end: one cursor, or all of a run. A cursor's failure stays with the cursor; the
 * run and the read-only run throw on only what concerns every cursor.
 */
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip, Stop } from '../../errors.js'
import { type Reason, reasons } from '../../reasons.js'
import { movesWatermark, type Verdict } from '../../walk/types.js'
import { cursorColumns } from '../../warehouse/cursors.js'
import { type CursorContext, type CursorTask, keyOf, now, stateOf } from './context.js'
import { eachLimited } from './eachlimited.js'
import { type Ending, endingOf } from './ending.js'
import type { CursorReport } from './report.js'
import type { Begin, CursorResult } from './work.js'

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

const reasonOf = ({ unstorable, outcome }: CursorResult): Reason | null =>
  unstorable > 0 ? 'record_unstorable' : (outcome?.reason ?? null)

const isUndone = (failure: Explained | undefined): boolean =>
  failure?.reason === 'interrupted' || failure?.reason === 'time_limit'

interface Explained {
  readonly text: string
  readonly absent: boolean
  readonly reason: Reason
}

const undone = (ending: Ending): string => `${reasons[ending]}; the next run goes on where this one stopped`

/** What a failure means for this cursor. Throws on a failure that concerns the whole run. */
async function explain(context: CursorContext, task: CursorTask, error: unknown): Promise<Explained> {
  const ending = endingOf(context.signal)
  // What the signal itself threw is no failure; a warehouse that was lost meanwhile is one of the whole run.
  if (error instanceof Stop && error !== context.signal.reason) throw error
  if (ending) return { text: undone(ending), absent: false, reason: ending }
  if (!(error instanceof Skip)) throw error
  const text = describeError(error)
  const reason = error.details.code ?? 'unreachable'
  if (error.reason !== 'absent') return { text, absent: false, reason }
  if (!task.resource.resource.documented) return { text, absent: true, reason: 'gone' }
  if (await seemsGranted(context, task.tenantId)) return { text, absent: false, reason: 'gone' }
  const revoked = `Tenant ${task.tenantId} is no longer granted; its rows are kept`
  return { text: revoked, absent: false, reason: 'revoked' }
}

/** Where the source cannot be asked now, the tenant counts as granted: the cursor then reports its own failure. */
async function seemsGranted(context: CursorContext, tenantId: Int64): Promise<boolean> {
  try {
    return await context.isGranted(tenantId)
  } catch (error) {
    if (context.signal.aborted || error instanceof Skip) return true
    throw error
  }
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
  const end = (result: CursorResult, error: string | null, failure?: Explained): CursorEnd => ({
    task,
    startedAt,
    finishedAt: now(context),
    quarantined: context.counted.quarantined - before,
    books: booksOf(result),
    absent: failure?.absent ?? false,
    interrupted: isUndone(failure),
    report: {
      ...cursorColumns(keyOf(task)),
      status: error === null ? 'ok' : isUndone(failure) ? 'skipped' : 'failed',
      completeness: (error === null && result.outcome?.verdict) || ('unproven' satisfies Verdict),
      reason: failure?.reason ?? reasonOf(result),
      watermark: result.watermark,
      requests: source.stats().requests,
      records: result.records,
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

/** A 404 means "not offered" only where the tenant answers otherwise. */
function settleAbsent(ends: readonly CursorEnd[]): CursorEnd[] {
  const answering = new Set(ends.filter((end) => end.report.status === 'ok').map((end) => end.task.tenantId))
  return ends.map((end) =>
    end.absent && answering.has(end.task.tenantId)
      ? { ...end, report: { ...end.report, status: 'unavailable' } }
      : end,
  )
}

/** The end of a cursor whose turn did not come. */
function notBegun(context: CursorContext, task: CursorTask, ending: Ending): CursorEnd {
  const at = now(context)
  return {
    task,
    startedAt: at,
    finishedAt: at,
    quarantined: 0,
    books: null,
    absent: false,
    interrupted: true,
    report: {
      ...cursorColumns(keyOf(task)),
      status: 'skipped',
      completeness: 'unproven',
      reason: ending,
      watermark: stateOf(context, task)?.watermark ?? null,
      requests: 0,
      records: 0,
      rows_upserted: 0,
      rows_deleted: 0,
      error: undone(ending),
    },
  }
}

/** Works on every cursor, at most `sync.concurrency` at once. A failure of the run lets no further cursor begin. */
export async function runCursors(
  context: CursorContext,
  tasks: readonly CursorTask[],
  begin: Begin,
): Promise<CursorEnd[]> {
  const ends: CursorEnd[] = []
  await eachLimited(tasks, Math.max(1, context.config.sync.concurrency), async (task) => {
    const ending = endingOf(context.signal)
    if (ending) return void ends.push(notBegun(context, task, ending))
    const end = await runCursor(context, task, begin)
    ends.push(end)
    if (!end.interrupted) context.observer.cursor?.(end.report)
  })
  return settleAbsent(ends)
}
