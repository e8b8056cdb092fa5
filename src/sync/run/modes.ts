import { Bug } from '../../errors.js'
import type { WalkOutcome } from '../../walk/types.js'
import { Reconciliation } from '../reconcile/reconcile.js'
import { RegisterCheck } from '../reconcile/registercheck.js'
import { trimRequests } from '../reconcile/trim.js'
import { Backfill } from '../walks/backfill.js'
import { type CursorResult, CursorWalk } from '../walks/incremental.js'
import { syncStrings } from '../walks/names.js'
import type { RunContext } from './context.js'
import type { Begin, CursorTask, CursorWork } from './cursor.js'
import type { RunRequest } from './report.js'

const complete: WalkOutcome = {
  verdict: 'proven',
  ceiling: null,
  books: { first: 0, last: 0, distinct: 0, entered: 0, fallen: 0 },
  reason: null,
}
const nothing = { records: 0, unstorable: 0, written: 0, removed: 0, watermark: null }

/** A bare list of names has no times that a range could choose from; every sync reads it whole. */
const untimed: CursorWork = { run: async () => ({ ...nothing, outcome: complete }), partial: () => nothing }

/** What may be marked deleted at once, unless the configuration says otherwise. */
const maxDeletes = 0.2

/** What a run does with each of its cursors. */
export function workOf(context: RunContext, request: RunRequest): Begin {
  return (task, source): CursorWork => {
    const { tenantId, resource } = task
    if (resource.resource.list === 'strings' && request.mode === 'backfill') return untimed
    if (resource.resource.list === 'strings')
      return { run: () => syncStrings(context, tenantId, resource, source), partial: () => nothing }
    const work = records(context, request, task, source)
    const run = async (): Promise<CursorResult> => {
      const result = await work.run()
      await finish(context, request, task, result)
      return result
    }
    return { run, partial: () => work.result }
  }
}

/** What a walk leaves in order behind it; a reconcile sees to that itself. */
async function finish(
  context: RunContext,
  { mode }: RunRequest,
  task: CursorTask,
  { outcome, written }: CursorResult,
): Promise<void> {
  if (mode !== 'sync' && mode !== 'full') return
  const audit = new RegisterCheck(context, task, context.fence)
  // Everything was read: the rows that there are now are those that there should be.
  if (mode === 'full' && outcome && outcome.verdict !== 'unproven') await audit.close('listing')
  const live = written > 0 ? await audit.live() : undefined
  if (live !== undefined) await trimRequests(context, task, live)
}

function records(
  context: RunContext,
  { mode, full = false, acceptDeletes = false, ranges = [] }: RunRequest,
  task: Parameters<Begin>[0],
  source: Parameters<Begin>[1],
) {
  switch (mode) {
    case 'sync':
    case 'full':
      return new CursorWalk(context, task.tenantId, task.resource, source, mode)
    case 'reconcile':
      return new Reconciliation(context, task, source, {
        full,
        acceptDeletes,
        maxDeletes: context.config.reconcile?.maxDeletes ?? maxDeletes,
      })
    case 'backfill':
      return new Backfill(context, task, source, ranges)
    default:
      throw new Bug(`A run cannot ${mode}`)
  }
}
