import { setMaxListeners } from 'node:events'
import type { Reason } from '../base/reasons.js'
import { readForgottenThere } from '../warehouse/hiding/forgottenrecords.js'
import { type Cursor, readCursors } from '../warehouse/state/cursors.js'
import { readLateness } from '../warehouse/state/latenessrows.js'
import { checkSourceIdentity, readListsFrom } from '../warehouse/state/sourceidentity.js'
import { forgottenTenants } from '../warehouse/state/tenants.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import {
  type Authorizations,
  AuthorizationWatch,
  askAuthorizations,
  firstAuthorizations,
} from './askauthorizations.js'
import { chooseResources, planTasks } from './choosecursors.js'
import { type Begin, type CursorEnd, endingOfRun, workOnCursors } from './cursor.js'
import { latenessOf } from './lateness.js'
import type { Dependencies } from './runcontext.js'
import type { CursorChoice } from './runreport.js'
import { RunStats } from './runstats.js'
import { type CursorTask, now, type Run } from './tenant.js'
import { Beginning, wholeLists } from './wholelists.js'

export interface ReadOnlyHow {
  /** The warehouse has no tables yet, so nothing is read from it. */
  readonly isNew?: boolean
  /** Which of the cursors to work on; called when the source has answered. Default: all. */
  readonly pick?: (
    tasks: readonly CursorTask[],
    cursors: ReadonlyMap<string, Cursor>,
  ) => readonly CursorTask[]
}

/** Works on every chosen cursor and writes nothing: no lease, no run, no rows. */
export async function readOnlyRun(
  deps: Dependencies<Warehouse>,
  choice: CursorChoice,
  begin: Begin<Warehouse>,
  { isNew = false, pick }: ReadOnlyHow = {},
): Promise<{
  readonly ends: readonly CursorEnd[]
  /** A problem with the whole run; null if there is none. */
  readonly reason: Reason | null
}> {
  // Every request under way listens to the signal.
  setMaxListeners(0, deps.signal)
  const resources = chooseResources(deps, choice)
  await checkSourceIdentity(deps.warehouse, deps.source.address)
  const forgotten = await forgottenTenants(deps.warehouse)
  await readForgottenThere(deps.warehouse)
  const ask = (): Promise<Authorizations> => askAuthorizations(deps, { isNew, forgotten })
  const authorizations = await firstAuthorizations(ask)
  const beginning = new Beginning(await readListsFrom(deps.warehouse), async () => {})
  const run: Dependencies<Warehouse> & Run<Warehouse> = {
    ...deps,
    source: wholeLists(deps.source, beginning),
    cursors: isNew ? new Map() : await readCursors(deps.warehouse, { shard: deps.shard }),
    lateness: latenessOf(
      (await deps.warehouse.has('sync_lateness')) ? await readLateness(deps.warehouse, now(deps)) : [],
    ),
    stats: new RunStats(),
    authorizations: new AuthorizationWatch(ask),
  }
  const { tasks: all, left } = planTasks(run, choice, { resources, authorizations })
  const tasks = pick?.(all, run.cursors) ?? all
  if (tasks.length < all.length)
    run.observer.planned?.(new Set(tasks.map(({ tenantId }) => tenantId)).size, tasks.length)
  // Nothing records whose turn is next. From a random start, the time limit doesn't cut off the same cursors each time.
  const first = deps.timeLimited ? Math.floor((deps.random ?? Math.random)() * tasks.length) : 0
  const turned = { tasks: [...tasks.slice(first), ...tasks.slice(0, first)], left }
  const ends = await workOnCursors(run, turned, begin)
  return { ends, reason: endingOfRun(run, ends) ?? authorizations.reason }
}
