/**
 * The source of the benchmarks: a separate process that answers list requests with nearly finished bytes, so that a
 * benchmark measures the requesting program. Arguments: how many tenants, how many repair orders each has, the dataset
 * (dataset.ts), and the rate limit and its window in seconds; all tenants have the same data. Messages from its parent
 * change records and read the count of requests (source.ts).
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Dataset, resourcesOf } from './dataset.js'
import { List } from './list.js'
import type { Command } from './source.js'

const tenants = Number(process.argv[2] ?? 1)
const orders = Number(process.argv[3] ?? 2000)
const dataset = (process.argv[4] ?? 'tidy') as Dataset
const limit = Number(process.argv[5] ?? 1_000_000)
/** The first window begins with the source, so that an hour's does not end within a short bench. */
const window = Number(process.argv[6] ?? 3600)
const begun = Math.floor(Date.now() / 1000)
let lists = new Map<string, List>(resourcesOf(dataset).map((name) => [name, List.of(name, dataset, orders)]))
let requests = 0
/** The window that is counted, and its requests. */
let counted = { windows: 0, requests: 0 }
let latency = 0

const tenantsOnPage = 100

const envelope = (results: readonly object[], total: number, page: number): Buffer => {
  const pages = Math.ceil(total / tenantsOnPage)
  const counts = { limit: results.length, total_count: total, current_page: page, total_pages: pages }
  return Buffer.from(JSON.stringify({ results, limited: results.length > 0, ...counts }))
}

/** One page of the authorizations. */
function authorizations(page: number): Buffer {
  const first = (page - 1) * tenantsOnPage + 1
  const ids = Array.from({ length: tenantsOnPage }, (_, i) => first + i).filter((id) => id <= tenants)
  const of = (id: number): object => ({
    id,
    api_partner_id: 42,
    tenant_id: id,
    writable: false,
    api_tenant_id: id,
  })
  return envelope(ids.map(of), tenants, page)
}

/** The lists of all other resources. */
const empty = envelope([], 0, 1)

/** `2026-01-01T00:00:00.123456Z` in milliseconds; Date drops fractions of a millisecond, which are added again. */
const moment = (text: string): number =>
  Date.parse(text) + Number(`0.${text.slice(23, 26).replace(/\D/g, '') || '0'}`)

function bodyOf(url: URL): Buffer {
  if (url.pathname.endsWith('/customer_payment_types')) return Buffer.from('[]')
  const number = (name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise)
  if (url.pathname.endsWith('/authorizations')) return authorizations(number('page', 1))
  const list = lists.get(url.pathname.slice(url.pathname.lastIndexOf('/') + 1))
  if (list === undefined) return empty
  const after = url.searchParams.get('updated_after')
  return list.page(
    after === null ? Number.NEGATIVE_INFINITY : moment(after),
    number('page', 1),
    number('per_page', 30),
  )
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const body = bodyOf(new URL(request.url ?? '/', 'http://source'))
  const windows = Math.floor((Date.now() / 1000 - begun) / window) + 1
  if (windows !== counted.windows) counted = { windows, requests: 0 }
  const isRefused = ++counted.requests > limit
  response.writeHead(isRefused ? 429 : 200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'private, no-store',
    'x-request-id': randomUUID(),
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': Math.max(0, limit - counted.requests),
    'x-ratelimit-reset': begun + windows * window,
    'x-ratelimit-matchkey': 'partner',
  })
  response.end(body)
}

const server = createServer((request, response) => {
  requests++
  if (latency > 0) setTimeout(() => answer(request, response), latency)
  else answer(request, response)
})

const say = (number: number): void => void process.send?.(number)
const sumOf = (rows: (list: List) => number): number =>
  tenants * [...lists.values()].reduce((sum, list) => sum + rows(list), 0)

process.on('message', ([kind, value]: Command) => {
  if (kind === 'change') say(sumOf((list) => list.change(value)))
  else if (kind === 'reset') {
    lists = new Map([...lists].map(([name, list]) => [name, list.original(dataset)]))
    say(sumOf((list) => list.rows))
  } else if (kind === 'latency') {
    latency = value
    say(latency)
  } else {
    say(requests)
    requests = 0
  }
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  say(typeof address === 'object' && address ? address.port : 0)
})
