/**
 * The responses to GET: pages of lists, single records, authorizations. Used by server.ts.
 */
import type { Micros } from '../instant.js'
import { Random } from '../random.js'
import type { Collection, StoredRecord } from '../records/collection.js'
import { decode } from '../records/json.js'
import type { Store } from '../records/store.js'
import { filtersOf, instantParameter } from './filters.js'
import type { PartnerCall, TenantCall } from './request.js'
import { type HttpResponse, jsonResponse, notFound, Refusal } from './response.js'

const DEFAULT_SIZE = 30
const MAXIMUM_SIZE = 100

interface Ask {
  readonly page: number
  readonly size: number
  /** Records before the page. */
  readonly offset: number
}

/** A value that isn't a positive integer counts as absent, a size over 100 as 100. */
export function sizeAsked({ info: { perPage } }: PartnerCall): number {
  return perPage === null || perPage < 1 ? DEFAULT_SIZE : Math.min(perPage, MAXIMUM_SIZE)
}

export const pageAsked = ({ info: { page } }: PartnerCall): number => (page === null || page < 1 ? 1 : page)

function ask(call: PartnerCall): Ask {
  const [page, size] = [pageAsked(call), sizeAsked(call)]
  return { page, size, offset: (page - 1) * size, ...call.window }
}

function envelope(texts: readonly string[], total: number, { page, size }: Ask): HttpResponse {
  const limited = size === MAXIMUM_SIZE && texts.length === MAXIMUM_SIZE && total > MAXIMUM_SIZE
  const head = `"limit":${texts.length},"limited":${limited},"total_count":${total}`
  const tail = `"current_page":${page},"total_pages":${Math.ceil(total / size)}`
  return jsonResponse(200, `{"results":[${texts.join(',')}],${head},${tail}}`)
}

function updatedAfter(call: PartnerCall): Micros | undefined {
  const value = call.query['updated_after']
  if (typeof value !== 'string' || value === '') return undefined
  return instantParameter('updated_after', value)
}

export function listAnswer(store: Store, call: TenantCall, resource: string): HttpResponse {
  if (!store.offers(call.tenant, resource)) throw notFound()
  const wanted = ask(call)
  const { offset } = wanted
  const after = updatedAfter(call)
  const collection = call.tenant.collection(resource)
  const random = new Random(call.info.n)
  const shuffle = store.shuffleTies ? () => random.next() : undefined
  const newest = (from: number, count: number) => collection.newest(from, count, shuffle)
  const filters = filtersOf(call, store, resource)

  if (filters.length > 0) {
    const size = after === undefined ? collection.size : collection.countAfter(after)
    const range = after === undefined ? collection.scattered(0, size) : newest(0, size)
    const found = range.filter(({ text }) => {
      const record = decode(text)
      return filters.every((matches) => matches(record))
    })
    return envelope(print(store, found.slice(offset, offset + wanted.size)), found.length, wanted)
  }
  if (after === undefined) {
    const { odd, size } = collection
    const found =
      odd.archived.size > 0 ? collection.scattered(0, size).filter((one) => odd.lists(one)) : undefined
    const page = found?.slice(offset, offset + wanted.size) ?? collection.scattered(offset, wanted.size)
    return envelope(print(store, page), found?.length ?? size, wanted)
  }
  const total = collection.countAfter(after)
  if (collection.odd.areAny) return oddAnswer(store, collection, newest(0, total), wanted)
  const count = Math.max(0, Math.min(wanted.size, total - offset))
  return envelope(count === 0 ? [] : print(store, newest(offset, count)), total, wanted)
}

const broken = (): Refusal => new Refusal(500, 'Internal server error')

function oddAnswer(
  store: Store,
  { odd }: Collection,
  entries: readonly StoredRecord[],
  wanted: Ask,
): HttpResponse {
  const places = odd.arranged(entries)
  const { offset } = wanted
  const page = places.slice(offset, offset + wanted.size)
  if (odd.breaks(page)) throw broken()
  return envelope(print(store, odd.shown(page)), places.length, wanted)
}

const print = (store: Store, entries: readonly StoredRecord[]): string[] =>
  entries.map((entry) => store.print(entry))

export function itemAnswer(store: Store, call: TenantCall, resource: string): HttpResponse {
  const collection = call.tenant.collection(resource)
  const entry =
    store.offers(call.tenant, resource) && call.info.id !== null ? collection.get(call.info.id) : undefined
  if (entry === undefined) throw notFound()
  if (collection.odd.breaks([entry])) throw broken()
  return jsonResponse(200, store.print(entry))
}

/**
 * Authorizations have no updated_at: their list ignores updated_after, and all of them are ties when ties are shuffled.
 */
export function authorizationsAnswer(store: Store, call: PartnerCall, partner: number): HttpResponse {
  const wanted = ask(call)
  const { offset } = wanted
  const { granted } = store
  const shown = store.shuffleTies ? new Random(call.info.n).sample(granted, granted.length) : granted
  const texts = shown.map((tenant) =>
    JSON.stringify({
      id: 5000 + tenant.id,
      api_partner_id: partner,
      tenant_id: tenant.id,
      writable: tenant.writable,
      api_tenant_id: 90_000 + tenant.id,
    }),
  )
  return envelope(texts.slice(offset, offset + wanted.size), texts.length, wanted)
}
