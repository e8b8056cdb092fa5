import { Bug } from '../../engine/base/errors.js'
import { CursorWalk } from '../../engine/run/cursorwalk.js'
import {
  type Begin,
  type CursorResult,
  type CursorWork,
  noCounts,
  wholeOutcome,
} from '../../engine/run/cursorwork.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { AskedWalk } from '../../engine/run/resumecursor.js'
import { type CursorTask, type RunContext, stateOf } from '../../engine/run/runcontext.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import { waitingForZones } from '../../engine/run/zonesfirst.js'
import type { Source } from '../../engine/source/source.js'
import { movesWatermark } from '../../engine/walk/verdict.js'
import type { CursorState } from '../../engine/warehouse/cursors.js'
import { Backfill } from '../backfill/work.js'
import { withSharedLook } from '../reconcile/askshared.js'
import { RegisterCheck } from '../reconcile/registercheck.js'
import { reconcileSettings } from '../reconcile/settings.js'
import { trimRequests } from '../reconcile/trimrequests.js'
import { Reconciliation } from '../reconcile/work.js'

const nothing = { ...noCounts, watermark: null }

/** A backfill of a bare list of names: it has no times to choose a range from, and every sync reads all of it. */
const untimed: CursorWork = {
  run: async () => ({ ...nothing, outcome: wholeOutcome(0) }),
  progress: nothing,
}

/** What a run does with each of its cursors. `isNews`: those that bring only what is new, whatever the run's mode. */
export function workOf(
  context: RunContext,
  request: RunRequest,
  isNews: (task: CursorTask) => boolean = () => false,
): Begin {
  const { mode, full = false, acceptDeletes = false, ranges = [] } = request
  const deletes = { acceptDeletes, maxDeletes: reconcileSettings(context.config).maxDeletes }
  const begin: Begin = (task, source) => {
    if (isNews(task)) return walkOf(context, task, source, 'news')
    const isNames = task.resource.resource.list === 'strings'
    switch (mode) {
      case 'sync':
      case 'full':
        return isNames ? new NamesSync(context, task, source) : walkOf(context, task, source, mode)
      case 'reconcile':
        return isNames
          ? new NamesSync(context, task, source)
          : new Reconciliation(context, task, source, { full, ...deletes })
      case 'backfill':
        return isNames ? untimed : new Backfill(context, task, source, ranges)
      default:
        throw new Bug(`A run cannot ${mode}`)
    }
  }
  return waitingForZones(context, (task, source) => {
    const isWhole = mode === 'reconcile' || mode === 'full' || !wasWalkedWhole(stateOf(context, task))
    const followsBack = mode === 'reconcile'
    const work = begin(task, source)
    return withSharedLook(context, task, source, { work, isWhole, followsBack, ...deletes })
  })
}

/** Whether the list was read to its end before, and nothing of it is to be read again. */
const wasWalkedWhole = (state: CursorState | undefined): boolean =>
  state !== undefined &&
  (state.watermark ?? state.lastSuccessAt) !== null &&
  state.walk === null &&
  state.refill === null

/** An incremental walk, after which the register and the recorded requests are put in order. */
function walkOf(context: RunContext, task: CursorTask, source: Source, mode: AskedWalk): CursorWork {
  const walk = new CursorWalk(context, task, source, mode)
  const run = async (): Promise<CursorResult> => {
    const result = await walk.run()
    const { outcome, written } = result
    const check = new RegisterCheck(context, task, context.warehouse)
    // Every record was read: the rows that there are now are the rows that there should be.
    if (walk.mode === 'full' && outcome && movesWatermark(outcome)) await check.close('listing')
    const live = written > 0 ? await check.live() : undefined
    if (live !== undefined) await trimRequests(context, task, live)
    return result
  }
  return {
    run,
    get progress() {
      return walk.progress
    },
  }
}
