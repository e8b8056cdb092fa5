/*
 * Which tenants have granted access: asks the API for the authorizations and keeps the table `tenants`. Every run asks
 * first, and again where a 404 casts doubt on a tenant.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Page } from '../../api/source.js'
import { describeError, Skip, Stop } from '../../errors.js'
import { type AuthorizationRow, flattenAuthorization } from '../../model/flatten/authorization.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import type { Dependencies } from './context.js'

interface Listing {
  readonly rows: ReadonlyMap<Int64, AuthorizationRow>
  readonly syncedAt: string
  /** Every page came from one state of the list: a tenant that is not in it is not granted. */
  readonly consistent: boolean
}

const attempts = 3

type Asking = Pick<Dependencies, 'source' | 'signal' | 'observer'>
type Recording = Asking & Pick<Dependencies, 'warehouse'>

async function readOnce(deps: Asking): Promise<Listing> {
  const rows = new Map<Int64, AuthorizationRow>()
  const totals = new Set<number>()
  let seen = 0
  let page: Page | undefined
  for (let number = 1; !page || number <= page.totalPages; number++) {
    page = await deps.source.authorizations(number, deps.signal)
    totals.add(page.total)
    seen += page.records.length
    for (const record of page.records) {
      const { row, reason } = flattenAuthorization(record)
      if (row) rows.set(row.tenant_id, row)
      else deps.observer.notice?.('An authorization cannot be used', { reason })
    }
    if (page.records.length === 0) break
  }
  return { rows, syncedAt: page?.startedAt ?? '', consistent: totals.size === 1 && totals.has(seen) }
}

/**
 * Reads the list of authorizations. It has no order that survives a change, so that a list which moved while its pages
 * were read is read again.
 */
async function readAll(deps: Asking): Promise<Listing> {
  let listing = await readOnce(deps)
  for (let attempt = 1; attempt < attempts && !listing.consistent; attempt++) listing = await readOnce(deps)
  return listing
}

function store(warehouse: Warehouse, row: AuthorizationRow, syncedAt: string): CompiledQuery {
  const { tenant_id, writable, ...rest } = row
  const columns = { ...rest, writable, revoked_at: null, _synced_at: syncedAt }
  return warehouse.db
    .insertInto('tenants')
    .values({ tenant_id, ...columns })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(columns))
    .compile()
}

const revoke = (warehouse: Warehouse, tenantId: Int64, at: string): CompiledQuery =>
  warehouse.db
    .updateTable('tenants')
    .set({ revoked_at: at })
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .compile()

export interface Grants {
  /** Tenants that are granted now, in the order of their ids. */
  readonly granted: readonly Int64[]
  /** Tenants that the warehouse knows and that are no longer granted; their rows are kept. */
  readonly revoked: readonly Int64[]
}

/** Asks which tenants there are, at the beginning of a run. Throws Stop when the API does not answer: no run can start. */
export async function firstGrants(deps: Recording, fence: Int64 | undefined): Promise<Grants> {
  try {
    return await refreshTenants(deps, fence)
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    throw new Stop(`The API did not say which tenants there are: ${describeError(error)}`, {
      exitCode: 3,
      hint: 'Expected a list of authorizations: check api.baseUrl and api.partnerId, or type shopsync check',
      cause: error,
    })
  }
}

/** Asks which tenants there are, and writes nothing. `isNew`: the warehouse has no tables to read from. */
export async function readGrants(deps: Recording, isNew = false): Promise<Grants> {
  const listing = await readAll(deps)
  const known = isNew
    ? []
    : await deps.warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())
  const revoked = known.map(({ tenant_id }) => tenant_id).filter((id) => !listing.rows.has(id))
  return { granted: inOrder(listing), revoked }
}

const inOrder = ({ rows }: Listing): Int64[] => [...rows.keys()].sort((a, b) => (a < b ? -1 : 1))

/** Asks which tenants there are, and records it: the `tenants` table follows the authorizations. */
export async function refreshTenants(deps: Recording, fence: Int64 | undefined): Promise<Grants> {
  const listing = await readAll(deps)
  const known = await deps.warehouse.read((db) =>
    db.selectFrom('tenants').select(['tenant_id', 'revoked_at']).execute(),
  )
  const gone = known.filter(({ tenant_id }) => !listing.rows.has(tenant_id))
  const fresh = listing.consistent ? gone.filter(({ revoked_at }) => revoked_at === null) : []
  if (!listing.consistent)
    deps.observer.notice?.('The list of authorizations kept moving: this run marks no tenant as revoked', {})
  for (const { tenant_id } of fresh)
    deps.observer.notice?.('A tenant is no longer granted; its rows are kept', { tenant_id })
  await deps.warehouse.write(
    [
      ...[...listing.rows.values()].map((row) => store(deps.warehouse, row, listing.syncedAt)),
      ...fresh.map(({ tenant_id }) => revoke(deps.warehouse, tenant_id, listing.syncedAt)),
    ],
    fence,
  )
  const revoked = gone.filter(({ revoked_at }) => listing.consistent || revoked_at !== null)
  return { granted: inOrder(listing), revoked: revoked.map(({ tenant_id }) => tenant_id) }
}
