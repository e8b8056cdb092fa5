/* The incremental walk of a cursor in a run: its list at the source, and its store in the warehouse. */
import { movesWatermark } from '../list/verdict.js'
import { Flow } from '../source/rate/flow.js'
import { CursorList } from './cursorlist.js'
import { CursorWalk } from './cursorwalk.js'
import type { CursorResult, CursorWork } from './cursorwork.js'
import { overlapOf, quickOverlapOf } from './lateness.js'
import { RegisterCheck, trimRequests } from './registercheck.js'
import type { AskedWalk } from './resumecursor.js'
import type { CursorRun } from './tenant.js'
import { WarehouseStore } from './walkstore.js'

export function cursorWalk(cursor: CursorRun, asked: AskedWalk): CursorWalk {
  const { key, note, resource, run, state, warehouse } = cursor
  const flow = new Flow(run, warehouse.unstored)
  const options = { priority: 'incremental', flow } as const
  const { overlap } = run.config.sync
  return new CursorWalk({
    asked,
    state,
    list: new CursorList(cursor, options, (page) => warehouse.encode(page, key)),
    flow,
    store: new WarehouseStore(cursor),
    overlapMs: overlapOf(overlap, run.lateness, resource.name),
    quickOverlapMs: quickOverlapOf(overlap, run.lateness, resource.name),
    now: () => cursor.now(),
    note,
  })
}

/** The same, after which the register and the recorded requests are cleaned up. */
export function walkOf(cursor: CursorRun, asked: AskedWalk): CursorWork {
  const { warehouse } = cursor
  const walk = cursorWalk(cursor, asked)
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
