/* The command `verify`: compares every selected cursor with the source, and writes nothing. */

import type { Int64 } from '../../../schema/resource.js'
import { count, plural } from '../../engine/base/format.js'
import { type Reason, reasons } from '../../engine/base/reasons.js'
import { shardName } from '../../engine/base/shard.js'
import { verdict } from '../../engine/list/verdict.js'
import type { CursorEnd } from '../../engine/run/cursor.js'
import {
  type CursorProgress,
  type CursorResult,
  noCounts,
  wholeOutcome,
} from '../../engine/run/cursorwork.js'
import { timeLimit } from '../../engine/run/ending.js'
import { countNotIn, liveNames, readNames } from '../../engine/run/nameslist.js'
import { readOnlyRun } from '../../engine/run/readonlyrun.js'
import { recordCursors } from '../../engine/run/records.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import type { CursorChoice, CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { StepGiven } from '../../engine/run/steps.js'
import { type CursorRun, type CursorTask, keyOf, now } from '../../engine/run/tenant.js'
import { checkTables } from '../../engine/warehouse/layout/migrate.js'
import { cursorName } from '../../engine/warehouse/state/cursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { timeLimitOf } from '../../shell/execute.js'
import { shown } from '../../shell/progress.js'
import { isNeverWalked, isRecent } from './claims.js'
import { leftReport } from './leftthelist.js'
import {
  isEqual,
  isUnanswered,
  Verification,
  type Verified,
  type VerifyOptions,
  type VerifyWork,
} from './verification.js'

/** One cursor in the document of `verify`. */
export interface VerifiedCursor extends Partial<Verified> {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'equal' | 'differs' | 'failed' | 'unavailable' | 'skipped'
  readonly requests: number
  /** Why, as a short code; null if nothing is unusual. */
  readonly reason: Reason | null
  readonly error: string | null
}

/** The document of `verify`. */
export interface VerifyReport {
  readonly mode: 'verify'
  /** The part of the tenants that was compared, such as `3/8`; null: all. */
  readonly shard?: string | undefined
  /** `equal`: for every synced cursor, the warehouse has the source's records, up to what it claims. */
  readonly status: 'equal' | 'differs' | 'failed'
  readonly started_at: string
  readonly finished_at: string
  readonly requests: number
  /** A problem of the whole comparison; null if there is none. */
  readonly reason: Reason | null
  readonly cursors: readonly VerifiedCursor[]
}

const neverSynced = 'No sync of it has finished yet, so there is nothing to compare. Type shopsync sync'

/** Unlike a run that writes, a comparison that is cut short leaves nothing that another one could resume. */
const cutShort = (reason: Reason): string =>
  `${reasons[reason]}; verify keeps no progress: give it more time, or choose lists with --tenant or --resource`

/** The counts are equal, but they say nothing about the content that the sample was to compare. */
const unanswered = ({ sampled, asked }: Verified): string =>
  `None of the ${plural(sampled, 'sampled record')} could be compared: ${asked === 0 ? 'none was requested, because the source was found not to answer by id for this list within the last week' : `the source answered none of ${count(asked)} by id, expected at least one`}. The counts are equal. Type shopsync verify --full to compare every version; if this list is never answered by id, verify it without --sample`

function cursorOf({ report, interrupted }: CursorEnd, work: VerifyWork | undefined): VerifiedCursor {
  const { tenant_id, resource, requests, reason } = report
  const error = interrupted && reason !== null ? cutShort(reason) : report.error
  if (report.status === 'ok' && work?.isUnclaimed)
    return { tenant_id, resource, status: 'skipped', requests, reason, error: neverSynced }
  const found = work?.found
  if (report.status === 'ok' && found && isEqual(found) && isUnanswered(found))
    return { tenant_id, resource, status: 'failed', requests, reason, error: unanswered(found), ...found }
  const status =
    report.status !== 'ok'
      ? report.status
      : found && isEqual(found)
        ? ('equal' as const)
        : ('differs' as const)
  return { tenant_id, resource, status, requests, reason, error, ...found }
}

/** Compares every selected cursor with the source. Writes nothing. */
export async function runVerify(
  deps: Dependencies<Warehouse>,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  return (await compareAll(deps, choice, options)).report
}

/** The document of a comparison, and how its cursors ended, in the same order. */
async function compareAll(deps: Dependencies<Warehouse>, choice: CursorChoice, options: VerifyOptions) {
  await checkTables(deps.warehouse)
  const startedAt = now(deps)
  const works = new Map<string, VerifyWork>()
  const nameOf = (task: CursorTask): string => cursorName(keyOf(task))
  const { ends, reason } = await readOnlyRun(deps, choice, (cursor) => {
    const isRecords = cursor.resource.resource.list === 'records'
    const work = isRecords ? new Verification(cursor, options) : new NamesVerification(cursor)
    works.set(nameOf(cursor), work)
    return work
  })
  const cursors = ends.map((end) => cursorOf(end, works.get(nameOf(end.task))))
  const isAny = (status: VerifiedCursor['status']): boolean =>
    cursors.some((cursor) => cursor.status === status)
  // A list that was never synced is compared with nothing. If there are only such lists, nothing was compared.
  const isNew = ({ error }: VerifiedCursor): boolean => error === neverSynced
  const isLeft = cursors.some((cursor) => cursor.status === 'skipped' && !isNew(cursor))
  const isEmpty = cursors.length > 0 && cursors.every(isNew)
  const failed = isAny('failed') || isLeft || isEmpty || reason !== null
  const report: VerifyReport = {
    mode: 'verify',
    shard: deps.shard ? shardName(deps.shard) : undefined,
    status: failed ? 'failed' : isAny('differs') ? 'differs' : 'equal',
    started_at: startedAt,
    finished_at: now(deps),
    requests: deps.source.stats().requests,
    reason,
    cursors,
  }
  return { report, ends }
}

/** Compares the selected cursors with the source, and records the result for each. */
export async function verifyStep(
  run: StepGiven,
  job: string,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<{ readonly found: VerifyReport; readonly report: RunReport }> {
  const { report: found, ends } = await compareAll(run, choice, options)
  const report = asRun(found, job, run.runId, run.step)
  const told = ends.flatMap((end, i) => {
    const cursor = report.cursors[i]
    return cursor ? [{ ...end, report: cursor }] : []
  })
  await recordCursors(run, told, 'verify')
  return { found, report }
}

/** The report of a `verify`, in the form shared by all steps of a job. */
export function asRun(found: VerifyReport, job: string | null = null, runId = '', step = 1): RunReport {
  const states = { equal: 'ok', differs: 'partial', failed: 'failed' } as const
  return {
    run_id: runId,
    job,
    mode: 'verify',
    shard: found.shard,
    status: states[found.status],
    started_at: found.started_at,
    finished_at: found.finished_at,
    requests: found.requests,
    rate_limited: 0,
    retries: 0,
    rows_upserted: 0,
    rows_deleted: 0,
    quarantined: 0,
    reason: found.reason,
    cursors: found.cursors.map((cursor) => asCursor(cursor, step)),
  }
}

function asCursor(cursor: VerifiedCursor, step: number): CursorReport {
  const { tenant_id, resource, status, requests } = cursor
  const { missing = 0, outdated = 0, extra = 0, unstorable = 0 } = cursor
  const fields = cursor.differences?.length ?? 0
  const differs = `differs: ${missing} missing, ${outdated} outdated, ${extra} extra, ${fields} with other values${unstorable > 0 ? `, ${unstorable} that cannot be stored` : ''}`
  return {
    tenant_id,
    resource,
    step,
    status: status === 'equal' ? 'ok' : status === 'differs' ? 'failed' : status,
    completeness: verdict({ basis: { by: 'counts', isEven: status === 'equal' } }).verdict,
    reason: cursor.reason,
    watermark: null,
    requests,
    records: cursor.source ?? 0,
    records_changed: 0,
    rows_upserted: 0,
    rows_deleted: 0,
    error: status === 'differs' ? (cursor.error ?? differs) : cursor.error,
  }
}

/** Compares the selected cursors with the source, and writes nothing. */
export async function compareWithSource(
  context: CommandContext,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const warehouse = await context.open('read')
  await checkTables(warehouse)
  const deps = await context.dependencies(warehouse, { siblings: 'perhaps' })
  using limited = timeLimit(timeLimitOf(context.invocation.options), deps)
  const { signal, timeLimited } = limited
  return await shown(context, { stats: () => deps.source.stats() }, (shows) => {
    const observer = { ...deps.observer, ...shows }
    return runVerify({ ...deps, signal, timeLimited, observer }, choice, options)
  })
}

/** Verifies a plain list of names: it is compared as a whole. */
class NamesVerification implements VerifyWork {
  found: Verified | undefined

  constructor(private readonly cursor: CursorRun<Warehouse>) {}

  get progress(): CursorProgress {
    return { ...noCounts, records: this.found?.source ?? 0, watermark: null }
  }

  get isUnclaimed(): boolean {
    return isNeverWalked(this.cursor.state)
  }

  async run(): Promise<CursorResult> {
    const read = () => readNames(this.cursor, { priority: 'reconcile' })
    const { names, flattened } = await read()
    if (this.isUnclaimed) return { ...this.progress, outcome: null }
    await this.cursor.refuseHidden()
    const stored = await liveNames(this.cursor)
    // A name has to be missing twice.
    const again = countNotIn(stored, names) > 0 ? (await read()).names : names
    const extra = countNotIn(stored, new Set([...names, ...again]))
    const isChecked = extra > 0 && isRecent(this.cursor.run, this.cursor.state?.last_success_at)
    this.found = {
      method: 'names',
      source: names.size,
      warehouse: stored.size,
      missing: 0,
      newer: countNotIn(names, stored),
      outdated: 0,
      extra: isChecked ? 0 : extra,
      gone: isChecked ? extra : 0,
      unstorable: flattened.unstorable,
      quarantined: 0,
      listed_twice: 0,
      not_shown: 0,
      unreadable: 0,
      ...leftReport([]),
      sampled: 0,
      asked: 0,
      compared: 0,
      other_version: 0,
      differences: [],
    }
    return { ...this.progress, outcome: wholeOutcome(names.size) }
  }
}
