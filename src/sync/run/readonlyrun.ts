import { setMaxListeners } from 'node:events'
import { readCursors } from '../../warehouse/cursors.js'
import type { CursorContext, Dependencies } from './context.js'
import type { Begin, CursorEnd } from './cursor.js'
import { readGrants } from './grants.js'
import type { RunRequest } from './report.js'
import { chooseResources, chooseTenants, tasksOf, workOnAll } from './run.js'

export type Choice = Pick<RunRequest, 'tenants' | 'resources'>

/**
 * Looks at every chosen cursor and writes nothing: no lease, no run, no rows. `isNew`: the warehouse has no tables yet,
 * and so knows nothing.
 */
export async function readOnlyRun(
  deps: Dependencies,
  choice: Choice,
  begin: (context: CursorContext) => Begin,
  isNew = false,
): Promise<CursorEnd[]> {
  // Every request under way listens to it.
  setMaxListeners(0, deps.signal)
  const resources = chooseResources(deps, choice)
  const grants = await readGrants(deps, isNew)
  const context: CursorContext = {
    ...deps,
    cursors: isNew ? new Map() : await readCursors(deps.warehouse),
    counted: { quarantined: 0 },
    isGranted: async (tenantId) => (await readGrants(deps, isNew)).granted.includes(tenantId),
  }
  const tasks = tasksOf(chooseTenants(deps, choice, grants), resources, context.cursors)
  deps.observer.planned?.(new Set(tasks.map((task) => task.tenantId)).size, tasks.length)
  return workOnAll(context, tasks, begin(context))
}
