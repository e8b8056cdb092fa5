import type { Int64 } from '../../schema/resource.js'
import type { Source } from '../api/types.js'
import type { ResourceModel } from '../derive/registry.js'
import { Skip, Stop } from '../errors.js'
import { moveCursor } from '../warehouse/cursors.js'
import { now, type RunContext } from './context.js'
import { type CursorResult, CursorWalk } from './incremental.js'
import type { CursorReport, Verdict } from './report.js'
import { syncStrings } from './strings.js'

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

const nothing = { records: 0, unstorable: 0, written: 0, removed: 0 }

async function walk(context: RunContext, task: CursorTask, source: Source, mode: 'sync' | 'full') {
  const { tenantId, resource } = task
  if (resource.resource.list === 'strings') {
    const run = () => syncStrings(context, tenantId, resource, source)
    return { run, partial: () => ({ ...nothing, watermark: null }) }
  }
  const cursor = new CursorWalk(context, tenantId, resource, source, mode)
  return { run: () => cursor.run(), partial: () => cursor.result }
}

function problem(result: CursorResult): string | null {
  if (result.unstorable > 0)
    return `${result.unstorable} ${result.unstorable === 1 ? 'record' : 'records'} could not be stored: see shopsync quarantine`
  if (result.outcome?.verdict !== 'unproven') return null
  const { first, last, distinct } = result.outcome.books
  return `The books do not close (${result.outcome.reason}): ${first} records at first, ${last} at last, ${distinct} seen. The watermark stays; the next run reads the list again`
}

/** What a failure means for this cursor; what concerns the whole run is thrown on. */
async function explain(
  context: RunContext,
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
async function seemsGranted(context: RunContext, tenantId: Int64): Promise<boolean> {
  try {
    return await context.isGranted(tenantId)
  } catch (error) {
    if (context.signal.aborted || error instanceof Skip) return true
    throw error
  }
}

/** Runs one cursor to its end; throws only what stops the whole run. */
export async function runCursor(
  context: RunContext,
  task: CursorTask,
  mode: 'sync' | 'full',
): Promise<CursorEnd> {
  const startedAt = now(context)
  const before = context.counted.quarantined
  const source = context.source.tagged()
  const { run, partial } = await walk(context, task, source, mode)
  const end = (result: CursorResult, error: string | null, absent: boolean): CursorEnd => ({
    task,
    startedAt,
    finishedAt: now(context),
    quarantined: context.counted.quarantined - before,
    books: result.outcome?.books ?? null,
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
    },
  })
  try {
    const result = await run()
    return end(result, problem(result), false)
  } catch (error) {
    const { text, absent } = await explain(context, task, error)
    return end({ ...partial(), outcome: null }, text, absent)
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
