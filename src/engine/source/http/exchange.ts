/**
 * One attempt at one request: waits for the throttle's permit, sends, reports the outcome to the throttle, and reads
 * the body. The error's class shows what a failure means. Used by client.ts inside the retry loop.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { Int64 } from '../../../../schema/resource.js'
import type { Clock, Stamps } from '../../base/clock.js'
import { Retry, Skip } from '../../base/errors.js'
import { fromMicros } from '../../base/timestamp.js'
import { inSpan, type SpanFacts } from '../../base/trace.js'
import type { ProxyAddress } from '../../config/proxy.js'
import type { RequestOutcome } from '../rate/budget.js'
import type { Flow } from '../rate/flow.js'
import type { Permit, Throttle } from '../rate/throttle.js'
import { concerns } from '../rate/wait.js'
import type { Priority, Reply } from '../source.js'
import { parseJson } from './exactjson.js'
import { brokenConnection, statusFailure } from './failure.js'
import { rateReport, retryAfter, serverDate, single } from './headers.js'
import type { Counter } from './traffic.js'
import type { RawReply, Transport } from './transport.js'

/** One request as it will be sent, and the names for its errors. */
export interface ApiRequest {
  readonly path: string
  readonly tenantId: Int64 | undefined
  readonly resource: string
  readonly priority: Priority
  readonly signal: AbortSignal | undefined
  /** For a list. */
  readonly page?: number | undefined
  /** The most attempts, if fewer than usual. */
  readonly attempts?: number | undefined
  /** See ListRequest. */
  readonly flow?: Flow | undefined
  /** Requests a compressed response, whatever the configuration is. */
  readonly gzip?: boolean
  /** For callers that inspect the headers themselves. */
  readonly onHeaders?: (headers: IncomingHttpHeaders) => void
}

/** One request that was sent, for the log. `path` is path and query: no host, no header. */
export interface RequestInfo {
  readonly path: string
  readonly attempt: number
  /** For a request about one tenant. */
  readonly tenant_id?: Int64 | undefined
  readonly resource: string
  /** undefined if no response came. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly ms: number
  readonly bytes: number
}

export interface ExchangeOptions {
  readonly wire: Transport
  readonly throttle: Throttle
  readonly clock: Clock
  readonly stamps: Stamps
  readonly maxBodyBytes: number
  /** The longest wait that we accept, in ms. */
  readonly maxWait: number
  readonly secret: string
  /** Where the API is: `https://HOST:PORT`. */
  readonly origin: string
  /** The proxy through which the requests go. */
  readonly via: ProxyAddress | undefined
  readonly onRequest: ((info: RequestInfo) => void) | undefined
}

/** Sends one request once and reads its response. An object is good for one `run`. */
export class Exchange {
  #outcome: RequestOutcome | undefined
  #requestId: string | undefined

  constructor(
    private readonly options: ExchangeOptions,
    private readonly call: ApiRequest,
    private readonly attempt: number,
    private readonly counter: Counter,
  ) {}

  async run<T>(read: (answer: Reply, permit: Permit) => T): Promise<T> {
    const { throttle, stamps } = this.options
    const permit = await throttle.acquire(this.call)
    this.counter.sent()
    const startedAt = fromMicros(stamps.next())
    return inSpan('request', this.#facts, async (tell) => {
      const reply = await this.#send(permit).finally(() =>
        tell({ 'http.response.status_code': this.#outcome?.status }),
      )
      if (reply.status !== 200) throw this.#refused(reply)
      await this.call.flow?.free()
      return this.#read(reply, startedAt, (answer) => read(answer, permit))
    })
  }

  /**
   * Contains neither address nor query: an address may be secret within the network, and a query says more than a trace
   * needs.
   */
  get #facts(): SpanFacts {
    const { tenantId, resource, priority, page } = this.call
    return {
      'http.request.method': 'GET',
      'http.request.resend_count': this.attempt > 1 ? this.attempt - 1 : undefined,
      'shopsync.purpose': priority,
      'shopsync.tenant_id': tenantId === undefined ? undefined : String(tenantId),
      'shopsync.resource': resource,
      'shopsync.page': page,
    }
  }

  async #send(permit: Permit): Promise<RawReply> {
    const { path, signal, gzip } = this.call
    let bytes = 0
    try {
      const onHeaders = (status: number, headers: IncomingHttpHeaders) => this.#headers(status, headers)
      const reply = await this.options.wire.get(path, signal, onHeaders, gzip)
      bytes = reply.body.length
      return reply
    } catch (error) {
      if (signal?.aborted) {
        permit.cancel()
        throw signal.reason
      }
      throw brokenConnection(this.#what, error, this.#details, this.options)
    } finally {
      permit.release(this.#outcome)
      this.#log(permit, bytes)
    }
  }

  #headers(status: number, headers: IncomingHttpHeaders): void {
    const receivedAt = this.options.throttle.now()
    this.call.onHeaders?.(headers)
    this.#requestId = this.#clean(single(headers['x-request-id']))
    this.#outcome = {
      status,
      receivedAt,
      rate: rateReport(headers),
      date: serverDate(headers),
      retryAfter: status === 429 || status >= 500 ? retryAfter(headers, receivedAt) : undefined,
    }
  }

  #read<T>(reply: RawReply, startedAt: string, read: (answer: Reply) => T): T {
    try {
      const body = readBody(reply, this.options.maxBodyBytes)
      if (body === TOO_LARGE) throw this.#tooLarge()
      const date = this.#outcome?.date
      return read({
        startedAt,
        serverDate: date === undefined ? undefined : BigInt(date) * 1000n,
        requestId: this.#requestId,
        ...body,
      })
    } catch (error) {
      if (!(error instanceof Retry)) throw error
      throw new Retry(`${this.#what}: ${error.message}`, { ...this.#details, status: reply.status })
    }
  }

  #refused(reply: RawReply): Error {
    const outcome = this.#outcome
    const isWaited =
      reply.status === 429 && outcome && concerns(outcome, this.options.maxWait) === 'everybody'
    return statusFailure(this.#what, reply.status, isWaited ? 0 : outcome?.retryAfter, this.#details)
  }

  #tooLarge(): Skip {
    return new Skip(`${this.#what}: the body is larger than ${this.options.maxBodyBytes} bytes`, {
      ...this.#details,
      reason: 'failed',
      hint: 'Ask the API operator why, or raise api.maxBodyBytes',
    })
  }

  #log(permit: Permit, bytes: number): void {
    const status = this.#outcome?.status
    const ms = this.options.throttle.now() - permit.sentAt
    this.counter.answered({ purpose: this.call.priority, status, seconds: ms / 1000 }, bytes)
    const { path, tenantId, resource } = this.call
    this.options.onRequest?.({
      tenant_id: tenantId,
      resource,
      path,
      attempt: this.attempt,
      status,
      requestId: this.#requestId,
      ms,
      bytes,
    })
  }

  get #what(): string {
    return `GET ${this.#clean(this.call.path)}`
  }

  get #details(): { resource: string; tenantId?: Int64 | undefined; requestId?: string | undefined } {
    const { tenantId, resource } = this.call
    return {
      resource,
      tenantId,
      requestId: this.#requestId,
    }
  }

  /** A server's text may be long, contain control characters, or repeat the secret that it was sent. */
  #clean(text: string | undefined): string | undefined {
    return text
      ?.replaceAll(this.options.secret, '[secret]')
      .replace(/[^\x20-\x7e]/g, '?')
      .slice(0, 200)
  }
}

/** The body is larger than the cap; another attempt wouldn't make it smaller. */
const TOO_LARGE = Symbol('too large')

/** Throws Retry if the body isn't JSON. The message names the kind of content that was found, never the content. */
function readBody(reply: RawReply, maxBytes: number): ReturnType<typeof parseJson> | typeof TOO_LARGE {
  if (reply.tooLarge) return TOO_LARGE
  const unpacked = decoded(reply, maxBytes)
  if (unpacked === TOO_LARGE) return TOO_LARGE
  const bytes = startsWithMark(unpacked) ? unpacked.subarray(3) : unpacked
  if (!isUtf8(bytes)) throw new Retry(`the body (${bytes.length} bytes) is not valid UTF-8`)
  try {
    return parseJson(bytes)
  } catch {
    const type = reply.headers['content-type']?.replace(/[^\w/.+-].*$/s, '').slice(0, 60) || 'no type'
    const begin = bytes.toString('latin1', 0, 100)
    const like = /^\s*</.test(begin) ? 'looks like HTML' : begin === '' ? 'is empty' : 'is not valid JSON'
    throw new Retry(`the body (${bytes.length} bytes of ${type}) ${like}, expected JSON`)
  }
}

function decoded(reply: RawReply, maxBytes: number): Buffer | typeof TOO_LARGE {
  const encoding = reply.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return reply.body
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Retry('the body has a content-encoding that was not requested, expected gzip or none')
  try {
    return gunzipSync(reply.body, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError) return TOO_LARGE
    throw new Retry(`the body (${reply.body.length} bytes) is not valid gzip`)
  }
}

/** The byte order mark. */
const startsWithMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
