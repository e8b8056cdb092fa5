import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import { Skip, Stop } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import { moveCursor } from '../../warehouse/cursors.js'
import type { CursorResult } from '../walks/incremental.js'
import { type CursorContext, now, type RunContext } from './context.js'
import type { CursorReport, Verdict } from './report.js'

/** One cursor's part in a run. */
export interface CursorTask {
  readonly tenantId: Int64
  readonly resource: ResourceModel
}

/** What came of it, before it is known whether the tenant's other resources answer. */
export interface CursorEnd {
  readonly task: CursorTask
  readonly report: CursorReport
  readonly startedAt: string
  readonly finishedAt: string
  readonly quarantined: number
  readonly books: unknown
  /** A 404 on a resource whose path the document does not show: "not offered", if the tenant answers otherwise. */
  readonly absent: boolean
  /** The run was told to end: what is stored stays, and the next run goes on here. No failure. */
  readonly interrupted: boolean
}

/** Work on one cursor, and what has come of it so far, also after a failure. */
export interface CursorWork {
  run(): Promise<CursorResult>
  partial(): Omit<CursorResult, 'outcome'>
}

/** How the work of a mode is begun. `source` counts the requests of this cursor alone. */
export type Begin = (task: CursorTask, source: Source) => CursorWork

function problem(result: CursorResult): string | null {
  if (result.unstorable > 0)
    return `${result.unstorable} ${result.unstorable === 1 ? 'record' : 'records'} could not be stored: see shopsync quarantine`
  if (result.problem !== undefined) return result.problem
  if (result.outcome?.verdict !== 'unproven') return null
  const { first, last, distinct } = result.outcome.books
  return `The books do not close (${result.outcome.reason}): ${first} records at first, ${last} at last, ${distinct} seen. The watermark stays; the next run reads the list again`
}

/** What a failure means for this cursor; what concerns the whole run is thrown on. */
async function explain(
  context: CursorContext,
  task: CursorTask,
  error: unknown,
): Promise<{ text: string; absent: boolean }> {
  if (error instanceof Stop) throw error
  if (context.signal.aborted)
    return { text: 'interrupted; the next run goes on where this one stopped', absent: false }
  if (!(error instanceof Skip)) throw error
  if (error.reason !== 'absent') return { text: error.message, absent: false }
  if (!task.resource.resource.documented) return { text: error.message, absent: true }
  if (await seemsGranted(context, task.tenantId)) return { text: error.message, absent: false }
  return { text: `Tenant ${task.tenantId} is no longer granted; its rows are kept`, absent: false }
}

/** Where it cannot be asked now, the failure stays with the cursor that met it, and says what was found there. */
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

/** Runs one cursor to its end; throws only what stops the whole run. */
export async function runCursor(context: CursorContext, task: CursorTask, begin: Begin): Promise<CursorEnd> {
  const startedAt = now(context)
  const before = context.counted.quarantined
  const source = context.source.tagged()
  const work = begin(task, source)
  const end = (result: CursorResult, error: string | null, absent: boolean): CursorEnd => ({
    task,
    startedAt,
    finishedAt: now(context),
    quarantined: context.counted.quarantined - before,
    books: booksOf(result),
    absent,
    interrupted: error !== null && context.signal.aborted,
    report: {
      tenant_id: task.tenantId,
      resource: task.resource.name,
      status: error === null ? 'ok' : 'failed',
      completeness: (result.outcome?.verdict ?? 'unproven') satisfies Verdict,
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
    return end(result, problem(result), false)
  } catch (error) {
    const { text, absent } = await explain(context, task, error)
    return end({ ...work.partial(), outcome: null }, text, absent)
  }
}

/** Marks what failed in the cursor itself; what succeeded was marked in the transaction of its last rows. */
export async function recordFailure(context: RunContext, { report }: CursorEnd): Promise<void> {
  const key = { tenantId: report.tenant_id, resource: report.resource }
  const change = {
    status: report.status,
    last_error: report.error,
    last_run_id: context.runId,
    ...(report.status === 'failed' && { completeness: report.completeness }),
  }
  await context.warehouse.write([moveCursor(context.warehouse.db, key, change)], context.fence)
}
