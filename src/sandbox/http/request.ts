import type { IncomingHttpHeaders } from 'node:http'
import type { Tenant } from '../records/tenant.js'
import type { RateState } from './ratelimit.js'

/** What a request asks for, before it is judged. Numbers are null where the request has none or nonsense. */
export interface RequestInfo {
  /** 1 for the first request since the start or resetRequests(). */
  readonly n: number
  readonly method: string
  readonly url: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly tenant: number | null
  readonly resource: string | null
  readonly id: number | null
  readonly page: number | null
  readonly perPage: number | null
  readonly updatedAfter: string | null
}

export interface Call {
  readonly info: RequestInfo
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: string
}

/** A call on a tenant that the partner may use. */
export interface TenantCall extends Call {
  readonly tenant: Tenant
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

export type Operation = (call: Call) => Answer
export type TenantOperation = (call: TenantCall) => Answer

/** A refusal with the status that the document gives for it. The shape of its body is this sandbox's own. */
export class Refusal extends Error {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>

  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.fields = fields
  }

  get answer(): Answer {
    const errors = Object.keys(this.fields).length === 0 ? {} : { errors: this.fields }
    return json(this.status, JSON.stringify({ message: this.message, ...errors }))
  }
}

export const notFound = (): Refusal => new Refusal(404, 'Not found')

export function json(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers }, body }
}

const integer = (text: unknown): number | null =>
  typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : null

export interface RawRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly query: Readonly<Record<string, unknown>>
}

const TENANT_PATH = /^\/api\/v1\/tenants\/([^/]+)\/(.+?)\/?$/

export function describe(n: number, request: RawRequest): RequestInfo {
  const path = request.url.split('?', 1)[0] ?? ''
  const match = TENANT_PATH.exec(path)
  const rest = match?.[2] ?? ''
  const [first = '', second] = rest.split('/')
  const partners = /^\/api\/v1\/partners\/[^/]+\/authorizations\/?$/.test(path)
  const types = rest === 'payments/customer_payment_types'
  const after = request.query['updated_after']
  return {
    n,
    method: request.method,
    url: request.url,
    path,
    headers: request.headers,
    tenant: integer(match?.[1]),
    resource: partners ? 'authorizations' : types ? 'customer_payment_types' : first || null,
    id: integer(second),
    page: integer(request.query['page']),
    perPage: integer(request.query['per_page']),
    updatedAfter: typeof after === 'string' ? after : null,
  }
}

export function rateHeaders(state: RateState, key: string): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(state.limit),
    'X-RateLimit-Remaining': String(state.remaining),
    'X-RateLimit-Reset': String(state.reset),
    'X-Ratelimit-Matchkey': key,
  }
}
