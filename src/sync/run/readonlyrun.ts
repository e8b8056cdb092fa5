import { setMaxListeners } from 'node:events'
import { checkBelonging } from '../../warehouse/belonging.js'
import { readCursors } from '../../warehouse/cursors.js'
import { chooseResources, planTasks } from './choice.js'
import type { CursorContext, Dependencies } from './context.js'
import { type CursorEnd, runCursors } from './cursor.js'
import { readGrants } from './grants.js'
import type { CursorChoice } from './report.js'
import type { Begin } from './work.js'

/**
 * Works on every chosen cursor and writes nothing: no lease, no run, no rows. `isNew`: the warehouse has no tables yet,
 * so that nothing is read from it either.
 */
export async function readOnlyRun(
  deps: Dependencies,
  choice: CursorChoice,
  begin: (context: CursorContext) => Begin,
  isNew = false,
): Promise<CursorEnd[]> {
  // Every request under way listens to the signal.
  setMaxListeners(0, deps.signal)
  const resources = chooseResources(deps, choice)
  await checkBelonging(deps.warehouse, deps.source.address)
  const grants = await readGrants(deps, isNew)
  const context: CursorContext = {
    ...deps,
    cursors: isNew ? new Map() : await readCursors(deps.warehouse),
    counted: { quarantined: 0 },
    isGranted: async (tenantId) => (await readGrants(deps, isNew)).granted.includes(tenantId),
  }
  const tasks = planTasks(context, choice, { resources, grants })
  if (!deps.timeLimited) return runCursors(context, tasks, begin(context))
  // Nothing records whose turn comes next: the order begins anywhere, so that no cursor is always too late.
  const first = Math.floor((deps.random ?? Math.random)() * tasks.length)
  return runCursors(context, [...tasks.slice(first), ...tasks.slice(0, first)], begin(context))
}
