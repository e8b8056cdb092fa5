/*
 * What a 404 means for a cursor: the tenant is revoked, the resource is gone, or the API never offered it. For the
 * tenant, the run requests the authorizations again; for the rest, it depends on whether the cursor ever answered. A
 * revoked tenant must not look like a resource that isn't offered, because the advice would be to switch the resource
 * off.
 */
import type { Int64 } from '../../../schema/resource.js'
import { describeError, Skip } from '../base/errors.js'
import type { Reason } from '../base/reasons.js'
import type { Cursor } from '../warehouse/state/cursors.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { CursorRun, Run, TenantAccess } from './tenant.js'
import { type CursorTask, stateOf } from './tenant.js'

export interface Explained {
  readonly text: string
  readonly status: 'failed' | 'skipped'
  readonly reason: Reason
  /** A 404 on a resource whose path the API documentation doesn't have, and that never answered. */
  readonly absent: boolean
}

const wasThere = (state: Cursor | undefined): boolean =>
  state !== undefined && (state.watermark !== null || state.last_success_at !== null || state.status === 'ok')

export const revokedText = (tenantId: Int64): string =>
  `Tenant ${tenantId} is no longer granted; its rows are kept. Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant ${tenantId}`

const missingText = (tenantId: Int64): string =>
  `The list of authorizations does not show tenant ${tenantId}, but that list is shorter than its total, shows others twice, or cannot be read completely. The tenant was skipped; the next run checks again`

/** What it means for each of a tenant's cursors that the tenant isn't granted. */
export function notGranted(tenantId: Int64, access: Exclude<TenantAccess, 'granted'>): Explained {
  if (access === 'revoked')
    return { text: revokedText(tenantId), status: 'skipped', reason: 'revoked', absent: false }
  return { text: missingText(tenantId), status: 'failed', reason: 'grants_incomplete', absent: false }
}

/** What a 404 response means for the cursor. */
export async function explainAbsence(
  { tenant, resource, state }: Pick<CursorRun<Warehouse>, 'tenant' | 'resource' | 'state'>,
  error: Skip,
): Promise<Explained> {
  const text = describeError(error)
  const isGone = wasThere(state)
  const failed = { text, status: 'failed', reason: 'unreachable' } as const
  if (!isGone && !resource.resource.documented) return { ...failed, absent: true }
  const [access = 'granted'] = await accessesOf(tenant.run, [tenant.id])
  if (access !== 'granted') return notGranted(tenant.id, access)
  if (!isGone) return { ...failed, absent: false }
  const gone = `${error.message}, but has answered before. Its rows and watermark stay, and the next run tries again. If the API moved it to another path, set resources.${resource.name}.path; if it is gone for good, set resources.${resource.name}.enabled to false`
  return { text: gone, status: 'failed', reason: 'gone', absent: false }
}

/** If the source can't be reached now, a tenant counts as granted, and the cursor reports its own failure. */
async function accessesOf(
  { authorizations, signal }: Pick<Run, 'authorizations' | 'signal'>,
  tenantIds: readonly Int64[],
): Promise<readonly TenantAccess[]> {
  try {
    return await authorizations.accessOf(tenantIds)
  } catch (error) {
    if (signal.aborted || error instanceof Skip) return tenantIds.map(() => 'granted')
    throw error
  }
}

/**
 * Those tenants of these cursors that aren't granted. The cursors returned 404 and never anything else, which is also
 * how a revoked tenant answers. One request covers all of them; none is made for a cursor that wasn't offered before
 * either.
 */
export async function ungrantedOf(
  run: Pick<Run, 'cursors' | 'authorizations' | 'signal'>,
  absent: readonly CursorTask[],
): Promise<ReadonlyMap<Int64, Exclude<TenantAccess, 'granted'>>> {
  const fresh = absent.filter((task) => stateOf(run, task)?.status !== 'unavailable')
  const tenants = [...new Set(fresh.map(({ tenantId }) => tenantId))]
  if (tenants.length === 0 || run.signal.aborted) return new Map()
  const accesses = await accessesOf(run, tenants)
  return new Map(
    tenants.flatMap((tenantId, i) => {
      const access = accesses[i]
      return access === undefined || access === 'granted' ? [] : [[tenantId, access] as const]
    }),
  )
}
