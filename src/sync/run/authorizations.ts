/*
 * The list of authorizations as the API shows it: which tenants are granted, and whether every authorization that the
 * list counts was seen. run/grants.ts judges with it which tenants are revoked.
 */
import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import type { Page } from '../../api/source.js'
import { toJson } from '../../json.js'
import {
  type AuthorizationRow,
  type FlatAuthorization,
  flattenAuthorization,
} from '../../model/flatten/authorization.js'
import type { Dependencies } from './context.js'

/** What one or more readings of the list have shown. */
export interface AuthorizationList {
  readonly rows: ReadonlyMap<Int64, AuthorizationRow>
  /** Authorizations with something that could not be stored as it came, or that the API's document does not show. */
  readonly findings: readonly FlatAuthorization[]
  /** Authorizations that cannot be told apart from others are the same one, on however many pages they stand. */
  readonly ids: ReadonlySet<string>
  /** `total_count`; undefined where the pages of one reading did not agree. */
  readonly total: number | undefined
  /** Authorizations of which nobody can tell which tenant they grant. */
  readonly unusable: number
  /** The server's `Date` of the last page, in microseconds. */
  readonly serverDate: bigint | undefined
  /** When the last of its requests was sent. */
  readonly syncedAt: string
}

export type AskingGrants = Pick<Dependencies, 'source' | 'signal' | 'observer'>

/** Every authorization that the list counts was seen: a tenant that none of them names is not granted. */
export const isWhole = ({ ids, total, unusable }: AuthorizationList): boolean =>
  total !== undefined && ids.size >= total && unusable === 0

const isShort = ({ ids, total }: AuthorizationList): boolean => total === undefined || ids.size < total

async function readOnce(deps: AskingGrants): Promise<AuthorizationList> {
  const rows = new Map<Int64, AuthorizationRow>()
  const findings = new Map<string, FlatAuthorization>()
  const ids = new Set<string>()
  const totals = new Set<number>()
  let unusable = 0
  let page: Page | undefined
  for (let number = 1; !page || number <= page.totalPages; number++) {
    page = await deps.source.authorizations(number, deps.signal)
    totals.add(page.total)
    for (const record of page.records) {
      const name = nameOf(record)
      if (ids.has(name)) continue
      ids.add(name)
      const flat = flattenAuthorization(record)
      if (flat.row) rows.set(flat.row.tenant_id, flat.row)
      else if (flat.quarantine.length > 0) unusable++
      if (flat.quarantine.length + flat.drift.length > 0) findings.set(name, flat)
      if (flat.reason !== null)
        deps.observer.notice?.('An authorization cannot be used', { reason: flat.reason })
    }
    if (page.records.length === 0) break
  }
  const [total] = totals
  return {
    rows,
    findings: [...findings.values()],
    ids,
    total: totals.size === 1 ? total : undefined,
    unusable,
    serverDate: page?.serverDate,
    syncedAt: page?.startedAt ?? '',
  }
}

/** The id of an authorization; of one without an id a digest, so that it is counted once wherever it stands. */
function nameOf(record: unknown): string {
  const id = typeof record === 'object' && record !== null && 'id' in record ? record.id : null
  if (typeof id === 'number' || typeof id === 'bigint' || (typeof id === 'string' && id !== ''))
    return String(id)
  return `?${createHash('sha256').update(toJson(record)).digest('hex').slice(0, 16)}`
}

/** What either list shows. Its total is that of the later one. */
function joined(before: AuthorizationList, after: AuthorizationList): AuthorizationList {
  return {
    ...after,
    rows: new Map([...before.rows, ...after.rows]),
    ids: new Set([...before.ids, ...after.ids]),
  }
}

/**
 * Reads the list. It has no order that the API's document promises: an authorization may stand on two pages of one
 * reading and another on none. A list that is short of its total is read again, and both readings count together.
 */
export async function readAuthorizations(deps: AskingGrants): Promise<AuthorizationList> {
  const first = await readOnce(deps)
  if (!isShort(first)) return first
  const second = await readOnce(deps)
  return isShort(second) ? joined(first, second) : second
}

/** Reads the list once more, before a tenant that it lacks counts as revoked: a tenant that one of both shows is granted. */
export async function readAuthorizationsAgain(
  deps: AskingGrants,
  before: AuthorizationList,
): Promise<AuthorizationList> {
  const after = await readAuthorizations(deps)
  const rows = new Map([...before.rows, ...after.rows])
  // A list that lacked nothing before says nothing for the one that came after.
  return { ...after, rows }
}
