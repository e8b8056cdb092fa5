/*
 * Which tenants have granted access. Every run asks first, and again if a 404 casts doubt on a tenant. Only the
 * authorizations can say that a tenant is revoked, and they must say so twice in one run. A list that shows less than
 * it counts revokes nobody: a run that silently stops fetching rows but stays green was judged worse than a run that
 * fails. The result is recorded: the table `tenants` follows it, and values that couldn't be stored as they came, or
 * that aren't in the API documentation, are kept like those of any other record.
 */

import { authorizations } from '../../../schema/authorizations.js'
import type { Int64 } from '../../../schema/resource.js'
import { Skip, Stop, wordsOf } from '../base/errors.js'
import type { Reason } from '../base/reasons.js'
import type { FlatAuthorization } from '../model/flatten/authorization.js'
import { writeDrift } from '../warehouse/state/drift.js'
import { forgetUnseen, quarantineStatements } from '../warehouse/state/quarantine.js'
import { grantTenants, type KnownTenant, knownTenants, revokeTenant } from '../warehouse/state/tenants.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import {
  type AuthorizationList,
  isShort,
  readAuthorizations,
  readAuthorizationsAgain,
  saysWhoIsGranted,
} from './authorizations.js'
import type { Dependencies, WritingRun } from './runcontext.js'
import type { TenantAccess } from './tenant.js'

export interface Authorizations {
  /** In order of their ids. Tenants in sync.exceptTenants, and forgotten ones, are in none of these lists. */
  readonly granted: readonly Int64[]
  /** Tenants that the warehouse knows and that the authorizations don't name. */
  readonly revoked: readonly Int64[]
  /** Tenants that the warehouse knows and that the authorizations say nothing about. */
  readonly missing: readonly Int64[]
  /** A problem with the whole run. */
  readonly reason: Reason | null
  /** The tenants that this query found newly revoked. */
  readonly fresh: readonly Int64[]
  /** Tenants that stay out of the warehouse, whether granted or not. */
  readonly forgotten: ReadonlySet<Int64>
  /** Without the forgotten tenants: nothing about them is kept. */
  readonly list: AuthorizationList
}

/** Tenants whose authorizations are known. */
export type Granted = Pick<Authorizations, 'granted' | 'revoked' | 'missing' | 'forgotten' | 'reason'>

/**
 * Asks which tenants there are, without writing anything. Costs one request per hundred tenants, and as many again if a
 * tenant is missing that was granted before.
 */
export async function askAuthorizations(
  run: Pick<Dependencies<Warehouse>, 'source' | 'signal' | 'observer' | 'warehouse' | 'config'>,
  {
    isNew = false,
    forgotten,
  }: {
    /** The warehouse has no tables to read from. */
    readonly isNew?: boolean
    readonly forgotten: ReadonlySet<Int64>
  },
): Promise<Authorizations> {
  const known = isNew ? [] : await knownTenants(run.warehouse)
  const except = new Set(run.config.sync.exceptTenants)
  const lost = (list: AuthorizationList): KnownTenant[] =>
    known.filter(({ tenantId }) => !except.has(tenantId) && !list.rows.has(tenantId))
  const isFresh = ({ revokedAt }: KnownTenant): boolean => revokedAt === null
  let list = await readAuthorizations(run)
  if (saysWhoIsGranted(list) && lost(list).some(isFresh)) list = await readAuthorizationsAgain(run, list)
  const gone = lost(list)
  const revoked = saysWhoIsGranted(list) ? gone : gone.filter((tenant) => !isFresh(tenant))
  const missing = gone.filter((tenant) => !revoked.includes(tenant))
  const ids = (tenants: readonly KnownTenant[]): Int64[] => tenants.map(({ tenantId }) => tenantId)
  const isMeant = (id: Int64): boolean => !except.has(id) && !forgotten.has(id)
  const granted = [...list.rows.keys()].filter(isMeant).sort((a, b) => (a < b ? -1 : 1))
  const isLeft = known.length > 0 ? gone.length > 0 : isNew || forgotten.size === 0
  return {
    granted,
    revoked: ids(revoked),
    missing: ids(missing),
    reason: reasonOf(list, { isLacking: missing.length > 0, isAlone: list.rows.size === 0 && isLeft }),
    fresh: ids(revoked.filter(isFresh)),
    forgotten,
    list: without(list, forgotten),
  }
}

/** A list with some tenants removed. It still reports its full length. */
function without(list: AuthorizationList, tenants: ReadonlySet<Int64>): AuthorizationList {
  if (tenants.size === 0) return list
  return {
    ...list,
    rows: new Map([...list.rows].filter(([tenantId]) => !tenants.has(tenantId))),
    findings: list.findings.filter(({ row }) => row === null || !tenants.has(row.tenant_id)),
  }
}

/** `isLacking`: the list says nothing about some tenant. `isAlone`: tenants are expected to be granted, and none is. */
function reasonOf(
  list: AuthorizationList,
  { isLacking, isAlone }: { readonly isLacking: boolean; readonly isAlone: boolean },
): Reason | null {
  if (isShort(list)) return 'grants_incomplete'
  if (list.unusable > 0) return 'record_unstorable'
  if (isLacking) return 'grants_incomplete'
  return isAlone ? 'no_grants' : null
}

const noList =
  'Expected a list of authorizations: check api.baseUrl and api.partnerId, or type shopsync check'

/** Asks at the beginning of a run. Throws Stop if the API doesn't answer: no run can start. */
export async function firstAuthorizations(ask: () => Promise<Authorizations>): Promise<Authorizations> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    const { code = 'unreachable', status } = error.details
    // An API that tells us to wait can be reached: a hint to check the address would mislead.
    const isBusy = code === 'told_to_wait' || status === 429
    const { message, hint: own } = wordsOf(error)
    // Without a status no response came, and with these the address is wrong: the error's own hint knows more.
    const knowsMore = status === undefined || status === 404 || status < 400
    const hint = isBusy ? own : own !== undefined && knowsMore ? `${own}, or type shopsync check` : noList
    throw new Stop(`The API did not return the list of tenants: ${message.replace(/^Gave up/, 'gave up')}`, {
      exitCode: 3,
      code,
      hint,
      cause: error,
    })
  }
}

/** The tenant of an authorization that names none. No tenant has this id. */
const noTenant = 0

const tenantOf = ({ row }: FlatAuthorization): Int64 => row?.tenant_id ?? noTenant

/** Records which tenants there are. Returns its input, so it can be chained after the query. */
export async function recordAuthorizations(
  { warehouse, observer, stats }: Pick<WritingRun, 'warehouse' | 'observer' | 'stats'>,
  found: Authorizations,
): Promise<Authorizations> {
  const { list, fresh, reason } = found
  const { db } = warehouse
  const { syncedAt } = list
  const { name: resource } = authorizations
  const rows = Array.from(list.rows.values(), (row) => ({ ...row, _synced_at: syncedAt }))
  const drift = await warehouse.transaction(async (session) => {
    // One at a time: of ten thousand tenants, all of them together take 50 MB.
    for (const statement of grantTenants(db, rows)) await session.run(statement)
    for (const tenantId of fresh) await session.run(revokeTenant(db, tenantId, syncedAt))
    for (const found of list.findings)
      for (const statement of quarantineStatements(
        db,
        { tenantId: tenantOf(found), resource, syncedAt },
        found.quarantine,
      ))
        await session.run(statement)
    if (reason !== 'grants_incomplete') await session.run(forgetUnseen(db, resource, syncedAt))
    const entries = []
    for (const found of list.findings)
      entries.push(...(await writeDrift(db, session, { tenantId: tenantOf(found), syncedAt }, found.drift)))
    return entries
  })
  for (const tenant_id of fresh)
    observer.warning?.('A tenant is no longer granted; its rows are kept', { tenant_id })
  if (list.isConsistent)
    observer.notice?.('The list of authorizations shows some of them twice; each counts once', {
      places: list.again.length,
    })
  if (drift.length > 0)
    observer.notice?.(
      'The API sends authorization fields that its documentation does not show: see sync_drift',
      {
        found: drift.map(({ path }) => path),
      },
    )
  const count = list.findings.reduce((sum, { quarantine }) => sum + quarantine.length, 0)
  stats.quarantinedAuthorizations += count
  if (count > 0)
    observer.warning?.('Values of authorizations could not be stored: see sync_quarantine', { count })
  return found
}

const accessIn = ({ granted, revoked }: Authorizations, tenantId: Int64): TenantAccess =>
  granted.includes(tenantId) ? 'granted' : revoked.includes(tenantId) ? 'revoked' : 'missing'

/** Requests the authorizations again: once per run and tenant that a 404 casts doubt on. */
export class AuthorizationWatch {
  readonly #asked = new Map<Int64, Promise<TenantAccess>>()

  constructor(private readonly ask: () => Promise<Authorizations>) {}

  /** One request for all of them that haven't been checked yet. */
  accessOf(tenantIds: readonly Int64[]): Promise<TenantAccess[]> {
    const unasked = tenantIds.filter((id) => !this.#asked.has(id))
    const answer = unasked.length > 0 ? this.ask() : undefined
    if (answer)
      for (const id of unasked)
        this.#asked.set(
          id,
          answer.then((authorizations) => accessIn(authorizations, id)),
        )
    return Promise.all(tenantIds.map((id) => this.#asked.get(id) ?? ('missing' as const)))
  }
}
