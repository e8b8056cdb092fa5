/*
 * Lists that have to be read whole once, although their cursors have watermarks (`refill`,
 * src/engine/warehouse/layout/layout.ts). Such a reading may take hours, and several runs. So a run first does its work on all
 * cursors, fetching only what is new for these, and then reads the lists. If it is cut short, nothing new is held up.
 */

import { cursorName, readCursors, rowName } from '../warehouse/state/cursors.js'
import { type Begin, type ChosenCursors, type CursorEnd, workOnCursors } from './cursor.js'
import type { CursorResult } from './cursorwork.js'
import { remaining } from './resumecursor.js'
import type { WritingRun } from './runcontext.js'
import type { CursorReport, RunRequest } from './runreport.js'
import type { Run } from './tenant.js'
import { type CursorTask, keyOf, stateOf } from './tenant.js'

/** A sync of everything reads each list whole in any case, and so does a first load. */
export function isRefilled(
  run: Pick<Run, 'cursors'>,
  { mode }: Pick<RunRequest, 'mode'>,
  task: CursorTask,
): boolean {
  const state = stateOf(run, task)
  return (mode === 'sync' || mode === 'reconcile') && state?.refill != null && state.watermark !== null
}

const nameOf = (task: CursorTask): string => cursorName(keyOf(task))

/** Starts with what is new in these cursors, and notes those whose work finished. */
function newsFirst(begin: Begin, refilled: ReadonlySet<string>, ended: Set<string>): Begin {
  return (cursor) => {
    const work = begin(cursor, refilled.has(nameOf(cursor)))
    const run = async (): Promise<CursorResult> => {
      const result = await work.run()
      ended.add(nameOf(cursor))
      return result
    }
    return {
      run,
      get progress() {
        return work.progress
      },
    }
  }
}

/** Does a run's work on all of its cursors. */
export async function workOnAll(
  run: WritingRun,
  request: Pick<RunRequest, 'mode'>,
  chosen: ChosenCursors,
  begin: Begin,
): Promise<CursorEnd[]> {
  const refilled = new Set(chosen.tasks.filter((task) => isRefilled(run, request, task)).map(nameOf))
  if (refilled.size === 0) return workOnCursors(run, chosen, begin)
  const ended = new Set<string>()
  const isGoingOn = (name: string): boolean => refilled.has(name) && ended.has(name)
  const observer = {
    ...run.observer,
    cursor: (report: CursorReport): void => {
      if (!isGoingOn(rowName(report))) run.observer.cursor?.(report)
    },
  }
  const ends = await workOnCursors({ ...run, observer }, chosen, newsFirst(begin, refilled, ended))
  const cursors = await readCursors(run.warehouse, { shard: run.shard })
  run.hands?.readAnew(cursors)
  const now = { ...run, cursors }
  const left = (task: CursorTask): number => remaining(stateOf(now, task), 'refill_walk')
  // Interrupted readings continue first: otherwise a time limit that ends every run would leave all of them half done.
  const tasks = chosen.tasks
    .filter((task) => isGoingOn(nameOf(task)))
    .toSorted((a, b) => Number(left(b) > 0) - Number(left(a) > 0))
  const more = await workOnCursors(now, { tasks, left: [] }, begin)
  const byName = new Map(more.map((end) => [nameOf(end.task), end]))
  return ends.map((end) => joined(end, byName.get(nameOf(end.task))))
}

/** Combines the results of a cursor's two pieces of work. */
function joined(first: CursorEnd, second: CursorEnd | undefined): CursorEnd {
  if (!second) return first
  const sum = (name: 'requests' | 'records' | 'records_changed' | 'rows_upserted' | 'rows_deleted'): number =>
    first.report[name] + second.report[name]
  return {
    ...second,
    startedAt: first.startedAt,
    quarantined: first.quarantined + second.quarantined,
    report: {
      ...second.report,
      requests: sum('requests'),
      records: sum('records'),
      records_changed: sum('records_changed'),
      rows_upserted: sum('rows_upserted'),
      rows_deleted: sum('rows_deleted'),
    },
  }
}
