import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../errors.js'
import type { ResourceModel } from '../../model/registry.js'
import { cursorName } from '../../warehouse/cursors.js'
import { type CursorContext, type CursorTask, type Dependencies, keyOf, stateOf } from './context.js'
import type { Grants } from './grants.js'
import type { CursorChoice } from './report.js'
import { remaining } from './resume.js'

function chooseTenants(
  { config }: Pick<Dependencies, 'config'>,
  choice: CursorChoice,
  grants: Grants,
): readonly Int64[] {
  const configured = config.sync.tenants
  const wanted = choice.tenants ?? (configured === 'all' ? null : configured)
  if (wanted === null) return grants.granted
  const known = new Set([...grants.granted, ...grants.revoked])
  const unknown = wanted.filter((tenant) => !known.has(tenant))
  if (unknown.length > 0)
    throw new Stop(`Tenant ${unknown.join(', ')} is not granted to this partner`, {
      exitCode: 2,
      hint: `Granted are: ${grants.granted.slice(0, 20).join(', ') || 'none'}. Ask the tenant's owner for a grant, or name another --tenant`,
    })
  return wanted
}

/** The resources of a run. Throws Stop for a name that is no resource, or is switched off. */
export function chooseResources(
  { config, model }: Pick<Dependencies, 'config' | 'model'>,
  choice: CursorChoice,
): ResourceModel[] {
  const configured = config.sync.resources
  const wanted = choice.resources ?? (configured === 'all' ? null : configured)
  const enabled = model.list.filter((resource) => resource.enabled && resource.resource.scope === 'tenant')
  if (wanted === null) return enabled
  const chosen = wanted.map((name) => {
    const resource = enabled.find((candidate) => candidate.name === name)
    if (resource) return resource
    throw new Stop(`There is no resource ${name}, or it is switched off`, {
      exitCode: 2,
      hint: `Expected one of ${enabled.map((candidate) => candidate.name).join(', ')}`,
    })
  })
  return [...new Set(chosen)]
}

interface TaskChoice {
  readonly resources: readonly ResourceModel[]
  readonly grants: Grants
  readonly turns?: ReadonlyMap<string, string> | undefined
}

/**
 * The cursors of a run, longest first, so that no large cursor runs alone at the end: first the walks that were cut
 * short, by the records still before them; then resources by the number of their tables. Among equals tenants take
 * turns, so that a large tenant does not hold up the small ones. Tells the observer how many there are.
 *
 * With `turns` (the last turn of each cursor, by name) those that have waited longest come before all others: under a
 * time limit that ends every run, the same cursors would starve otherwise.
 */
export function planTasks(
  context: CursorContext,
  choice: CursorChoice,
  { resources, grants, turns }: TaskChoice,
): CursorTask[] {
  const tenants = chooseTenants(context, choice, grants)
  const left = (task: CursorTask): number => remaining(stateOf(context, task))
  const turnOf = (task: CursorTask): string => turns?.get(cursorName(keyOf(task))) ?? ''
  const tasks = resources
    .toSorted((a, b) => b.tables.length - a.tables.length)
    .flatMap((resource) => tenants.map((tenantId) => ({ tenantId, resource })))
    .toSorted((a, b) => left(b) - left(a))
    .toSorted((a, b) => turnOf(a).localeCompare(turnOf(b)))
  context.observer.planned?.(new Set(tasks.map((task) => task.tenantId)).size, tasks.length)
  return tasks
}
