/*
 * The list of authorizations as the API shows it: which tenants are granted, and whether every authorization that the
 * list counts was seen. run/askauthorizations.ts judges with it which tenants are revoked.
 */
import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../base/errors.js'
import { toJson } from '../base/printjson.js'
import {
  type AuthorizationRow,
  type FlatAuthorization,
  flattenAuthorization,
} from '../model/flatten/authorization.js'
import { isJsonObject } from '../source/http/envelope.js'
import type { Page } from '../source/source.js'
import type { Dependencies } from './runcontext.js'

/** What one or more readings of the list have shown. */
export interface AuthorizationList {
  readonly rows: ReadonlyMap<Int64, AuthorizationRow>
  /** Authorizations with something that could not be stored as it came, or that the API's document does not show. */
  readonly findings: readonly FlatAuthorization[]
  /** Authorizations that cannot be told apart from others are the same one, on however many pages they stand. */
  readonly ids: ReadonlySet<string>
  /** Places at which the list shows an authorization again; each authorization at two of them. */
  readonly again: readonly string[]
  /** Two readings agree on what stands twice: the total counts places, and `again` makes up for what it lacks. */
  readonly isConsistent: boolean
  /** `total_count`; undefined where the pages of one reading did not agree. */
  readonly total: number | undefined
  /** Authorizations of which nobody can tell which tenant they grant. */
  readonly unusable: number
  /** The server's `Date` of the last page, in microseconds. */
  readonly serverDate: bigint | undefined
  /** When the last of its requests was sent. */
  readonly syncedAt: string
}

export type AskingAuthorizations = Pick<Dependencies, 'source' | 'signal' | 'observer'>

/** The list shows fewer authorizations than it counts. */
export const isShort = ({ ids, again, isConsistent, total }: AuthorizationList): boolean =>
  total === undefined || ids.size + (isConsistent ? again.length : 0) < total

/** Every authorization that the list counts was seen. */
export const isWhole = (list: AuthorizationList): boolean => !isShort(list) && list.unusable === 0

/**
 * A tenant that none of the authorizations names is not granted. A list that shows one twice never says so: whether the
 * second place is that of the missing one, nobody can tell. Nor does one that shows more than it counts.
 */
export const saysWhoIsGranted = (list: AuthorizationList): boolean =>
  isWhole(list) && !list.isConsistent && list.ids.size === list.total

/** Records of a page; another size cuts a list without an order at another place. */
const pageSize = 100
const otherPageSize = 97

/** Pages in a row that show nothing new: the source answers every page, whatever it counts. */
const mostQuiet = 3

/**
 * Reads page after page; `take` returns how many authorizations of a page are new. The list ends as every list does, with
 * its pages: `total_pages` does not end it, a page that is shorter than asked only where all are shown that are counted,
 * and behind a full page there may be another. Returns the last page.
 */
async function readPages(
  run: AskingAuthorizations,
  perPage: number,
  take: (page: Page) => number,
): Promise<Page | undefined> {
  // Places so far, pages in a row that show nothing new, and the places of a page: fewer where the source serves fewer.
  let [places, quiet, size] = [0, 0, perPage]
  let last: Page | undefined
  for (let number = 1; quiet < mostQuiet; number++) {
    const page = await pageAt(run, number, size)
    if (!page || (page.records.length === 0 && number > 1)) break
    last = page
    const fresh = take(page)
    const isBehind = places >= page.total
    places += page.records.length
    quiet = fresh === 0 ? quiet + 1 : 0
    if (number === 1 && page.records.length < page.total) size = Math.min(perPage, page.records.length)
    const isFull = page.records.length >= size
    if (places >= page.total && (!isFull || (isBehind && fresh === 0))) break
  }
  return last
}

/** undefined where the source refuses a page behind the first: some do so behind the end. */
async function pageAt(run: AskingAuthorizations, number: number, perPage: number): Promise<Page | undefined> {
  try {
    return await run.source.authorizations(number, run.signal, perPage)
  } catch (error) {
    const isRefused = error instanceof Skip && (error.reason === 'absent' || error.reason === 'refused')
    if (number > 1 && isRefused) return undefined
    throw error
  }
}

async function readOnce(run: AskingAuthorizations, perPage = pageSize): Promise<AuthorizationList> {
  const rows = new Map<Int64, AuthorizationRow>()
  const findings = new Map<string, FlatAuthorization>()
  const ids = new Set<string>()
  const again: string[] = []
  const totals = new Set<number>()
  let unusable = 0
  const take = (page: Page): number => {
    const known = ids.size
    totals.add(page.total)
    const names = page.records.map(nameOf)
    // The last page again, or the first, is no place of the list.
    const isShownAgain = known >= page.total && names.every((name) => ids.has(name))
    for (const [i, record] of page.records.entries()) {
      const name = names[i] ?? ''
      if (ids.has(name)) {
        if (!isShownAgain) again.push(name)
        continue
      }
      ids.add(name)
      const flat = flattenAuthorization(record)
      if (flat.row) rows.set(flat.row.tenant_id, flat.row)
      else if (flat.quarantine.length > 0) unusable++
      if (flat.quarantine.length + flat.drift.length > 0) findings.set(name, flat)
      if (flat.reason !== null)
        run.observer.warning?.('An authorization cannot be used', { reason: flat.reason })
    }
    return ids.size - known
  }
  const last = await readPages(run, perPage, take)
  const [total] = totals
  return {
    rows,
    findings: [...findings.values()],
    ids,
    again: again.sort(),
    isConsistent: false,
    total: totals.size === 1 ? total : undefined,
    unusable,
    serverDate: last?.serverDate,
    syncedAt: last?.startedAt ?? '',
  }
}

/**
 * The id of an authorization and the tenant that it names; of one without an id a digest, so that it is counted once
 * wherever it stands.
 */
function nameOf(record: unknown): string {
  const { id, tenant_id: tenant } = isJsonObject(record) ? record : {}
  if (typeof id === 'number' || typeof id === 'bigint' || (typeof id === 'string' && id !== ''))
    return `${id} ${toJson(tenant ?? null)}`
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

/** Whether two readings, cut into pages at different places, show the same authorizations at as many places as are counted. */
const areConsistent = (one: AuthorizationList, other: AuthorizationList): boolean =>
  one.again.length > 0 &&
  one.again.join() === other.again.join() &&
  one.total === other.total &&
  one.ids.size + one.again.length === one.total &&
  one.ids.size === other.ids.size &&
  [...one.ids].every((name) => other.ids.has(name))

/**
 * Reads the list. It has no order that the API's document promises: an authorization may stand on two pages of one
 * reading and another on none. A list that is short of its total is read again, and both readings count together.
 * Where both show the same ones twice, the list does so for good.
 */
export async function readAuthorizations(run: AskingAuthorizations): Promise<AuthorizationList> {
  const first = await readOnce(run)
  if (!isShort(first)) return first
  const second = await readOnce(run, otherPageSize)
  if (!isShort(second)) return second
  return areConsistent(first, second) ? { ...second, isConsistent: true } : joined(first, second)
}

/** Reads the list once more, before a tenant that it lacks counts as revoked: a tenant that one of both shows is granted. */
export async function readAuthorizationsAgain(
  run: AskingAuthorizations,
  before: AuthorizationList,
): Promise<AuthorizationList> {
  const after = await readAuthorizations(run)
  const rows = new Map([...before.rows, ...after.rows])
  // A list that lacked nothing before says nothing for the one that came after.
  return { ...after, rows }
}
