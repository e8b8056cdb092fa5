import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../errors.js'
import { cursorName } from '../../warehouse/cursors.js'
import { type Dependencies, now } from '../run/context.js'
import type { CursorEnd } from '../run/cursor.js'
import { type Choice, readOnlyRun } from '../run/readonlyrun.js'
import { isEqual, NamesVerification, Verification, type Verified, type VerifyOptions } from './verify.js'

/** One cursor in the document of `verify`. */
export interface VerifiedCursor extends Partial<Verified> {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'equal' | 'differs' | 'failed' | 'unavailable'
  readonly requests: number
  readonly error: string | null
}

/** The document of `verify`. */
export interface VerifyReport {
  readonly mode: 'verify'
  /** `equal`: the warehouse holds what the source has, of every cursor that is offered. */
  readonly status: 'equal' | 'differs' | 'failed'
  readonly started_at: string
  readonly finished_at: string
  readonly requests: number
  readonly cursors: readonly VerifiedCursor[]
}

function cursorOf({ report }: CursorEnd, found: Verified | undefined): VerifiedCursor {
  const { tenant_id, resource, requests, error } = report
  const status =
    report.status !== 'ok'
      ? report.status
      : found && isEqual(found)
        ? ('equal' as const)
        : ('differs' as const)
  return { tenant_id, resource, status, requests, error, ...found }
}

/** What only reads cannot make the tables that it would read. */
export async function checkTables({ warehouse }: Pick<Dependencies, 'warehouse'>): Promise<void> {
  const [first, ...more] = await warehouse.plan()
  if (!first) return
  throw new Stop(
    `The warehouse lacks ${more.length + 1} changes, the first of them: ${first.what} ${first.table}; expected its tables to be up to date`,
    { exitCode: 2, hint: 'Type shopsync sync, or shopsync migrate for the tables alone' },
  )
}

/** Compares every chosen cursor with the source. Writes nothing. */
export async function runVerify(
  deps: Dependencies,
  choice: Choice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  await checkTables(deps)
  const startedAt = now(deps)
  const works = new Map<string, { readonly found: Verified | undefined }>()
  const ends = await readOnlyRun(deps, choice, (context) => (task, source) => {
    const isRecords = task.resource.resource.list === 'records'
    const work = isRecords
      ? new Verification(context, task, source, options)
      : new NamesVerification(context, task, source)
    works.set(cursorName({ tenantId: task.tenantId, resource: task.resource.name }), work)
    return { run: () => work.run(), partial: () => work.result }
  })
  const cursors = ends.map((end) =>
    cursorOf(
      end,
      works.get(cursorName({ tenantId: end.task.tenantId, resource: end.task.resource.name }))?.found,
    ),
  )
  const isAny = (status: VerifiedCursor['status']): boolean =>
    cursors.some((cursor) => cursor.status === status)
  const failed = isAny('failed') || deps.signal.aborted
  return {
    mode: 'verify',
    status: failed ? 'failed' : isAny('differs') ? 'differs' : 'equal',
    started_at: startedAt,
    finished_at: now(deps),
    requests: deps.source.stats().requests,
    cursors,
  }
}
