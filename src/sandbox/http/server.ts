import { createHash, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Store } from '../records/store.js'
import { shape } from '../script/faults.js'
import type { Mover } from '../script/motion.js'
import { list } from '../script/rules.js'
import type { Script } from '../script/script.js'
import { writesOf } from '../write/routes.js'
import { type Credentials, grantedTenant, isPartner } from './access.js'
import { deliver } from './delivery.js'
import { authorizationsAnswer, itemAnswer, listAnswer } from './lists.js'
import type { RateLimit } from './ratelimit.js'
import {
  type Answer,
  type Call,
  describe,
  json,
  notFound,
  type Operation,
  Refusal,
  type RequestInfo,
  rateHeaders,
  type TenantOperation,
} from './request.js'
import type { Journal } from './requestlog.js'
import type { Webhooks } from './webhooks.js'

export type RequestHook = (info: RequestInfo) => void | Promise<void>

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
    app.route({
      method,
      url: path,
      handler: (request, reply) => serve(context, request, reply, operation),
    })
  }
  const onTenant = (method: string, path: string, operation: TenantOperation): void =>
    on(method, `/api/v1/tenants/:tenant_id/${path}`, (call) =>
      operation({ ...call, tenant: grantedTenant(context.store, call) }),
    )

  readRoutes(context, on, onTenant)
  for (const { method, path, operation } of writesOf(context.store)) onTenant(method, path, operation)
  for (const path of ['/webhooks', '/api/v1/webhooks'])
    on('POST', path, (call) => context.webhooks.configure(call))
  app.setNotFoundHandler((request, reply) => serve(context, request, reply, nothingThere(context)))
  return app
}

type On = (method: string, path: string, operation: Operation) => void
type OnTenant = (method: string, path: string, operation: TenantOperation) => void

function readRoutes({ store, credentials }: ServerContext, on: On, onTenant: OnTenant): void {
  on('GET', '/api/v1/partners/:partner_id/authorizations', (call) => {
    if (call.params['partner_id'] !== credentials.partnerId) throw notFound()
    return authorizationsAnswer(store, call, Number(credentials.partnerId))
  })
  onTenant('GET', 'payments/customer_payment_types', ({ tenant }) => {
    if (!store.offers(tenant, 'payments')) throw notFound()
    return json(200, JSON.stringify(tenant.paymentTypes))
  })
  onTenant('GET', ':resource', (call) => listAnswer(store, call, call.params['resource'] ?? ''))
  onTenant('GET', ':resource/:id', (call) => itemAnswer(store, call, call.params['resource'] ?? ''))
}

/** A path without an operation is judged like any other request first: 401 and 403 come before 404. */
const nothingThere =
  ({ store }: ServerContext): Operation =>
  (call) => {
    if (call.info.tenant !== null) grantedTenant(store, call)
    throw notFound()
  }

async function serve(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
): Promise<FastifyReply> {
  const started = process.hrtime.bigint()
  const query = request.query as Record<string, unknown>
  const { method, url, headers } = request
  const info = describe(context.journal.next(), { method, url, headers, query })
  const line = context.journal.open(info, context.store.clock)
  for (const hook of context.hooks) await hook(info)

  const call: Call = {
    info,
    params: request.params as Record<string, string>,
    query,
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
    },
  )
  for (const rule of rules) context.mover.moveAll(list(rule.after), info)
  const answer = context.gzip ? compressed(shaped.answer, headers['accept-encoding']) : shaped.answer
  const outcome = await deliver(reply, answer, shaped.transport, context.closing)
  line.status = outcome === 'no answer' ? null : outcome
  return reply
}

function asPage(call: Call, page: number): Call {
  return { ...call, info: { ...call.info, page } }
}

function judge(context: ServerContext, call: Call, operation: Operation): Answer {
  try {
    if (!isPartner(call, context.credentials)) throw new Refusal(401, 'Credentials missing or invalid')
    return operation(call)
  } catch (error) {
    if (error instanceof Refusal) return error.answer
    throw error
  }
}

function respond(
  context: ServerContext,
  call: Call,
  operation: Operation,
  started: bigint,
  ip: string,
): Answer {
  const key = isPartner(call, context.credentials) ? context.credentials.partnerId : ip
  const state = context.rate.take(key)
  const judged = state.exceeded
    ? new Refusal(429, 'Rate limit exceeded').answer
    : judge(context, call, operation)
  const tag = `W/"${createHash('sha1').update(judged.body).digest('hex')}"`
  const headers = {
    ...judged.headers,
    ...rateHeaders(state, key),
    Date: new Date(Number(context.store.clock.nowMicros() / 1000n)).toUTCString(),
    'Cache-Control': 'private, no-store',
    ETag: tag,
    'X-Request-Id': randomUUID(),
    'X-Runtime': (Number(process.hrtime.bigint() - started) / 1e9).toFixed(6),
  }
  const unchanged =
    judged.status === 200 && call.info.method === 'GET' && call.info.headers['if-none-match'] === tag
  return unchanged ? { status: 304, headers, body: '' } : { ...judged, headers }
}

function compressed(answer: Answer, accepted: string | string[] | undefined): Answer {
  if (answer.headers['Content-Encoding'] !== undefined || !/\bgzip\b/.test(String(accepted ?? '')))
    return answer
  return {
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' },
    body: gzipSync(answer.body, { level: 1 }),
  }
}
