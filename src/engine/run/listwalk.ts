/* The incremental walk of a cursor in a run: its list at the source, and its store in the warehouse. */
import { movesWatermark } from '../list/verdict.js'
import { Flow } from '../source/rate/flow.js'
import { expectedRows, keepsRegister, recounted } from '../warehouse/store/register.js'
import { CursorList } from './cursorlist.js'
import { CursorWalk } from './cursorwalk.js'
import type { CursorResult, CursorWork } from './cursorwork.js'
import { overlapOf, quickOverlapOf } from './lateness.js'
import { trimRequests } from './prunehistory.js'
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

/** Lets the register say what the table has. Called once every record was read, or found to have its row. */
export async function closeRegister({ key, root, warehouse }: CursorRun): Promise<void> {
  const { db, model } = warehouse
  if (keepsRegister(root, model.embedded?.tables ?? [])) await warehouse.write(recounted(db, key, root))
}

/** A walk, after which the register and the recorded requests are cleaned up. */
export function walkOf(cursor: CursorRun, asked: AskedWalk): CursorWork {
  const { key, warehouse } = cursor
  const walk = cursorWalk(cursor, asked)
  const run = async (): Promise<CursorResult> => {
    const result = await walk.run()
    const { outcome, written } = result
    if (walk.mode === 'full' && outcome && movesWatermark(outcome)) await closeRegister(cursor)
    const live = written > 0 ? await expectedRows(warehouse, key) : undefined
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
