/**
 * Readers: roles that see the views of some tenants and nothing else (docs/readers.md; src/engine/warehouse/postgres/readerviews.ts
 * makes them).
 */
import type { Int64 } from '../../../schema/resource.js'
import { views } from '../../../schema/views/index.js'
import type { Clock } from '../../engine/base/clock.js'
import { Skip, Stop } from '../../engine/base/errors.js'
import { parseId } from '../../engine/base/int64.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type {
  LiveReader,
  ReaderStore,
  ReaderView,
  RunStatement,
  ViewStore,
} from '../../engine/warehouse/viewstore.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { withGrants } from './tables.js'

/** One row of `grants --json`. */
export interface Grant {
  readonly role: string
  readonly schema: string
  readonly tenants: readonly Int64[]
  readonly personal: boolean
  readonly granted_at: string | null
}

interface Needs {
  readonly warehouse: Warehouse
  readonly clock: Clock
  readonly signal?: AbortSignal
  /** The views of all tenants. */
  readonly store: ViewStore
}

const readerViews: ReadonlyMap<string, ReaderView> = new Map(
  views.map((view) => {
    const marked = (mark: 'personal' | 'internal'): Set<string> =>
      new Set(Object.entries(view.columns).flatMap(([name, column]) => (column[mark] ? [name] : [])))
    return [
      view.name,
      { personal: marked('personal'), internal: marked('internal'), isForAll: view.isForAll === true },
    ]
  }),
)

/** Throws Stop where there are no roles. */
function readerStoreOf({ readers }: ViewStore, tenants: readonly Int64[]): ReaderStore {
  if (readers) return readers
  const [tenant = 101] = tenants
  throw new Stop('A SQLite file has no roles: who may read the file reads everything in it', {
    exitCode: 2,
    hint: `Give them a file of their own: shopsync copy --tenant ${tenant} --to sqlite:${tenant}.db`,
  })
}

const tenantsIn = (value: unknown): Int64[] => {
  const list: unknown = typeof value === 'string' ? JSON.parse(value) : value
  return Array.isArray(list) ? list.flatMap((id) => parseId(id) ?? []) : []
}

/** Who sees what. Empty in a warehouse of an older program. */
export async function readGrants(warehouse: Warehouse): Promise<Grant[]> {
  if (!(await warehouse.has('sync_grants'))) return []
  const rows = await warehouse.read((db) =>
    withGrants(db).selectFrom('sync_grants').selectAll().orderBy('role').execute(),
  )
  return rows.map(({ role, schema, tenants, personal, granted_at }) => ({
    ...{ role, schema: schema ?? role, tenants: tenantsIn(tenants), granted_at },
    personal: personal === true || Number(personal) === 1,
  }))
}

async function refuseUnready(warehouse: Warehouse, store: ReaderStore, role: string): Promise<void> {
  const found = await warehouse.read((db) => store.obstacle((query) => db.executeQuery(query), role))
  if (found) throw new Stop(`${found.message}; nothing was granted`, { exitCode: 2, hint: found.hint })
}

async function refuseUnknown(warehouse: Warehouse, tenants: readonly Int64[]): Promise<void> {
  const known = await warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())
  const ids = new Set(known.map(({ tenant_id }) => String(tenant_id)))
  const missing = tenants.filter((tenant) => !ids.has(String(tenant)))
  if (missing.length === 0) return
  throw new Stop(`The warehouse has no tenant ${missing.join(', ')}; nothing was granted`, {
    exitCode: 2,
    hint:
      ids.size === 0 ? 'It is empty: type shopsync sync first' : `Expected some of ${[...ids].join(', ')}`,
  })
}

const asReader = ({ role, tenants, personal }: Pick<Grant, 'role' | 'tenants' | 'personal'>): LiveReader => ({
  ...{ role, tenants, isPersonal: personal },
})

/** Grants a role the views of these tenants, in place of those that it saw before. */
export async function grant(needs: Needs, to: LiveReader): Promise<Grant> {
  const { clock, store } = needs
  const readers = readerStoreOf(store, to.tenants)
  await refuseUnknown(needs.warehouse, to.tenants)
  await refuseUnready(needs.warehouse, readers, to.role)
  await using lease = await openLease({ ...needs, shapesRows: false }, 'grant')
  const { warehouse } = lease
  const granted_at = fromMicros(clock.nowMicros())
  const row = {
    role: to.role,
    schema: to.role,
    ...storedTenants(to.tenants),
    personal: to.isPersonal,
    granted_at,
  }
  const { role: _, ...rest } = row
  await warehouse.transaction(async (session) => {
    const run: RunStatement = (query) => session.run(query)
    await readers.make(run, to, readerViews)
    await session.run(
      withGrants(warehouse.db)
        .insertInto('sync_grants')
        .values(row as never)
        .onConflict((c) => c.column('role').doUpdateSet(rest as never))
        .compile(),
    )
  })
  lease.throwIfLost()
  return { role: to.role, schema: to.role, tenants: to.tenants, personal: to.isPersonal, granted_at }
}

/** What `revoke` left the role. `tenants` is empty if it sees nothing any more. */
export async function revokeGrant(
  needs: Needs,
  role: string,
  tenants: readonly Int64[],
): Promise<Pick<Grant, 'role' | 'tenants'>> {
  readerStoreOf(needs.store, tenants)
  const known = await readGrants(needs.warehouse)
  const found = known.find((one) => one.role === role)
  if (!found)
    throw new Stop(`The role ${role} was granted nothing`, {
      exitCode: 2,
      hint: known.length === 0 ? 'No role was' : `Expected one of ${known.map((one) => one.role).join(', ')}`,
    })
  const gone = new Set(tenants.map(String))
  const left = tenants.length === 0 ? [] : found.tenants.filter((id) => !gone.has(String(id)))
  if (tenants.length > 0 && left.length === found.tenants.length)
    throw new Stop(`The role ${role} does not see tenant ${[...gone].join(', ')}`, {
      exitCode: 2,
      hint: `Expected some of ${found.tenants.join(', ')}`,
    })
  await using lease = await openLease({ ...needs, shapesRows: false }, 'revoke')
  const { kept, ...now } = await take(lease.warehouse, needs.store, { ...asReader(found), tenants: left })
  lease.throwIfLost()
  if (kept === null) return { role, tenants: now.tenants }
  throw new Stop(`The role ${role} sees nothing for now, but its views are as they were: ${kept}`, {
    exitCode: 1,
    hint: 'When that has ended, type shopsync migrate',
  })
}

const storedTenants = (tenants: readonly Int64[]) => ({ tenants: JSON.stringify(tenants.map(String)) })

/**
 * Leaves a reader these tenants. Its rights go first: its views can't be changed while it has a transaction open, for as
 * long as it likes. A role that is gone is left none. `kept`: why its views are as they were, unreadable; null if they aren't.
 */
async function take(
  warehouse: Warehouse,
  store: ViewStore,
  reader: LiveReader,
): Promise<{ readonly tenants: readonly Int64[]; readonly kept: string | null }> {
  const { role } = reader
  const tenants = await warehouse.transaction(async (session) => {
    const isThere = await store.readers?.stop((query) => session.run(query), role)
    const left = isThere ? reader.tenants : []
    const rows = withGrants(warehouse.db).updateTable('sync_grants').where('role', '=', role)
    await session.run(rows.set(storedTenants(left) as never).compile())
    return left
  })
  return { tenants, kept: await remake(warehouse, store, { ...reader, tenants }) }
}

/** Makes a reader's views, or drops them if it has no tenants. Returns why it couldn't. */
async function remake(
  warehouse: Warehouse,
  { readers, troubleOf }: ViewStore,
  reader: LiveReader,
): Promise<string | null> {
  const { role, tenants } = reader
  try {
    await warehouse.transaction(async (session) => {
      const run: RunStatement = (query) => session.run(query)
      if (tenants.length > 0) return void (await readers?.make(run, reader, readerViews))
      await readers?.drop(run, role)
      await run(withGrants(warehouse.db).deleteFrom('sync_grants').where('role', '=', role).compile())
    })
    return null
  } catch (error) {
    const found = error instanceof Stop || error instanceof Skip ? error : troubleOf(error)
    if (!found) throw error
    return found.message
  }
}

/**
 * Makes readers' views again where those of all tenants have changed: one transaction each, since a hundred readers'
 * views together are more than a server's default locks.
 */
export async function remakeReaders(
  warehouse: Warehouse,
  store: ViewStore,
): Promise<{ readonly role: string; readonly trouble: string | null }[]> {
  const { readers } = store
  if (!readers) return []
  const all = (await readGrants(warehouse)).map(asReader)
  if (all.length === 0) return []
  const run: RunStatement = (query) => warehouse.read((db) => db.executeQuery(query))
  const outdated = new Set(await readers.outdated(run, all, readerViews))
  const done: { role: string; trouble: string | null }[] = []
  for (const reader of all)
    if (reader.tenants.length === 0 || outdated.has(reader))
      done.push({ role: reader.role, trouble: await remake(warehouse, store, reader) })
  return done
}

/** Takes a forgotten tenant from everyone who sees it. Returns why somebody's views still name it; null if none do. */
export async function takeFromReaders(
  warehouse: Warehouse,
  store: ViewStore,
  tenantId: Int64,
): Promise<string | null> {
  let left: string | null = null
  for (const grant of store.readers ? await readGrants(warehouse) : []) {
    const tenants = grant.tenants.filter((id) => String(id) !== String(tenantId))
    if (tenants.length === grant.tenants.length) continue
    const { kept } = await take(warehouse, store, { ...asReader(grant), tenants })
    if (kept !== null)
      left ??= `The views of the role ${grant.role} still name the tenant: ${kept}. End what it has open`
  }
  return left
}

/** Readers that see more than they were granted, for `check`. */
export async function watchReaders(
  warehouse: Warehouse,
  { readers }: ViewStore,
): Promise<readonly { role: string; message: string; hint: string }[]> {
  if (!readers) return []
  const found = []
  for (const { role } of await readGrants(warehouse)) {
    const trouble = await warehouse.read((db) => readers.obstacle((query) => db.executeQuery(query), role))
    if (trouble) found.push({ role, ...trouble })
  }
  return found
}
