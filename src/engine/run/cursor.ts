/*
 * Works on one cursor of a tenant to its end, or on all cursors of a run. A cursor's failure only affects that cursor;
 * only failures that concern every cursor are rethrown.
 */
import type { Int64 } from '../../../schema/resource.js'
import { eachLimited } from '../base/eachlimited.js'
import { describeError, isExpected, Skip, Stop } from '../base/errors.js'
import { type Reason, reasons } from '../base/reasons.js'
import { inSpan } from '../base/trace.js'
import { type Claim, movesWatermark, verdict } from '../list/verdict.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import { cursorColumns, cursorName } from '../warehouse/state/cursors.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import { type Explained, explainAbsence, notGranted, ungrantedOf } from './absence.js'
import type { CursorResult, CursorWork } from './cursorwork.js'
import { type Ending, endingOf, isCut } from './ending.js'
import type { CursorReport } from './runreport.js'
import {
  type CursorRun,
  type CursorTask,
  keyOf,
  now,
  type Run,
  stateOf,
  type TenantAccess,
  type TenantRun,
  TenantRuns,
} from './tenant.js'

/**
 * Starts the work on a cursor. Each feature that works on cursors passes one to the run. `isNews`: fetch only what is
 * new, although the list has to be read whole, because another part of the run does that.
 */
export interface Begin<W extends Warehouse = Writer> {
  (cursor: CursorRun<W>, isNews: boolean): CursorWork
  /** Called under the run's lease when every cursor has had its turn, or was left out. */
  readonly ended?: (run: Run<W>, ends: readonly CursorEnd[]) => Promise<void>
}

/** The cursors of a run, in the order in which they start, and those that are left out. */
export interface ChosenCursors {
  readonly tasks: readonly CursorTask[]
  /** A cursor of a tenant that isn't granted. It isn't requested. */
  readonly left: readonly (CursorTask & {
    readonly access: Exclude<TenantAccess, 'granted'>
  })[]
}

/** The result of one cursor, before it is known whether the tenant's other resources answer. */
export interface CursorEnd {
  readonly task: CursorTask
  readonly report: CursorReport
  readonly startedAt: string
  readonly finishedAt: string
  readonly quarantined: number
  readonly books: unknown
  /** A 404 on a resource whose path the API documentation doesn't have: "not offered", if the tenant answers otherwise. */
  readonly absent: boolean
  /** The run was told to end: stored rows stay, and the next run continues from here. This isn't a failure. */
  readonly interrupted: boolean
}

function problem(result: CursorResult): string | null {
  if (result.unstorable > 0)
    return `${result.unstorable} ${result.unstorable === 1 ? 'record' : 'records'} could not be stored: see shopsync quarantine list`
  if (result.problem !== undefined) return result.problem
  if (result.outcome?.verdict !== 'unproven') return null
  const { reason, books } = result.outcome
  const { first, last, distinct } = books
  const words = reasons[reason ?? 'totals_disagree']
  // A source may count nothing at all.
  const records = `${first} ${first === 1 ? 'record' : 'records'}`
  if (movesWatermark(result.outcome))
    return `Everything the source shows is stored, but ${words}: ${records} at the start, ${last} at the end, ${distinct} seen. Later runs check again`
  return `The books do not close (${words}): ${records} at the start, ${last} at the end, ${distinct} seen. The watermark stays; the next run reads the list again`
}

/** What can be claimed about a cursor that isn't requested, or whose work failed. */
const nothingSeen = (reason: Reason | null): Claim => verdict({ basis: { by: 'nothing', reason } })

function claimOf({ unstorable, outcome }: CursorResult): Claim {
  if (!outcome) return nothingSeen(unstorable > 0 ? 'record_unstorable' : null)
  return unstorable > 0 ? verdict({ ...outcome.evidence, unstorable }) : outcome
}

const undone = (ending: Ending): Explained => ({
  text: `${reasons[ending]}; the next run resumes where this one stopped`,
  status: 'skipped',
  reason: ending,
  absent: false,
})

/** What a failure means for this cursor. Throws on a failure that concerns the whole run. */
async function explain(cursor: CursorRun<Warehouse>, error: unknown): Promise<Explained> {
  const { signal } = cursor
  const ending = endingOf(signal)
  // What the signal itself threw isn't a failure. A warehouse that was lost meanwhile is a failure of the whole run.
  if (error instanceof Stop && error !== signal.reason) throw error
  if (ending) return undone(ending)
  if (!isExpected(error)) {
    // One list that trips over a fault of ours must not keep the others from being read.
    cursor.survived(error, 'A fault of shopsync ended a list')
    return { text: describeError(error), status: 'failed', reason: 'bug', absent: false }
  }
  if (!(error instanceof Skip)) throw error
  if (error.reason === 'absent') return explainAbsence(cursor, error)
  const reason = error.details.code ?? 'unreachable'
  return { text: describeError(error), status: 'failed', reason, absent: false }
}

/** The numbers that the verdict rests on. */
function booksOf({ outcome, reconciled }: CursorResult): unknown {
  return reconciled ? { ...outcome?.books, reconciled } : (outcome?.books ?? null)
}

/** The result of a cursor: what its work returned, and the failure that ended it. */
function endOf(
  cursor: CursorRun<Warehouse>,
  { startedAt, quarantined }: Pick<CursorEnd, 'startedAt' | 'quarantined'>,
  result: CursorResult,
  failure?: Explained,
): CursorEnd {
  const error = failure ? failure.text : problem(result)
  const { verdict: completeness, reason } = failure ? nothingSeen(failure.reason) : claimOf(result)
  // Without spreads: V8 gives each object that is made of several a layout of its own, which takes three times the
  // memory of the object. A run keeps one for each list.
  const report: CursorReport = {
    tenant_id: cursor.tenantId,
    resource: cursor.resource.name,
    step: 1,
    status: error === null ? 'ok' : (failure?.status ?? 'failed'),
    completeness,
    reason,
    watermark: result.watermark,
    requests: cursor.source.stats().requests,
    records: result.records,
    records_changed: result.changed,
    rows_upserted: result.written,
    rows_deleted: result.removed,
    error,
  }
  return {
    task: { tenantId: cursor.tenantId, resource: cursor.resource },
    startedAt,
    finishedAt: cursor.now(),
    quarantined,
    books: booksOf(result),
    absent: failure?.absent ?? false,
    interrupted: failure !== undefined && isEnding(failure.reason),
    report: result.reconciled ? { ...report, reconciled: result.reconciled } : report,
  }
}

/** Does the work on a cursor. Throws only failures that concern the whole run. */
async function carryOut(cursor: CursorRun<Warehouse>, work: CursorWork): Promise<CursorEnd> {
  const startedAt = cursor.now()
  const { tenant, stats } = cursor
  const before = stats.quarantined
  const began = () => ({ startedAt, quarantined: stats.quarantined - before })
  cursor.observer.begun?.(cursor.key)
  try {
    const { interfered, model } = cursor.warehouse
    interfered.refuseUnchanged(cursor.resource, model.embedded)
    if (tenant.waitsForZones(cursor)) await tenant.zonesKnown()
    const result = await tenant.begun(cursor, work.run())
    return endOf(cursor, began(), result)
  } catch (error) {
    const failure = await explain(cursor, error)
    return endOf(cursor, began(), { ...work.progress, outcome: null }, failure)
  }
}

/**
 * Works on one cursor of a tenant to its end, unless the run is ending or another cursor has shown that the tenant is
 * revoked. The caller only needs to know that the cursor is due.
 */
export async function workOnCursor<W extends Warehouse>(
  tenant: TenantRun<W>,
  resource: ResourceModel,
  begin: Begin<W>,
): Promise<CursorEnd> {
  const { run } = tenant
  const task = { tenantId: tenant.id, resource }
  const ending = endingOf(run.signal)
  if (ending) return notBegun(run, task, undone(ending))
  if (tenant.isRevoked) return notBegun(run, task, notGranted(tenant.id, 'revoked'))
  const site = { 'shopsync.tenant_id': String(tenant.id), 'shopsync.resource': resource.name }
  return inSpan('cursor', site, async (tell) => {
    const cursor = tenant.cursor(resource)
    const end = await carryOut(cursor, begin(cursor, false))
    const { status, completeness, reason, records, requests } = end.report
    if (reason === 'revoked') tenant.isRevoked = true
    const ended = { 'shopsync.status': status, 'shopsync.completeness': completeness }
    const failure = status === 'failed' ? (reason ?? 'failed') : undefined
    const counts = { 'shopsync.records': records, 'shopsync.requests': requests }
    tell({ ...ended, ...counts, 'shopsync.reason': reason ?? undefined, 'error.type': failure })
    return end
  })
}

const isEnding = (reason: Reason): boolean => reason === 'interrupted' || isCut(reason)

/** The end of a cursor that wasn't requested: its tenant isn't granted, or its turn didn't come. */
function notBegun(
  run: Pick<Run, 'clock' | 'cursors'>,
  task: CursorTask,
  { text, status, reason }: Explained,
): CursorEnd {
  const at = now(run)
  const { verdict: completeness } = nothingSeen(reason)
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
      completeness,
      reason,
      watermark: stateOf(run, task)?.watermark ?? null,
      requests: 0,
      records: 0,
      records_changed: 0,
      rows_upserted: 0,
      rows_deleted: 0,
      error: text,
    },
  }
}

/** A 404 means "not offered" only if the tenant is granted and answers otherwise. */
async function judgeAbsent(run: Run<Warehouse>, ends: readonly CursorEnd[]): Promise<CursorEnd[]> {
  const absent = ends.filter((end) => end.absent)
  if (absent.length === 0) return [...ends]
  const ungranted = await ungrantedOf(
    run,
    absent.map(({ task }) => task),
  )
  const answers = answeringTenants(run, ends)
  return ends.map((end) => {
    if (!end.absent) return end
    const report = judgedReport(end, ungranted.get(end.task.tenantId), answers)
    run.observer.cursor?.(report)
    return { ...end, report }
  })
}

function judgedReport(
  { task: { tenantId }, report }: CursorEnd,
  access: Exclude<TenantAccess, 'granted'> | undefined,
  answers: (tenantId: Int64) => boolean,
): CursorReport {
  if (access === undefined)
    return answers(tenantId) ? { ...report, status: 'unavailable', reason: null } : report
  const { text, status, reason } = notGranted(tenantId, access)
  return { ...report, status, reason, error: text }
}

/**
 * Works on every cursor, at most `sync.concurrency` at a time. After a failure of the whole run, no further cursor
 * starts.
 */
export async function workOnCursors<W extends Warehouse>(
  run: Run<W>,
  { tasks, left }: ChosenCursors,
  begin: Begin<W>,
): Promise<CursorEnd[]> {
  const ends = left.map(({ access, ...task }) => notBegun(run, task, notGranted(task.tenantId, access)))
  const tenants = new TenantRuns(run)
  const inTurn = run.hands?.inTurn(tasks, keyOf) ?? tasks
  await eachLimited(inTurn, Math.max(1, run.config.sync.concurrency), async (task) => {
    using _ = await run.hands?.hold(keyOf(task))
    const end = await workOnCursor(tenants.of(task.tenantId), task.resource, begin)
    ends.push(end)
    if (end.report.status === 'ok') {
      run.stats.answering.add(task.tenantId)
      // Nothing asks for it again, and the states of many thousand lists are most of what a run holds.
      run.cursors.delete(cursorName(keyOf(task)))
    }
    if (!end.interrupted && !end.absent) run.observer.cursor?.(end.report)
  })
  const judged = await judgeAbsent(run, ends)
  await begin.ended?.(run, judged)
  return judged
}

/** A time limit that was reached when everything was done has cut nothing short; nor has a command that waits. */
export function endingOfRun({ signal }: Pick<Run, 'signal'>, ends: readonly CursorEnd[]): Ending | null {
  const ending = endingOf(signal)
  return isCut(ending) && !ends.some(({ interrupted }) => interrupted) ? null : ending
}

/** The tenants that answer: in this run, or according to earlier runs of resources that this run leaves out. */
function answeringTenants(
  { cursors, stats }: Pick<Run, 'cursors' | 'stats'>,
  ends: readonly { readonly task: CursorTask }[],
): (tenantId: Int64) => boolean {
  const asked = new Set(ends.map(({ task }) => cursorName(keyOf(task))))
  const known = [...cursors].filter(([name, { status }]) => status === 'ok' && !asked.has(name))
  const elsewhere = new Set(known.map(([name]) => name.slice(0, name.indexOf(' '))))
  return (tenantId) => stats.answering.has(tenantId) || elsewhere.has(String(tenantId))
}
