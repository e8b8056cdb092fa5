/*
 * The command `verify`: compares every chosen cursor with the source, and writes nothing.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Reason } from '../../engine/base/reasons.js'
import type { CursorEnd } from '../../engine/run/cursor.js'
import { readOnlyRun } from '../../engine/run/readonlyrun.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { type CursorTask, keyOf, now } from '../../engine/run/tenant.js'
import { cursorName } from '../../engine/warehouse/cursors.js'
import { checkTables } from '../../engine/warehouse/ddl.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { ReadingWarehouse } from '../../engine/warehouse/writer.js'
import {
  isEqual,
  NamesVerification,
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
  /** Why, as a short code; null where nothing is odd. */
  readonly reason: Reason | null
  readonly error: string | null
}

/** The document of `verify`. */
export interface VerifyReport {
  readonly mode: 'verify'
  /** `equal`: of every cursor that was synced, the warehouse holds the source's records, up to what it claims. */
  readonly status: 'equal' | 'differs' | 'failed'
  readonly started_at: string
  readonly finished_at: string
  readonly requests: number
  /** What concerns the whole comparison; null where nothing does. */
  readonly reason: Reason | null
  readonly cursors: readonly VerifiedCursor[]
}

const neverSynced = 'No sync of it has ended yet, so that there is nothing to compare. Type shopsync sync'

function cursorOf({ report }: CursorEnd, work: VerifyWork | undefined): VerifiedCursor {
  const { tenant_id, resource, requests, reason, error } = report
  if (report.status === 'ok' && work?.isUnclaimed)
    return { tenant_id, resource, status: 'skipped', requests, reason, error: neverSynced }
  const found = work?.found
  const status =
    report.status !== 'ok'
      ? report.status
      : found && isEqual(found)
        ? ('equal' as const)
        : ('differs' as const)
  return { tenant_id, resource, status, requests, reason, error, ...found }
}

type PlannedWarehouse = ReadingWarehouse & Pick<Warehouse, 'plan'>

/** The document of a comparison, and how the cursors in it have ended, in the same order. */
export interface VerifyEnds {
  readonly report: VerifyReport
  readonly ends: readonly CursorEnd[]
}

/** Compares every chosen cursor with the source. Writes nothing. */
export async function runVerify(
  deps: Dependencies<PlannedWarehouse>,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  return (await compareAll(deps, choice, options)).report
}

export async function compareAll(
  deps: Dependencies<PlannedWarehouse>,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyEnds> {
  await checkTables(deps)
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
  // A list that nobody has synced yet is held against nothing; where there is no other, nothing was compared.
  const isNew = ({ error }: VerifiedCursor): boolean => error === neverSynced
  const isLeft = cursors.some((cursor) => cursor.status === 'skipped' && !isNew(cursor))
  const isEmpty = cursors.length > 0 && cursors.every(isNew)
  const failed = isAny('failed') || isLeft || isEmpty || reason !== null
  const report: VerifyReport = {
    mode: 'verify',
    status: failed ? 'failed' : isAny('differs') ? 'differs' : 'equal',
    started_at: startedAt,
    finished_at: now(deps),
    requests: deps.source.stats().requests,
    reason,
    cursors,
  }
  return { report, ends }
}
