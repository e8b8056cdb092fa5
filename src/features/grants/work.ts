/**
 * Readers: roles that see the views of some tenants and nothing else (docs/readers.md; src/engine/warehouse/postgres/views/readerviews.ts
 * makes them).
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { ViewColumn } from '../../../schema/view.js'
import { views } from '../../../schema/views/index.js'
import type { Clock } from '../../engine/base/clock.js'
import { Stop } from '../../engine/base/errors.js'
import { atSecond, plural } from '../../engine/base/format.js'
import { parseId } from '../../engine/base/int64.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import type {
  LiveReader,
  ReaderStore,
  ReaderView,
  RunStatement,
  ViewStore,
  ViewTrouble,
} from '../../engine/warehouse/views/viewstore.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table, unbroken } from '../../shell/texttable.js'
import { withGrants } from './tables.js'

/** One row of `grants --json`. */
export interface Grant {
  readonly role: string
  readonly schema: string
  readonly tenants: readonly Int64[]
  readonly personal: boolean
  readonly granted_at: string | null
}

type Granted = Grant & { readonly views: number }

/** What `revoke` left a role. `tenants` is empty if it sees nothing any more. */
type Left = Pick<Grant, 'role' | 'tenants'>

interface Needs {
  readonly warehouse: Writer
  readonly clock: Clock
  readonly signal?: AbortSignal
  /** The views of all tenants. */
  readonly store: ViewStore
}

const readerViews: ReadonlyMap<string, ReaderView> = new Map(
  views.map((view) => {
    const columns = Object.entries<ViewColumn>(view.columns)
    const marked = (mark: 'personal' | 'internal'): Set<string> =>
      new Set(columns.flatMap(([name, column]) => (column[mark] ? [name] : [])))
    const names = new Map(columns.flatMap(([name, one]) => (one.names ? [[name, one.names] as const] : [])))
    return [
      view.name,
      { personal: marked('personal'), names, internal: marked('internal'), isForAll: view.isForAll === true },
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
    role,
    schema: schema ?? role,
    tenants: tenantsIn(tenants),
    personal: personal === true || Number(personal) === 1,
    granted_at,
  }))
}

const asking =
  (warehouse: Warehouse): RunStatement =>
  (query) =>
    warehouse.read((db) => db.executeQuery(query))

async function refuseUnready(warehouse: Warehouse, store: ViewStore, role: string): Promise<void> {
  const run = asking(warehouse)
  const views = (await store.live(run)).size === 0 ? await store.obstacle(run) : undefined
  const found = (await store.readers?.obstacle(run, role)) ?? views
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

/** The statement that stores a grant. */
function stored({ db }: Warehouse, { tenants, ...rest }: Grant): CompiledQuery {
  const { role, ...row } = { ...rest, tenants: JSON.stringify(tenants.map(String)) }
  return withGrants(db)
    .insertInto('sync_grants')
    .values({ role, ...row } as never)
    .onConflict((c) => c.column('role').doUpdateSet(row as never))
    .compile()
}

/** What a change of a reader came to. */
interface Changed {
  readonly grant: Grant
  /** How many views it has. */
  readonly views: number
  /** Its rights were taken before its views were changed. */
  readonly isStopped: boolean
  /** Why all or some of its views are as they were. */
  readonly kept: ViewTrouble | undefined
}

/**
 * Gives a reader the views of these tenants. Where it sees less than before, its rights go first, in a transaction that
 * waits for nobody: its views can't be changed while it has a transaction open, for as long as it likes. A role that is
 * gone is left no tenant.
 */
async function change(warehouse: Writer, store: ViewStore, before: Grant, to: Grant): Promise<Changed> {
  const readers = readerStoreOf(store, to.tenants)
  const left = new Set(to.tenants.map(String))
  const isLess =
    before.tenants.some((id) => !left.has(String(id))) ||
    (await readers.hides(asking(warehouse), to, readerViews))
  let grant = to
  let isStopped = false
  try {
    if (isLess)
      await warehouse.transaction(async (session) => {
        const isThere = await readers.stop((query) => session.run(query), to.role)
        grant = isThere ? to : { ...to, tenants: [] }
        await session.run(stored(warehouse, grant))
      })
    isStopped = isLess
    const { views, left: kept } = await warehouse.transaction(async (session) => {
      const run: RunStatement = (query) => session.run(query)
      if (grant.tenants.length > 0) {
        await run(stored(warehouse, grant))
        return readers.make(run, grant, readerViews)
      }
      await readers.drop(run, grant.role)
      await run(withGrants(warehouse.db).deleteFrom('sync_grants').where('role', '=', grant.role).compile())
      return { views: 0, left: undefined }
    })
    return { grant, views, isStopped, kept }
  } catch (error) {
    const kept = readers.troubleOf(error)
    if (!kept) throw error
    return { grant, views: 0, isStopped, kept }
  }
}

/** Throws Stop where views are as they were. */
function refuseKept({ grant: { role }, views, isStopped, kept }: Changed): void {
  if (!kept) return
  const now =
    views > 0
      ? `The role ${role} sees all but some views`
      : isStopped
        ? `The role ${role} sees nothing for now, but its views are as they were`
        : `The views of the role ${role} are as they were`
  throw new Stop(`${now}: ${kept.message}`, {
    exitCode: 1,
    hint: isStopped || views > 0 ? `${kept.hint}; then type shopsync migrate` : kept.hint,
  })
}

/** Grants a role the views of these tenants, in place of those that it saw before. */
export async function grant(needs: Needs, to: LiveReader): Promise<Granted> {
  const { clock, store } = needs
  const { role, tenants, personal } = to
  readerStoreOf(store, tenants)
  await refuseUnknown(needs.warehouse, tenants)
  await refuseUnready(needs.warehouse, store, role)
  await using lease = await openLease({ ...needs, shapesRows: false }, 'grant')
  const { warehouse } = lease
  const now = { role, schema: role, tenants, personal, granted_at: fromMicros(clock.nowMicros()) }
  const before = (await readGrants(warehouse)).find((one) => one.role === role)
  const done = await change(warehouse, store, before ?? { ...now, tenants: [] }, now)
  lease.throwIfLost()
  refuseKept(done)
  return { ...done.grant, views: done.views }
}

export async function revokeGrant(needs: Needs, role: string, tenants: readonly Int64[]): Promise<Left> {
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
  const done = await change(lease.warehouse, needs.store, found, { ...found, tenants: left })
  lease.throwIfLost()
  refuseKept(done)
  return { role, tenants: done.grant.tenants }
}

/**
 * Makes readers' views again where those of all tenants have changed: one transaction each, since a hundred readers'
 * views together are more than a server's default locks.
 */
export async function remakeReaders(
  warehouse: Writer,
  store: ViewStore,
): Promise<{ readonly role: string; readonly trouble: string | null }[]> {
  const { readers } = store
  if (!readers) return []
  const grants = await readGrants(warehouse)
  if (grants.length === 0) return []
  const outdated = await readers.outdated(asking(warehouse), grants, readerViews)
  const roles = new Set(outdated.map(({ role }) => role))
  const done: { role: string; trouble: string | null }[] = []
  for (const grant of grants)
    if (grant.tenants.length === 0 || roles.has(grant.role)) {
      const { kept } = await change(warehouse, store, grant, grant)
      done.push({
        role: grant.role,
        trouble: kept ? `${kept.message}. ${kept.hint}; then type shopsync migrate` : null,
      })
    }
  return done
}

/** Takes a forgotten tenant from everyone who sees it. Returns why somebody's views still name it; null if none do. */
export async function takeFromReaders(
  warehouse: Writer,
  store: ViewStore,
  tenantId: Int64,
): Promise<string | null> {
  let left: string | null = null
  for (const grant of store.readers ? await readGrants(warehouse) : []) {
    const tenants = grant.tenants.filter((id) => String(id) !== String(tenantId))
    if (tenants.length === grant.tenants.length) continue
    const { kept } = await change(warehouse, store, grant, { ...grant, tenants })
    if (kept)
      left ??= `The views of the role ${grant.role} still name the tenant, unreadable: ${kept.message}. ${kept.hint}`
  }
  return left
}

/** Readers that see more than they were granted, for `check`. `role`: null if it concerns all roles. */
export async function watchReaders(
  warehouse: Warehouse,
  { readers }: ViewStore,
): Promise<readonly { readonly role: string | null; readonly trouble: ViewTrouble }[]> {
  if (!readers) return []
  const run = asking(warehouse)
  const open = await readers.openToAll(run)
  const found: { role: string | null; trouble: ViewTrouble }[] = open ? [{ role: null, trouble: open }] : []
  for (const { role } of await readGrants(warehouse))
    for (const trouble of [await readers.obstacle(run, role), await readers.exposure(run, role)])
      if (trouble) found.push({ role, trouble })
  return found
}

export const grantText = ({ role, schema, tenants, personal, views }: Granted): string =>
  `The role ${role} sees ${plural(tenants.length, 'tenant')} (${tenants.join(', ')}) in ${plural(views, 'view')} of the schema ${schema}, ${
    personal ? 'names and addresses included' : 'without names, addresses and other personal columns'
  }. It connects with its own password and selects from orders, shop_days and so on; no schema has to be typed.`

export const revokeText = ({ role, tenants }: Left): string =>
  tenants.length === 0
    ? `The role ${role} sees nothing any more: its schema is gone. The role itself stays; who made it drops it.`
    : `The role ${role} still sees ${tenants.join(', ')}.`

export const grantsText = (grants: readonly Grant[], terminal: Terminal = plainTerminal): string =>
  grants.length === 0
    ? 'No role was granted anything. Type shopsync grant --role NAME --tenant ID'
    : table(
        ['role', 'tenants', 'personal columns', unbroken('granted')],
        grants.map(({ role, tenants, personal, granted_at }) => [
          role,
          tenants.join(', '),
          personal ? 'yes' : 'no',
          granted_at === null ? '' : atSecond(granted_at),
        ]),
        terminal,
      )
