import { movesWatermark } from '../list/verdict.js'
import { CursorWalk } from './cursorwalk.js'
import type { CursorResult, CursorWork } from './cursorwork.js'
import { RegisterCheck, trimRequests } from './registercheck.js'
import type { AskedWalk } from './resumecursor.js'
import type { CursorRun } from './tenant.js'

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
