/**
 * Faults that change a response: status, headers, body, page. Used by server.ts.
 */
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { pageAsked, sizeAsked } from '../http/lists.js'
import { RATE_HEADERS } from '../http/ratelimit.js'
import type { PartnerCall } from '../http/request.js'
import { type HttpResponse, httpDate, jsonResponse, notFound } from '../http/response.js'
import type { MicrosClock } from '../instant.js'
import { alterEnvelope, alterRecords, parsed } from './alteration.js'
import { type ConnectionFault, type Fault, isConnectionFault } from './rules.js'

interface FaultContext {
  readonly call: PartnerCall
  readonly answer: HttpResponse
  readonly clock: MicrosClock
  /** The response to the same request for another page. */
  readonly askPage: (page: number) => HttpResponse
  /** The response to the same request for another part of the list. */
  readonly askPart: (offset: number, size: number) => HttpResponse
}

interface Shaped {
  readonly answer: HttpResponse
  readonly fault: ConnectionFault | undefined
}

type Kind = Fault['kind']
type Of<K extends Kind> = Extract<Fault, { kind: K }>
type AnswerFaults = {
  [K in Exclude<Kind, ConnectionFault['kind']>]: (fault: Of<K>, exchange: FaultContext) => HttpResponse
}

/** Applies the faults one after the other, each to the previous result. Of the connection faults, the first counts. */
export function shape(faults: readonly Fault[], exchange: FaultContext): Shaped {
  let answer = exchange.answer
  for (const fault of faults) {
    if (!isConnectionFault(fault)) answer = applied(fault, { ...exchange, answer })
  }
  return { answer, fault: faults.find(isConnectionFault) }
}

type AnswerFault = Exclude<Fault, ConnectionFault>

function applied(fault: AnswerFault, exchange: FaultContext): HttpResponse {
  const apply = ANSWER_FAULTS[fault.kind] as (fault: AnswerFault, exchange: FaultContext) => HttpResponse
  return apply(fault, exchange)
}

function withHeaders(answer: HttpResponse, set: Readonly<Record<string, string | null>>): HttpResponse {
  const names = new Set(Object.keys(set).map((name) => name.toLowerCase()))
  const kept = Object.entries(answer.headers).filter(([name]) => !names.has(name.toLowerCase()))
  const added = Object.entries(set).filter((pair): pair is [string, string] => pair[1] !== null)
  return { ...answer, headers: Object.fromEntries([...kept, ...added]) }
}

const without = (answer: HttpResponse, names: readonly string[]): HttpResponse =>
  withHeaders(answer, Object.fromEntries(names.map((name) => [name, null])))

const typed = (answer: HttpResponse, type: string, body: string): HttpResponse => ({
  ...withHeaders(answer, { 'Content-Type': type }),
  body,
})

const HTML =
  '<!DOCTYPE html>\n<html><head><title>Just a moment</title></head><body><h1>We will be back soon</h1></body></html>\n'

const uncounted = ({
  total_count: _count,
  total_pages: _pages,
  ...found
}: Record<string, unknown>): Record<string, unknown> => found

/** A page of a different size than requested, and what comes after the end of the list. */
function pagedOtherwise(fault: Of<'paging'>, { call, answer, askPart }: FaultContext): HttpResponse {
  const { most = Number.POSITIVE_INFINITY, exact, offset, pages, beyond, claim } = fault
  const found = parsed(answer)
  if (!Array.isArray(found?.['results'])) return answer
  const total = Number(found['total_count'])
  const [page, asked] = [pageAsked(call), sizeAsked(call)]
  const size = exact ?? Math.min(asked, most)
  const step = offset === 'asked' ? asked : size
  const isBehind = page > 1 && (page - 1) * step >= total
  if (isBehind && beyond === 'refused') {
    const { status, body } = notFound().response
    return { ...answer, status, body }
  }
  const served = isBehind && beyond === 'last' ? Math.max(1, Math.ceil(total / step)) : page
  const part = parsed(askPart((served - 1) * step, size))
  return alterEnvelope(answer, () => ({
    ...part,
    current_page: claim === 'served' ? served : page,
    total_pages: Math.ceil(total / (pages === 'asked' ? asked : size)),
  }))
}

const ANSWER_FAULTS: AnswerFaults = {
  html: ({ status = 200 }, { answer }) => ({
    ...typed(answer, 'text/html; charset=utf-8', HTML),
    status,
  }),

  status: (fault, { answer, clock }) => {
    const retry: Record<string, string> = {}
    if (fault.retryAfter !== undefined) retry['Retry-After'] = String(fault.retryAfter)
    if (fault.retryAfterDate !== undefined) retry['Retry-After'] = httpDate(clock, fault.retryAfterDate)
    const body = fault.body ?? JSON.stringify({ message: `Scripted ${fault.status}` })
    const refused = { ...jsonResponse(fault.status, body), headers: { ...answer.headers, ...retry } }
    return fault.rateHeaders === false ? without(refused, RATE_HEADERS) : refused
  },

  text: ({ text }, { answer }) => ({
    ...answer,
    body: text ?? answer.body.toString().slice(0, Math.floor(answer.body.length / 2)),
  }),

  gzip: ({ how = 'garbage' }, { answer }) => {
    const whole = gzipSync(answer.body)
    const body = how === 'garbage' ? randomBytes(256) : whole.subarray(0, Math.floor(whole.length / 2))
    return { ...withHeaders(answer, { 'Content-Encoding': 'gzip' }), body }
  },

  redirect: ({ to, status = 302 }, { answer }) => ({
    ...withHeaders(answer, { Location: to }),
    status,
    body: '',
  }),

  page: ({ page, claim = 'served' }, { call, answer, askPage }) => {
    const asked = call.info.page ?? 1
    const served = page === 'previous' ? Math.max(1, asked - 1) : page === 'next' ? asked + 1 : page
    const { body, status } = askPage(served)
    const other = { ...answer, status, body }
    return claim === 'served' ? other : alterEnvelope(other, (found) => ({ ...found, current_page: asked }))
  },

  empty: (_fault, { answer }) =>
    alterEnvelope(answer, (found) => ({
      ...found,
      results: [],
      limit: 0,
      limited: false,
      total_count: 0,
      total_pages: 0,
    })),

  total: ({ by = 0, to, most, page, as, remove }, { call, answer }) =>
    alterEnvelope(answer, (found) => {
      if (remove === true) return uncounted(found)
      if (as !== undefined) return { ...found, total_count: as }
      if (page === true) return { ...found, total_count: (found['results'] as unknown[]).length }
      const total = to ?? Math.max(0, Number(found['total_count']) + by)
      if (most === undefined || total <= most) return { ...found, total_count: total }
      return { ...found, total_count: most, total_pages: Math.ceil(most / (call.info.perPage ?? 30)) }
    }),

  pages: ({ by = 0, to, floor, remove }, { call, answer }) =>
    alterEnvelope(answer, ({ total_pages: pages, ...found }) => {
      if (remove === true) return found
      const floored = Math.floor(Number(found['total_count']) / sizeAsked(call))
      return { ...found, total_pages: to ?? (floor === true ? floored : Number(pages) + by) }
    }),

  paging: (fault, exchange) => pagedOtherwise(fault, exchange),

  skew: ({ seconds }, { answer, clock }) => withHeaders(answer, { Date: httpDate(clock, seconds) }),

  rate: ({ remove, limit, remaining, reset }, { answer }) => {
    if (remove === true) return without(answer, RATE_HEADERS)
    const given = [limit, remaining, reset].map((value, index) => [RATE_HEADERS[index], value] as const)
    const set = given.filter(([, value]) => value !== undefined)
    return withHeaders(answer, Object.fromEntries(set.map(([name, value]) => [name, String(value)])))
  },

  headers: ({ set }, { answer }) => withHeaders(answer, set),

  fields: (fault, { answer }) => alterRecords(answer, fault),
  enums: (fault, { answer }) => alterRecords(answer, fault),
  alter: (fault, { answer }) => alterRecords(answer, fault),
  corrupt: (fault, { answer }) => alterRecords(answer, fault),
}
