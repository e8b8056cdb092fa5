/**
 * The API over HTTP: builds the requests, and makes a Source from retry, throttle and exchange. Used by the command
 * line, which creates one per run.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Stamps } from '../base/clock.js'
import { Retry, Skip } from '../base/errors.js'
import { kindOf } from '../base/jsonkind.js'
import type { Config } from '../config/config.js'
import type { ProxyAddress } from '../config/proxy.js'
import { type SourceAddress, sourceAddress } from '../config/sourceaddress.js'
import { AcceptedPage } from './http/envelope.js'
import { type ApiRequest, Exchange, type ExchangeOptions, type RequestInfo } from './http/exchange.js'
import { rateReport, serverDate, single } from './http/headers.js'
import { type RetryInfo, type RetryLoop, withRetry } from './http/retry.js'
import { Counter } from './http/traffic.js'
import { checkCredential, parseTarget, Transport } from './http/transport.js'
import type { WindowSharing } from './rate/siblings.js'
import { type Permit, Throttle } from './rate/throttle.js'
import { usualMaxWait, type WaitNotice } from './rate/wait.js'
import type {
  ItemRequest,
  ListRequest,
  Page,
  PlainRequest,
  Reply,
  Shown,
  Source,
  SourceStats,
  SourceTraffic,
} from './source.js'

export interface SourceOptions {
  /** If it has a path, that goes in front of `api/v1`. */
  readonly baseUrl: string
  readonly partnerId: string
  readonly secret: string
  /** Allows plain http to hosts other than loopback. */
  readonly allowInsecure?: boolean
  /** Opens tunnels to the API. */
  readonly proxy?: ProxyAddress | undefined
  readonly timeouts: Config['api']['timeouts']
  /** The largest body after decompression; default 64 MiB. */
  readonly maxBodyBytes?: number
  /** The most records to request at once; default 100. */
  readonly pageSize?: number
  /** The most requests in flight; default 16. */
  readonly connections?: number
  readonly rateReserve: number
  readonly clock: Clock
  readonly stamps: Stamps
  readonly userAgent: string
  readonly gzip: boolean
  readonly retry: Partial<Config['api']['retry']>
  readonly random?: () => number
  /** The longest wait that we accept, in ms; default: one hour. */
  readonly maxWait?: number
  /** The processes that share the rate limit's windows with this one. Absent: there are none. */
  readonly sharing?: WindowSharing | undefined
  /** Called for every wait of more than a minute. */
  readonly onWait?: (wait: WaitNotice) => void
  readonly onRetry?: (info: RetryInfo) => void
  readonly onRequest?: (info: RequestInfo) => void
}

/** As the API documents it. */
const mostPerPage = 100

/** Can only send GET, and only to the host of `baseUrl`. */
export function createSource(options: SourceOptions): Source {
  const target = parseTarget(options.baseUrl, options.allowInsecure ?? false)
  const connections = options.connections ?? 16
  const maxBodyBytes = options.maxBodyBytes ?? 64 * 1024 * 1024
  const headers = {
    'x-api-partner-id': checkCredential('api.partnerId', options.partnerId),
    'x-api-secret': checkCredential('api.secret', options.secret),
    accept: 'application/json',
    'user-agent': options.userAgent,
    ...(options.gzip && { 'accept-encoding': 'gzip' }),
  }
  const wire = new Transport({
    origin: target.origin,
    headers,
    proxy: options.proxy?.url,
    timeouts: options.timeouts,
    connections,
    maxBodyBytes,
  })
  const { clock, stamps, secret, rateReserve, random = Math.random, onRequest, onRetry, onWait } = options
  const { maxWait = usualMaxWait } = options
  const bounds = { attempts: 6, baseMs: 500, maxMs: 30_000, ...options.retry }
  const throttle = new Throttle({
    clock,
    connections,
    rateReserve,
    random,
    pause: bounds,
    maxWait,
    onWait,
    sharing: options.sharing,
  })
  const exchange = {
    wire,
    throttle,
    clock,
    stamps,
    maxBodyBytes,
    maxWait,
    secret,
    origin: target.origin,
    via: options.proxy,
    onRequest,
  }
  const retry = {
    options: bounds,
    clock,
    random,
    maxWait,
    onWait,
    onRetry: onRetry ?? (() => {}),
  }
  return new HttpSource(
    {
      address: sourceAddress(options),
      pageSize: options.pageSize ?? mostPerPage,
      prefix: target.prefix,
      exchange,
      retry,
    },
    new Counter(),
  )
}

class HttpSource implements Source {
  readonly #waitedBefore: number

  constructor(
    /** What all sources share that are split off from one. */
    private readonly shared: {
      readonly address: SourceAddress
      readonly pageSize: number
      readonly prefix: string
      readonly exchange: ExchangeOptions
      readonly retry: Omit<RetryLoop, 'signal' | 'who'>
    },
    private readonly counter: Counter,
  ) {
    this.#waitedBefore = shared.exchange.throttle.waited()
  }

  get address(): SourceAddress {
    return this.shared.address
  }

  get pageSize(): number {
    return this.shared.pageSize
  }

  list(request: ListRequest): Promise<Page> {
    return this.take(request, (page) => page)
  }

  take<T>(request: ListRequest, make: (page: Page) => T): Promise<T> {
    const { updatedAfter, page, perPage } = request
    const filter = updatedAfter === '' ? '' : `updated_after=${encodeURIComponent(updatedAfter)}&`
    const query = `${filter}page=${page}&per_page=${perPage}`
    const { attempts, flow, isCounted = false } = request
    const call = { ...this.#call(request, '', query), attempts, flow, page }
    return this.#page(call, { page, perPage, isCounted }, make)
  }

  async item(request: ItemRequest): Promise<Reply | undefined> {
    try {
      const call = this.#call(request, `/${request.id}`, '')
      return await this.#ask(call, (reply) => reply)
    } catch (error) {
      const isGone = error instanceof Skip && (error.reason === 'absent' || error.details.status === 410)
      if (isGone) return undefined
      throw error
    }
  }

  strings(request: Omit<ItemRequest, 'id'>): Promise<Reply<readonly unknown[]>> {
    return this.#ask(this.#call(request, '', ''), ({ value, ...answer }) => {
      if (!Array.isArray(value)) throw new Retry(`found ${kindOf(value)}, expected a JSON array`)
      return { ...answer, value }
    })
  }

  authorizations(page: number, perPage: number, signal?: AbortSignal): Promise<Page> {
    const { partnerId } = this.address
    const call: ApiRequest = {
      path: this.#url(
        `partners/${encodeURIComponent(partnerId)}/authorizations`,
        `page=${page}&per_page=${perPage}`,
      ),
      tenantId: undefined,
      resource: 'authorizations',
      priority: 'lookup',
      signal,
    }
    return this.#page(call, { page, perPage }, (answer) => answer)
  }

  ask(question: PlainRequest): Promise<Shown> {
    const { id, query = {}, gzip = false } = question
    const text = new URLSearchParams(query)
    const call = this.#call(
      { ...question, priority: 'lookup' },
      id === undefined ? '' : `/${id}`,
      String(text),
    )
    return showAnswer({ ...call, gzip }, (asked) => this.#ask(asked, ({ value }) => value))
  }

  stats(): SourceStats & SourceTraffic {
    const { requests, retries, rateLimited, bytes, traffic } = this.counter
    const { throttle } = this.shared.exchange
    const waited = throttle.waited() - this.#waitedBefore
    const clocks = { serverTime: throttle.serverTime(), window: throttle.window() }
    const { isWaiting } = throttle
    return { requests, retries, rateLimited, bytes, traffic, waited, isWaiting, ...clocks }
  }

  tagged(): Source {
    return new HttpSource(this.shared, this.counter.child())
  }

  async close(): Promise<void> {
    this.shared.exchange.throttle.close()
    await this.shared.exchange.wire.close()
  }

  #call(request: Omit<ItemRequest, 'id'>, suffix: string, query: string): ApiRequest {
    const { tenantId, path, priority, signal } = request
    const below = path.split('/').map(encodeURIComponent).join('/')
    return {
      path: this.#url(`tenants/${tenantId}/${below}${suffix}`, query),
      tenantId,
      resource: path,
      priority,
      signal,
    }
  }

  #url(path: string, query: string): string {
    return `${this.shared.prefix}/api/v1/${path}${query && `?${query}`}`
  }

  /**
   * What is made from a page doesn't concern the source: it is made once the response was accepted, and the page isn't
   * requested again for it.
   */
  async #page<T>(
    call: ApiRequest,
    asked: Pick<ListRequest, 'page' | 'perPage' | 'isCounted'>,
    make: (page: Page) => T,
  ): Promise<T> {
    const [accepted, permit] = await this.#ask(
      call,
      (answer, granted) => [new AcceptedPage(answer, asked), granted] as const,
    )
    const made = accepted.make(make)
    call.flow?.ready({ ...permit, now: this.shared.exchange.throttle.now() })
    return made
  }

  #ask<T>(call: ApiRequest, read: (answer: Reply, permit: Permit) => T): Promise<T> {
    const { exchange, retry } = this.shared
    const onRetry = (info: RetryInfo): void => {
      this.counter.retried()
      retry.onRetry({ ...info, ...placeOf(call) })
    }
    const attempts = Math.min(retry.options.attempts, call.attempts ?? retry.options.attempts)
    const loop = {
      ...retry,
      options: { ...retry.options, attempts },
      onRetry,
      who: whoOf(call),
      signal: call.signal,
    }
    return withRetry(loop, (attempt) => new Exchange(exchange, call, attempt, this.counter).run(read))
  }
}

/** Which tenant a log line is about. */
const placeOf = ({ tenantId, resource }: ApiRequest) => ({ tenant_id: tenantId, resource })

/** Who sends a request, for people. */
const whoOf = ({ tenantId, resource }: ApiRequest): string =>
  tenantId === undefined ? `the list of ${resource}` : `tenant ${tenantId}, ${resource}`

/** Sends the request through `send` and returns what came, including a refusal, which is a failure everywhere else. */
async function showAnswer(call: ApiRequest, send: (call: ApiRequest) => Promise<unknown>): Promise<Shown> {
  let headers: IncomingHttpHeaders = {}
  const onHeaders = (found: IncomingHttpHeaders): void => {
    headers = found
  }
  const shown = (status: number, value: unknown): Shown => {
    const date = serverDate(headers)
    return {
      status,
      value,
      etag: single(headers.etag),
      date: date === undefined ? undefined : BigInt(date) * 1000n,
      encoding: single(headers['content-encoding']),
      hasRate: rateReport(headers)?.reset !== undefined,
    }
  }
  try {
    return shown(200, await send({ ...call, onHeaders }))
  } catch (error) {
    if (!(error instanceof Skip) || error.reason === 'failed' || error.details.status === undefined)
      throw error
    return shown(error.details.status, undefined)
  }
}
