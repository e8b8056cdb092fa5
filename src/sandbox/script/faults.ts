import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Answer, type Call, json } from '../http/request.js'
import type { Clock } from '../instant.js'
import { alterEnvelope, alterRecords } from './alteration.js'
import type { Fault, Transport } from './rules.js'

export interface Exchange {
  readonly call: Call
  readonly answer: Answer
  readonly clock: Clock
  /** What the same request would be answered for another page. */
  readonly askPage: (page: number) => Answer
}

export interface Shaped {
  readonly answer: Answer
  readonly transport: Transport | undefined
}

type Kind = Fault['kind']
type Of<K extends Kind> = Extract<Fault, { kind: K }>
type AnswerFaults = {
  [K in Exclude<Kind, Transport['kind']>]: (fault: Of<K>, exchange: Exchange) => Answer
}

const TRANSPORTS: ReadonlySet<string> = new Set<Transport['kind']>([
  'drop',
  'reset',
  'stall',
  'cut',
  'length',
  'trickle',
  'huge',
])

const isTransport = (fault: Fault): fault is Transport => TRANSPORTS.has(fault.kind)

/** Every fault in turn works on what the ones before it left; of the faults on the wire the first counts. */
export function shape(faults: readonly Fault[], exchange: Exchange): Shaped {
  let answer = exchange.answer
  for (const fault of faults) {
    if (!isTransport(fault)) answer = applied(fault, { ...exchange, answer })
  }
  return { answer, transport: faults.find(isTransport) }
}

type AnswerFault = Exclude<Fault, Transport>

function applied(fault: AnswerFault, exchange: Exchange): Answer {
  const apply = ANSWER_FAULTS[fault.kind] as (fault: AnswerFault, exchange: Exchange) => Answer
  return apply(fault, exchange)
}

const RATE = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Ratelimit-Matchkey']

function withHeaders(answer: Answer, set: Readonly<Record<string, string | null>>): Answer {
  const names = new Set(Object.keys(set).map((name) => name.toLowerCase()))
  const kept = Object.entries(answer.headers).filter(([name]) => !names.has(name.toLowerCase()))
  const added = Object.entries(set).filter((pair): pair is [string, string] => pair[1] !== null)
  return { ...answer, headers: Object.fromEntries([...kept, ...added]) }
}

const without = (answer: Answer, names: readonly string[]): Answer =>
  withHeaders(answer, Object.fromEntries(names.map((name) => [name, null])))

const typed = (answer: Answer, type: string, body: string): Answer => ({
  ...withHeaders(answer, { 'Content-Type': type }),
  body,
})

function httpDate(clock: Clock, inSeconds: number): string {
  return new Date(Number(clock.nowMicros() / 1000n) + inSeconds * 1000).toUTCString()
}

const HTML =
  '<!DOCTYPE html>\n<html><head><title>Just a moment</title></head><body><h1>We will be back soon</h1></body></html>\n'

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
    const refused = { ...json(fault.status, body), headers: { ...answer.headers, ...retry } }
    return fault.rateHeaders === false ? without(refused, RATE) : refused
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

  total: ({ by = 0, to }, { answer }) =>
    alterEnvelope(answer, (found) => ({ ...found, total_count: to ?? Number(found['total_count']) + by })),

  skew: ({ seconds }, { answer, clock }) => withHeaders(answer, { Date: httpDate(clock, seconds) }),

  rate: ({ remove, limit, remaining, reset }, { answer }) => {
    if (remove === true) return without(answer, RATE)
    const set: Record<string, string> = {}
    if (limit !== undefined) set['X-RateLimit-Limit'] = String(limit)
    if (remaining !== undefined) set['X-RateLimit-Remaining'] = String(remaining)
    if (reset !== undefined) set['X-RateLimit-Reset'] = String(reset)
    return withHeaders(answer, set)
  },

  headers: ({ set }, { answer }) => withHeaders(answer, set),

  fields: (fault, { answer }) => alterRecords(answer, fault),
  enums: (fault, { answer }) => alterRecords(answer, fault),
  alter: (fault, { answer }) => alterRecords(answer, fault),
  corrupt: (fault, { answer }) => alterRecords(answer, fault),
}
