import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Page } from '../../api/source.js'
import { Skip, Stop } from '../../errors.js'
import { type AuthorizationRow, flattenAuthorization } from '../../model/flatten/authorization.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import type { Dependencies } from './context.js'

interface Listing {
  readonly rows: ReadonlyMap<Int64, AuthorizationRow>
  readonly syncedAt: string
  /** Every page came from one and the same list: what is not in it is not granted. */
  readonly consistent: boolean
}

const attempts = 3

async function readOnce(deps: Pick<Dependencies, 'source' | 'signal' | 'observer'>): Promise<Listing> {
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

/** The authorizations have no order that survives a change: a list that moved while it was paged is read again. */
async function readAll(deps: Pick<Dependencies, 'source' | 'signal' | 'observer'>): Promise<Listing> {
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
  /** Tenants that the warehouse knows and that are granted no longer; their rows are kept. */
  readonly revoked: readonly Int64[]
}

/** Before anything else can be done: whoever does not answer this lets no run start. */
export async function firstGrants(
  deps: Pick<Dependencies, 'source' | 'signal' | 'observer' | 'warehouse'>,
  fence: Int64 | undefined,
): Promise<Grants> {
  try {
    return await refreshTenants(deps, fence)
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    throw new Stop(`The API did not say which tenants there are: ${error.message}`, {
      exitCode: 3,
      hint: 'Expected a list of authorizations: check api.baseUrl and api.partnerId, or type shopsync check',
      cause: error,
    })
  }
}

/** Asks which tenants there are, and writes nothing. */
export async function readGrants(
  deps: Pick<Dependencies, 'source' | 'signal' | 'observer' | 'warehouse'>,
  isNew = false,
): Promise<Grants> {
  const listing = await readAll(deps)
  const known = isNew
    ? []
    : await deps.warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())
  const revoked = known.map(({ tenant_id }) => tenant_id).filter((id) => !listing.rows.has(id))
  return { granted: inOrder(listing), revoked }
}

const inOrder = ({ rows }: Listing): Int64[] => [...rows.keys()].sort((a, b) => (a < b ? -1 : 1))

/** Asks which tenants there are, and records it: the `tenants` table follows the authorizations. */
export async function refreshTenants(
  deps: Pick<Dependencies, 'source' | 'signal' | 'observer' | 'warehouse'>,
  fence: Int64 | undefined,
): Promise<Grants> {
  const listing = await readAll(deps)
  const known = await deps.warehouse.read((db) =>
    db.selectFrom('tenants').select(['tenant_id', 'revoked_at']).execute(),
  )
  const gone = known.filter(({ tenant_id }) => !listing.rows.has(tenant_id))
  const fresh = listing.consistent ? gone.filter(({ revoked_at }) => revoked_at === null) : []
  if (!listing.consistent)
    deps.observer.notice?.(
      'The list of authorizations kept moving: nobody is marked as revoked in this run',
      {},
    )
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
