/** The request as the parts of the sandbox see it. Used by server.ts, which makes it, and by all operations. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { isFields } from '../records/json.js'
import { NAMES_BY_PATH } from '../records/resources.js'
import type { Tenant } from '../records/tenant.js'
import { type HttpResponse, Refusal } from './response.js'

/** What a request asks for, before access is checked. Numbers that are absent or malformed are null. */
export interface RequestFacts {
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

export interface PartnerCall {
  readonly info: RequestFacts
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: string
  /** For a list: the part that is served, instead of the page that was requested. */
  readonly window?: { readonly offset: number; readonly size: number }
}

/** A call on a tenant that the partner may use. */
export interface TenantCall extends PartnerCall {
  readonly tenant: Tenant
}

/** Fastify passes a query and parameters as objects of texts. */
export type QueriedRequest = FastifyRequest<{
  Querystring: Record<string, unknown>
  Params: Record<string, string>
}>
export type Operation = (call: PartnerCall) => HttpResponse
export type TenantOperation = (call: TenantCall) => HttpResponse

const integer = (text: unknown): number | null =>
  typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : null

const TENANT_PATH = /^\/api\/v1\/tenants\/([^/]+)\/(.+?)\/?$/
const AUTHORIZATIONS_PATH = /^\/api\/v1\/partners\/[^/]+\/authorizations\/?$/

export function factsOf(n: number, { method, url, headers, query }: QueriedRequest): RequestFacts {
  const path = url.split('?', 1)[0] ?? ''
  const [, tenant, below = ''] = TENANT_PATH.exec(path) ?? []
  const after = query['updated_after']
  return {
    n,
    method,
    url,
    path,
    headers,
    tenant: integer(tenant),
    ...(AUTHORIZATIONS_PATH.test(path) ? { resource: 'authorizations', id: null } : target(below)),
    page: integer(query['page']),
    perPage: integer(query['per_page']),
    updatedAfter: typeof after === 'string' ? after : null,
  }
}

/** The resource with the longest declared path that matches, and the id after that path. */
function target(below: string): { resource: string | null; id: number | null } {
  const steps = below.split('/')
  for (let length = steps.length; length > 0; length -= 1) {
    const resource = NAMES_BY_PATH.get(steps.slice(0, length).join('/'))
    if (resource !== undefined) return { resource, id: integer(steps[length]) }
  }
  return { resource: steps[0] || null, id: integer(steps[1]) }
}

/** The object in the body. A missing body isn't JSON, even if every field is optional. */
export function bodyOf(call: PartnerCall): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(call.body)
  } catch {
    throw new Refusal(400, 'The request body is invalid JSON')
  }
  if (!isFields(value)) throw new Refusal(422, 'The request body is not a JSON object')
  return value
}
