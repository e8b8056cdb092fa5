/*
 * The list of authorizations as the API shows it: which tenants are granted, and whether every authorization that the
 * list counts was seen. run/askauthorizations.ts uses it to decide which tenants are revoked.
 */
import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../base/errors.js'
import { isJsonObject } from '../base/jsonkind.js'
import { toJson } from '../base/printjson.js'
import { sizesUpTo } from '../list/pagesize.js'
import {
  type AuthorizationRow,
  type FlatAuthorization,
  flattenAuthorization,
} from '../model/flatten/authorization.js'
import type { Page } from '../source/source.js'
import type { Dependencies } from './runcontext.js'

/** What one or more readings of the list showed. */
export interface AuthorizationList {
  readonly rows: ReadonlyMap<Int64, AuthorizationRow>
  /** Authorizations with values that couldn't be stored as they came, or that the API documentation doesn't have. */
  readonly findings: readonly FlatAuthorization[]
  /** Authorizations that can't be told apart count as the same one, on however many pages they appear. */
  readonly ids: ReadonlySet<string>
  /** Places where the list shows an authorization again, for authorizations that appear at two places. */
  readonly again: readonly string[]
  /** Two readings agree on the duplicates: the total counts places, and `again` makes up the difference. */
  readonly isConsistent: boolean
  /** `total_count`. undefined if the pages of one reading disagreed, or a page had none. */
  readonly total: number | undefined
  /** A page had no `total_count`: nothing says whether the list showed every authorization. */
  readonly isUncounted?: true | undefined
  /** Authorizations that don't say which tenant they grant. */
  readonly unusable: number
  /** The server's `Date` on the last page, in microseconds. */
  readonly serverDate: bigint | undefined
  /** When the last of its requests was sent. */
  readonly syncedAt: string
}

type AskingAuthorizations = Pick<Dependencies, 'source' | 'signal' | 'observer'>

/** The list shows fewer authorizations than it counts. */
export const isShort = ({ ids, again, isConsistent, total, isUncounted }: AuthorizationList): boolean =>
  !isUncounted && (total === undefined || ids.size + (isConsistent ? again.length : 0) < total)

/** Every authorization that the list counts was seen; of a list that doesn't count, every one that it showed. */
export const isWhole = (list: AuthorizationList): boolean => !isShort(list) && list.unusable === 0

/**
 * Whether a tenant that no authorization names is definitely not granted. A list with duplicates can't show that: the
 * second place may be that of the missing one. Nor can a list that shows more than it counts, or doesn't count.
 */
export const saysWhoIsGranted = (list: AuthorizationList): boolean =>
  isWhole(list) && !list.isConsistent && !list.isUncounted && list.ids.size === list.total

/** Consecutive pages that show nothing new: the source answers every page, whatever it counts. */
const mostQuiet = 3

/**
 * Reads page after page; `take` returns how many authorizations of a page are new. As with every list, the pages
 * themselves show its end: `total_pages` doesn't end it, a page shorter than requested ends it only if everything
 * counted has been shown, and a full page may be followed by another. Without a count, a page that shows nothing new ends it.
 * Returns the last page.
 */
async function readPages(
  run: AskingAuthorizations,
  perPage: number,
  take: (page: Page) => number,
): Promise<Page | undefined> {
  // Places so far, consecutive pages that show nothing new, and the places per page: fewer if the source serves fewer.
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
    if (number === 1 && (page.isUncounted || page.records.length < page.total))
      size = Math.min(perPage, page.records.length)
    const isFull = page.records.length >= size
    const isAtEnd = places >= page.total && (!isFull || (isBehind && fresh === 0))
    if (page.isUncounted ? fresh === 0 : isAtEnd) break
  }
  return last
}

/** undefined if the source refuses a page after the first; some do so past the end. */
async function pageAt(run: AskingAuthorizations, number: number, perPage: number): Promise<Page | undefined> {
  try {
    return await run.source.authorizations(number, perPage, run.signal)
  } catch (error) {
    const isRefused = error instanceof Skip && (error.reason === 'absent' || error.reason === 'refused')
    if (number > 1 && isRefused) return undefined
    throw error
  }
}

async function readOnce(
  run: AskingAuthorizations,
  perPage = run.source.pageSize,
): Promise<AuthorizationList> {
  const rows = new Map<Int64, AuthorizationRow>()
  const findings = new Map<string, FlatAuthorization>()
  const ids = new Set<string>()
  const again: string[] = []
  const totals = new Set<number>()
  let [unusable, isUncounted] = [0, false]
  const take = (page: Page): number => {
    const known = ids.size
    totals.add(page.total)
    isUncounted ||= page.isUncounted === true
    const names = page.records.map(nameOf)
    // A repeat of the last page, or of the first, isn't a place in the list.
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
    total: totals.size === 1 && !isUncounted ? total : undefined,
    isUncounted: isUncounted || undefined,
    unusable,
    serverDate: last?.serverDate,
    syncedAt: last?.startedAt ?? '',
  }
}

/**
 * The id of an authorization and the tenant that it names. An authorization without an id gets a digest, so it is
 * counted once wherever it appears.
 */
function nameOf(record: unknown): string {
  const { id, tenant_id: tenant } = isJsonObject(record) ? record : {}
  if (typeof id === 'number' || typeof id === 'bigint' || (typeof id === 'string' && id !== ''))
    return `${id} ${toJson(tenant ?? null)}`
  return `?${createHash('sha256').update(toJson(record)).digest('hex').slice(0, 16)}`
}

/** What either list shows. The total is that of the later one. */
function joined(before: AuthorizationList, after: AuthorizationList): AuthorizationList {
  return {
    ...after,
    rows: new Map([...before.rows, ...after.rows]),
    ids: new Set([...before.ids, ...after.ids]),
  }
}

/**
 * Whether two readings, cut into pages at different places, show the same authorizations at as many places as are
 * counted.
 */
const areConsistent = (one: AuthorizationList, other: AuthorizationList): boolean =>
  one.again.length > 0 &&
  one.again.join() === other.again.join() &&
  one.total === other.total &&
  one.ids.size + one.again.length === one.total &&
  one.ids.size === other.ids.size &&
  [...one.ids].every((name) => other.ids.has(name))

/**
 * Reads the list. The API documentation promises no order: an authorization may appear on two pages of one reading, and
 * another on none. A list that falls short of its total is read again, and both readings count together. If both show
 * the same duplicates, the list really has them.
 */
export async function readAuthorizations(run: AskingAuthorizations): Promise<AuthorizationList> {
  const first = await readOnce(run)
  if (first.isUncounted)
    run.observer.notice?.('The list of authorizations has no total_count: no tenant is marked as revoked', {})
  if (!isShort(first)) return first
  // Pages of another size cut a list without an order in other places.
  const [, otherSize] = sizesUpTo(run.source.pageSize)
  const second = await readOnce(run, otherSize)
  if (!isShort(second)) return second
  return areConsistent(first, second) ? { ...second, isConsistent: true } : joined(first, second)
}

/**
 * Reads the list again before a tenant that it lacks counts as revoked: a tenant that either reading shows is granted.
 */
export async function readAuthorizationsAgain(
  run: AskingAuthorizations,
  before: AuthorizationList,
): Promise<AuthorizationList> {
  const after = await readAuthorizations(run)
  const rows = new Map([...before.rows, ...after.rows])
  // The first list lacking nothing proves nothing about the second.
  return { ...after, rows }
}
