import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../base/errors.js'
import { hasTenant } from '../base/shard.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import { cursorName } from '../warehouse/state/cursors.js'
import { refuseForgotten } from '../warehouse/state/tenants.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { Granted } from './askauthorizations.js'
import type { ChosenCursors } from './cursor.js'
import { remaining } from './resumecursor.js'
import type { Dependencies } from './runcontext.js'
import type { CursorChoice } from './runreport.js'
import type { Run } from './tenant.js'
import { type CursorTask, keyOf, stateOf } from './tenant.js'
import { isFirstLoad, zonesFirst } from './zonesfirst.js'

/** The selected tenants, granted or not: of a shard, its own. Throws Stop for a tenant that is unknown or excluded. */
const chooseTenants = (
  run: Pick<Dependencies, 'config' | 'observer' | 'shard'>,
  choice: CursorChoice,
  authorizations: Granted,
): readonly Int64[] => {
  // A tenant that a list names twice is one.
  const all = [...new Set(chooseAmongAll(run, choice, authorizations))]
  return run.shard ? all.filter((tenantId) => hasTenant(run.shard, tenantId)) : all
}

/** The same without regard to the shard. */
export function chooseAmongAll(
  { config, observer }: Pick<Dependencies, 'config' | 'observer'>,
  choice: CursorChoice,
  authorizations: Granted,
): readonly Int64[] {
  const configured = config.sync.tenants
  const named = choice.tenants ?? (configured === 'all' ? null : configured)
  const known = [...authorizations.granted, ...authorizations.revoked, ...authorizations.missing]
  if (named === null) return known
  refuseForgotten(choice, authorizations.forgotten)
  const wanted = named.filter((tenant) => !authorizations.forgotten.has(tenant))
  if (wanted.length < named.length) {
    const away = named.filter((tenant) => authorizations.forgotten.has(tenant))
    const hint = `Remove it from sync.tenants or the job, or type shopsync forget --tenant ${away[0]} --lift`
    observer.warning?.('A forgotten tenant is named in the configuration or the job; it is skipped', {
      tenant_id: away,
      hint,
    })
  }
  if (wanted.length === 0) return []
  const chosen = wanted.filter((tenant) => !config.sync.exceptTenants.includes(tenant))
  if (chosen.length === 0)
    throw new Stop(`Tenant ${wanted.join(', ')} is in sync.exceptTenants; expected a tenant to sync`, {
      exitCode: 2,
      hint: 'Remove it from sync.exceptTenants, or name another --tenant',
    })
  const unknown = chosen.filter((tenant) => !known.includes(tenant))
  // A list that falls short of its total says nothing about a tenant, and the run reports that.
  if (unknown.length === 0 || authorizations.reason === 'grants_incomplete') return chosen
  // If nobody is granted, the run reports that, and it names the tenants that the warehouse has rows of.
  if (authorizations.reason === 'no_grants') return chosen.filter((tenant) => known.includes(tenant))
  throw new Stop(`Tenant ${unknown.join(', ')} is not granted to this partner`, {
    exitCode: 2,
    hint: `Granted tenants: ${authorizations.granted.slice(0, 20).join(', ') || 'none'}. Ask the tenant's owner for a grant, or ${choice.tenants ? 'name another --tenant' : 'remove the tenant from sync.tenants'}`,
  })
}

/** The resources of a run. Throws Stop for a name that isn't a resource or is switched off. */
export function chooseResources(
  { config, warehouse }: Pick<Dependencies<Warehouse>, 'config' | 'warehouse'>,
  choice: CursorChoice,
): ResourceModel[] {
  const configured = config.sync.resources
  const wanted = choice.resources ?? (configured === 'all' ? null : configured)
  const enabled = warehouse.model.list.filter(
    (resource) => resource.enabled && resource.resource.scope === 'tenant',
  )
  if (wanted === null) return enabled
  const chosen = wanted.map((name) => {
    const resource = enabled.find((candidate) => candidate.name === name)
    if (resource) return resource
    throw new Stop(`There is no resource ${name}, or it is disabled`, {
      exitCode: 2,
      hint: `Expected one of ${enabled.map((candidate) => candidate.name).join(', ')}`,
    })
  })
  return [...new Set(chosen)]
}

/**
 * The cursors of a run, longest first, so that no large cursor runs by itself at the end: first the interrupted walks,
 * by how many records they have left, then resources by number of tables. Among equals, tenants take turns, so a large
 * tenant doesn't hold up the small ones. Tells the observer how many there are. Cursors of tenants that aren't granted
 * are left out and reported.
 *
 * With `turns` (the last turn of each cursor, by name), those that have waited longest come first: otherwise, under a
 * time limit that ends every run, the same cursors would starve. Shops come before whatever waits for their zones.
 */
export function planTasks(
  run: Pick<Dependencies, 'besideRows' | 'config' | 'observer' | 'shard'> & Pick<Run, 'cursors'>,
  choice: CursorChoice,
  {
    resources,
    authorizations,
    turns,
  }: {
    readonly resources: readonly ResourceModel[]
    readonly authorizations: Granted
    readonly turns?: ReadonlyMap<string, string> | undefined
  },
): ChosenCursors {
  const tenants = chooseTenants(run, choice, authorizations)
  const granted = new Set(authorizations.granted)
  const revoked = new Set(authorizations.revoked)
  const remains = (task: CursorTask): number => remaining(stateOf(run, task))
  const turnOf = (task: CursorTask): string => turns?.get(cursorName(keyOf(task))) ?? ''
  const all = resources
    .toSorted((a, b) => b.tables.length - a.tables.length)
    .flatMap((resource) => tenants.map((tenantId) => ({ tenantId, resource })))
  const tasks = all
    .filter(({ tenantId }) => granted.has(tenantId))
    .toSorted((a, b) => remains(b) - remains(a))
    .toSorted((a, b) => turnOf(a).localeCompare(turnOf(b)))
  const left = all
    .filter(({ tenantId }) => !granted.has(tenantId))
    .map((task) => ({ ...task, access: revoked.has(task.tenantId) ? 'revoked' : 'missing' }) as const)
  run.observer.planned?.(new Set(tasks.map((task) => task.tenantId)).size, tasks.length)
  const waits = (task: CursorTask): boolean =>
    run.besideRows !== undefined && isFirstLoad(task.resource, stateOf(run, task))
  return { tasks: zonesFirst(tasks, waits), left }
}
