/**
 * The routes, and the steps of every response: log, script, access, rate limit, operation, faults, delivery.
 * Used by sandbox.ts.
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { resources } from '../../../schema/index.js'
import { pathOf, RECORD_LISTS, STRING_LISTS } from '../records/resources.js'
import type { Store } from '../records/store.js'
import type { Tenant } from '../records/tenant.js'
import { shape } from '../script/faults.js'
import type { Mover } from '../script/motion.js'
import { list } from '../script/rules.js'
import type { Script } from '../script/script.js'
import { answerWrite, WRITE_ROUTES } from '../write/routes.js'
import { deliver } from './delivery.js'
import { authorizationsAnswer, itemAnswer, listAnswer } from './lists.js'
import { type RateLimit, rateHeaders } from './ratelimit.js'
import {
  factsOf,
  type Operation,
  type PartnerCall,
  type QueriedRequest,
  type RequestFacts,
  type TenantOperation,
} from './request.js'
import type { Journal } from './requestlog.js'
import { type HttpResponse, httpDate, jsonResponse, notFound, Refusal } from './response.js'
import type { Webhooks } from './webhooks.js'

interface Credentials {
  readonly partnerId: string
  readonly secret: string
}

function same(given: string | string[] | undefined, expected: string): boolean {
  if (typeof given !== 'string') return false
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function isPartner(call: PartnerCall, { partnerId, secret }: Credentials): boolean {
  const { headers } = call.info
  return same(headers['x-api-partner-id'], partnerId) && same(headers['x-api-secret'], secret)
}

/** Throws 404 for a tenant that is unknown or not granted, and 403 for a write if the tenant only granted reading. */
function grantedTenant(store: Store, call: PartnerCall): Tenant {
  const tenant = call.info.tenant === null ? undefined : store.findTenant(call.info.tenant)
  if (tenant === undefined || !tenant.granted) throw notFound()
  if (call.info.method !== 'GET' && !tenant.writable)
    throw new Refusal(403, 'This tenant has granted read access only')
  return tenant
}

export type RequestHook = (info: RequestFacts) => void | Promise<void>

export interface ServerContext {
  readonly store: Store
  readonly rate: RateLimit
  readonly credentials: Credentials
  readonly gzip: boolean
  readonly script: Script
  readonly mover: Mover
  readonly hooks: Set<RequestHook>
  readonly journal: Journal
  readonly webhooks: Webhooks
  readonly closing: AbortSignal
}

export function buildServer(context: ServerContext): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, exposeHeadRoutes: false, bodyLimit: 10_000_000 })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))

  const on = (method: string, path: string, operation: Operation): void => {
    const handler = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      serve(context, request as QueriedRequest, reply, operation)
    app.route({ method, url: path, handler })
  }
  const onTenant = (method: string, path: string, operation: TenantOperation): void =>
    on(method, `/api/v1/tenants/:tenant_id/${path}`, (call) =>
      operation({ ...call, tenant: grantedTenant(context.store, call) }),
    )

  readRoutes(context, on, onTenant)
  for (const route of WRITE_ROUTES)
    onTenant(route.method, route.path, (call) => answerWrite(route, context.store, call))
  for (const path of ['/webhooks', '/api/v1/webhooks'])
    on('POST', path, (call) => context.webhooks.configure(call))
  app.setNotFoundHandler((request, reply) =>
    serve(context, request as QueriedRequest, reply, nothingThere(context)),
  )
  return app
}

type On = (method: string, path: string, operation: Operation) => void
type OnTenant = (method: string, path: string, operation: TenantOperation) => void

function readRoutes({ store, credentials }: ServerContext, on: On, onTenant: OnTenant): void {
  on('GET', '/api/v1/partners/:partner_id/authorizations', (call) => {
    if (call.params['partner_id'] !== credentials.partnerId) throw notFound()
    return authorizationsAnswer(store, call, Number(credentials.partnerId))
  })
  for (const resource of STRING_LISTS)
    onTenant('GET', pathOf(resource), ({ tenant }) => {
      if (!store.offers(tenant, resource.name)) throw notFound()
      return jsonResponse(200, JSON.stringify(tenant.strings.get(resource.name) ?? []))
    })
  const onRecords = (path: string, nameOf: (call: PartnerCall) => string): void => {
    onTenant('GET', path, (call) => listAnswer(store, call, nameOf(call)))
    onTenant('GET', `${path}/:id`, (call) => itemAnswer(store, call, nameOf(call)))
  }
  for (const resource of RECORD_LISTS) onRecords(pathOf(resource), () => resource.name)
  onRecords(':resource', ({ params }) => registeredName(params['resource'] ?? ''))
}

/** Declared resources have their own routes; the name of one with a different path isn't a path. */
function registeredName(name: string): string {
  if (Object.hasOwn(resources, name)) throw notFound()
  return name
}

/** On a path without an operation, 401 and 403 come before 404, as on every other path. */
const nothingThere =
  ({ store }: ServerContext): Operation =>
  (call) => {
    if (call.info.tenant !== null) grantedTenant(store, call)
    throw notFound()
  }

async function serve(
  context: ServerContext,
  request: QueriedRequest,
  reply: FastifyReply,
  operation: Operation,
): Promise<FastifyReply> {
  const started = process.hrtime.bigint()
  const info = factsOf(context.journal.next(), request)
  const line = context.journal.open(info, context.store.clock)
  for (const hook of context.hooks) await hook(info)

  const call: PartnerCall = {
    info,
    params: request.params,
    query: request.query,
    body: typeof request.body === 'string' ? request.body : '',
  }
  context.mover.tick()
  const rules = context.script.firing(info)
  for (const rule of rules) context.mover.moveAll(list(rule.before), info)
  const plain = respond(context, call, operation, started, request.ip)
  const shaped = shape(
    rules.flatMap((rule) => list(rule.fault)),
    {
      call,
      answer: plain,
      clock: context.store.clock,
      askPage: (page) => judge(context, asPage(call, page), operation),
      askPart: (offset, size) => judge(context, { ...call, window: { offset, size } }, operation),
    },
  )
  for (const rule of rules) context.mover.moveAll(list(rule.after), info)
  const answer = context.gzip ? compressed(shaped.answer, request.headers['accept-encoding']) : shaped.answer
  const outcome = await deliver(reply, answer, shaped.fault, context.closing)
  line.status = outcome === 'no answer' ? null : outcome
  return reply
}

function asPage(call: PartnerCall, page: number): PartnerCall {
  return { ...call, info: { ...call.info, page } }
}

function judge(context: ServerContext, call: PartnerCall, operation: Operation): HttpResponse {
  try {
    if (!isPartner(call, context.credentials)) throw new Refusal(401, 'Credentials missing or invalid')
    return operation(call)
  } catch (error) {
    if (error instanceof Refusal) return error.response
    throw error
  }
}

function respond(
  context: ServerContext,
  call: PartnerCall,
  operation: Operation,
  started: bigint,
  ip: string,
): HttpResponse {
  const { credentials } = context
  const key = context.rate.keyOf(isPartner(call, credentials) ? credentials.partnerId : undefined, ip)
  const state = context.rate.take(key)
  const judged = state.exceeded
    ? new Refusal(429, 'Rate limit exceeded').response
    : judge(context, call, operation)
  const tag = `W/"${createHash('sha1').update(judged.body).digest('hex')}"`
  const headers = {
    ...judged.headers,
    ...rateHeaders(state, key),
    Date: httpDate(context.store.clock),
    'Cache-Control': 'private, no-store',
    ETag: tag,
    'X-Request-Id': randomUUID(),
    'X-Runtime': (Number(process.hrtime.bigint() - started) / 1e9).toFixed(6),
  }
  const unchanged =
    judged.status === 200 && call.info.method === 'GET' && call.info.headers['if-none-match'] === tag
  return unchanged ? { status: 304, headers, body: '' } : { ...judged, headers }
}

function compressed(answer: HttpResponse, accepted: string | string[] | undefined): HttpResponse {
  if (answer.headers['Content-Encoding'] !== undefined || !/\bgzip\b/.test(String(accepted ?? '')))
    return answer
  return {
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' },
    body: gzipSync(answer.body, { level: 1 }),
  }
}
