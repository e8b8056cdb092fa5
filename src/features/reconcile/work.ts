/* What `reconcile` does with each cursor, and the walk it shares with `sync`. */
import type { Begin } from '../../engine/run/cursor.js'
import { CursorWalk } from '../../engine/run/cursorwalk.js'
import type { CursorResult, CursorWork } from '../../engine/run/cursorwork.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { AskedWalk } from '../../engine/run/resumecursor.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { movesWatermark } from '../../engine/walk/verdict.js'
import { withSharedLook } from './askshared.js'
import { deletionLimit } from './deletionguard.js'
import { Reconciliation } from './reconciliation.js'
import { RegisterCheck, trimRequests } from './registercheck.js'

/** Walks what is new, compares, and repairs differences. */
export function beginReconcile({
  full = false,
  acceptDeletes = false,
}: Pick<RunRequest, 'full' | 'acceptDeletes'>): Begin {
  return (cursor, isNews) => {
    const isNames = cursor.resource.resource.list === 'strings'
    const work = isNames
      ? new NamesSync(cursor)
      : isNews
        ? walkOf(cursor, 'news')
        : new Reconciliation(cursor, { full, ...deletionLimit(cursor.run, acceptDeletes) })
    return withSharedLook(cursor, work, { isWhole: true, followsBack: true, acceptDeletes })
  }
}

/** An incremental walk, after which the register and the recorded requests are cleaned up. */
export function walkOf(cursor: CursorRun, mode: AskedWalk): CursorWork {
  const { warehouse } = cursor
  const walk = new CursorWalk(cursor, mode)
  const run = async (): Promise<CursorResult> => {
    const result = await walk.run()
    const { outcome, written } = result
    const check = new RegisterCheck(cursor, warehouse)
    // Every record was read: the rows that exist now are the rows that should exist.
    if (walk.mode === 'full' && outcome && movesWatermark(outcome)) await check.close('listing')
    const live = written > 0 ? await check.live() : undefined
    if (live !== undefined) await trimRequests(warehouse, cursor, live)
    return result
  }
  return {
    run,
    get progress() {
      return walk.progress
    },
  }
}
