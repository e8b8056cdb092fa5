/*
 * Lists that have to be read whole once, though their cursors have watermarks (`refill`, src/engine/warehouse/layout.ts). Such a
 * reading may take hours, and several runs. So a run first does its work on all cursors, of which these bring only what
 * is new, and then reads the lists: one that is cut short keeps nothing new from coming.
 */

import { workOf } from '../../features/sync/modes.js'
import { cursorName, readCursors } from '../warehouse/cursors.js'
import { type ChosenCursors, type CursorEnd, runCursors } from './cursor.js'
import type { Begin, CursorResult } from './cursorwork.js'
import { remaining } from './resumecursor.js'
import { type CursorContext, type CursorTask, keyOf, type RunContext, stateOf } from './runcontext.js'
import type { CursorReport, RunRequest } from './runreport.js'

/** A sync of everything reads each list whole in any case, and so does a first load. */
export function isRefilled(
  context: Pick<CursorContext, 'cursors'>,
  { mode }: Pick<RunRequest, 'mode'>,
  task: CursorTask,
): boolean {
  const state = stateOf(context, task)
  return (mode === 'sync' || mode === 'reconcile') && state?.refill != null && state.watermark !== null
}

const nameOf = (task: CursorTask): string => cursorName(keyOf(task))

const nameIn = ({ tenant_id: tenantId, resource }: CursorReport): string => cursorName({ tenantId, resource })

/** Works as `begin` does, and notes the cursors whose work came to its end. */
function noting(begin: Begin, ended: Set<string>): Begin {
  return (task, source) => {
    const work = begin(task, source)
    const run = async (): Promise<CursorResult> => {
      const result = await work.run()
      ended.add(nameOf(task))
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
export async function workOnCursors(
  context: RunContext,
  request: RunRequest,
  chosen: ChosenCursors,
): Promise<CursorEnd[]> {
  const refilled = new Set(chosen.tasks.filter((task) => isRefilled(context, request, task)).map(nameOf))
  if (refilled.size === 0) return runCursors(context, chosen, workOf(context, request))
  const ended = new Set<string>()
  const isGoingOn = (name: string): boolean => refilled.has(name) && ended.has(name)
  const observer = {
    ...context.observer,
    cursor: (report: CursorReport): void => {
      if (!isGoingOn(nameIn(report))) context.observer.cursor?.(report)
    },
  }
  const begin = workOf(context, request, (task) => refilled.has(nameOf(task)))
  const ends = await runCursors({ ...context, observer }, chosen, noting(begin, ended))
  const now = { ...context, cursors: await readCursors(context.warehouse) }
  const left = (task: CursorTask): number => remaining(stateOf(now, task), 'refill_walk')
  // What was begun goes on first: a time limit that ends every run would else leave all of them half done.
  const tasks = chosen.tasks
    .filter((task) => isGoingOn(nameOf(task)))
    .toSorted((a, b) => Number(left(b) > 0) - Number(left(a) > 0))
  const more = await runCursors(now, { tasks, left: [] }, workOf(now, request))
  const byName = new Map(more.map((end) => [nameOf(end.task), end]))
  return ends.map((end) => joined(end, byName.get(nameOf(end.task))))
}

/** What came of a cursor's two works. */
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
