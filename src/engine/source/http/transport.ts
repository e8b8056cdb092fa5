/**
 * Sends a GET over undici's connections and reads the whole response, with limits on time and size. Used by
 * exchange.ts; knows about neither JSON nor retries.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { outsideCode, Stop } from '../../base/errors.js'
import type { Config } from '../../config/config.js'
import { isHeaderValue, type Secret } from '../../config/secret.js'
import { markProxy } from './failure.js'
import { loadUndici } from './undici.js'

/** One HTTP response, read to its end. The body of a response other than 200 is discarded. */
export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** As the server sent it, compressed or not. */
  readonly body: Buffer
  /** The body was larger than the cap, so reading stopped there. */
  readonly tooLarge: boolean
}

/** Called when the status and headers have arrived, before the body: the throttle doesn't need to wait for the body. */
type OnHeaders = (status: number, headers: IncomingHttpHeaders) => void

/** How many bytes of an unwanted body are read to keep the connection. A longer body ends the connection. */
const DRAIN_BYTES = 256 * 1024

const EMPTY = Buffer.alloc(0)

/** The connections to one host. Can only send GET. */
export class Transport {
  #pool: Promise<Dispatcher> | undefined

  constructor(
    private readonly options: {
      readonly origin: string
      /** Address of the proxy that opens tunnels to it. */
      readonly proxy?: Secret | undefined
      readonly headers: Readonly<Record<string, string>>
      readonly timeouts: Config['api']['timeouts']
      readonly connections: number
      readonly maxBodyBytes: number
    },
  ) {}

  /** `gzip`: requests a compressed response, whatever the options are. */
  async get(
    path: string,
    signal: AbortSignal | undefined,
    onHeaders: OnHeaders,
    gzip = false,
  ): Promise<RawReply> {
    this.#pool ??= this.#open()
    const pool = await this.#pool
    signal?.throwIfAborted()
    const deadline = { signal, milliseconds: this.options.timeouts.request }
    return inTime(deadline, (inner) => this.#request(pool, { path, gzip }, inner, onHeaders))
  }

  async close(): Promise<void> {
    await (await this.#pool?.catch(() => undefined))?.destroy()
  }

  async #request(
    pool: Dispatcher,
    { path, gzip }: { readonly path: string; readonly gzip: boolean },
    signal: AbortSignal,
    onHeaders: OnHeaders,
  ): Promise<RawReply> {
    const { origin, headers: sent, timeouts, maxBodyBytes } = this.options
    const { statusCode, headers, body } = await pool.request({
      origin,
      path,
      method: 'GET',
      headers: gzip ? { ...sent, 'accept-encoding': 'gzip' } : sent,
      headersTimeout: timeouts.headers,
      bodyTimeout: timeouts.body,
      signal,
    })
    onHeaders(statusCode, headers)
    const reply = { status: statusCode, headers, body: EMPTY, tooLarge: false }
    if (statusCode !== 200) {
      // A refusal is a refusal even if its body, which isn't used, breaks off.
      await body.dump({ limit: DRAIN_BYTES })
      return reply
    }
    if (Number(headers['content-length']) > maxBodyBytes) {
      body.on('error', () => {}).destroy()
      return { ...reply, tooLarge: true }
    }
    try {
      return { ...reply, body: Buffer.from(await body.arrayBuffer()) }
    } catch (error) {
      if (outsideCode(error) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return { ...reply, tooLarge: true }
      throw error
    }
  }

  async #open(): Promise<Dispatcher> {
    const { buildConnector, Pool, ProxyAgent } = await loadUndici()
    const { origin, proxy, connections, timeouts, maxBodyBytes } = this.options
    const options = { connections, pipelining: 1, maxResponseSize: maxBodyBytes }
    const connect = { timeout: timeouts.connect }
    if (!proxy) return new Pool(origin, { ...options, connect })
    const login = loginOf(proxy.reveal())
    const open = buildConnector(connect)
    const toProxy: typeof open = (where, done) =>
      open(where, (...opened) => {
        if (opened[0]) markProxy(opened[0])
        done(...opened)
      })
    return new ProxyAgent({
      ...options,
      uri: proxy.reveal(),
      // Plain http also goes through a tunnel, so the proxy sees no request.
      proxyTunnel: true,
      proxyTls: connect,
      requestTls: connect,
      // A proxy that doesn't open the tunnel is treated like a host that doesn't accept the connection.
      clientFactory: (url) =>
        new Pool(url, { connections, connect: toProxy, headersTimeout: timeouts.connect }),
      ...(login !== undefined && { token: login }),
    })
  }
}

/** The credentials in a proxy's address, as a header value: undici leaves out a user without a password. */
function loginOf(url: string): string | undefined {
  const { username, password } = new URL(url)
  if (username === '' && password === '') return undefined
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

/**
 * Rejects as soon as the signal aborts or the time is up: undici notices an abort only once the connection is
 * established.
 */
function inTime<T>(
  { signal, milliseconds }: { readonly signal: AbortSignal | undefined; readonly milliseconds: number },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  return new Promise((resolve, reject) => {
    const end = (reason: unknown): void => {
      inner.abort(reason)
      reject(reason)
    }
    const abort = (): void => end(signal?.reason)
    const late = (): void =>
      end(Object.assign(new Error('The answer did not end in time'), { code: 'REQUEST_DEADLINE' }))
    const timer = setTimeout(late, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
    work(inner.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      })
  })
}

/** The address of all requests, checked once, so no request can leave the configured host. */
export function parseTarget(
  baseUrl: string,
  allowInsecure: boolean,
): {
  readonly origin: string
  /** The path of the base URL, without a trailing slash. */
  readonly prefix: string
} {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username || url.password)
    throw refused(
      'The API base URL is not usable',
      'Set api.baseUrl to an address like https://api.example.com',
    )
  if (url.search || url.hash)
    throw refused('The API base URL has a query or fragment', 'Set api.baseUrl without ? and #')
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname))
    throw refused(
      `Plain http to ${url.host} would send the secret in clear text`,
      'Use https in api.baseUrl, or set api.allowInsecure to true',
    )
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** A value that is allowed in a header. The message never contains it. */
export function checkCredential(name: string, value: string): string {
  if (isHeaderValue(value)) return value
  const found =
    value === '' ? 'is empty' : 'contains leading or trailing spaces, line breaks or non-ASCII characters'
  throw refused(`${name} ${found}`, `Set ${name} to the value that the API operator issued`)
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)
  )
}

function refused(message: string, hint: string): Stop {
  return new Stop(message, { exitCode: 2, hint })
}
