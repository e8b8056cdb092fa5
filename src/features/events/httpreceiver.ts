/*
 * The receiver's HTTP: which request gets which answer (see the table in docs/webhooks.md). What isn't accepted is
 * refused before its body is read; what is accepted is answered once it is on disk.
 */
import type { Server } from 'node:http'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { ConnectionRoom } from '../../shell/connectionroom.js'
import type { Pem } from './certificate.js'
import { Unwritable } from './intake.js'
import type { Refusing } from './presence.js'
import { NoEvent } from './understand.js'

/** Milliseconds. */
const deadlines = { headersTimeout: 5000, connectionsCheckingInterval: 1000 }
const requestTimeout = 10_000
const keepAliveTimeout = 65_000
/** A source keeps its connections open; anyone else's, which haven't shown the secret, end after `untrustedMs`. */
const room = { most: 512, own: 8, untrustedMs: 5000 }
/** How many bytes of request bodies may be in memory at once. */
const mostInHand = 64 * 1024 * 1024
/** A body of up to this many bytes is read and discarded, so its sender sees the answer. */
const bytesToSwallow = 64 * 1024
/** Seconds until a sender may try again. */
const retryAfter: Readonly<Record<Refusing | 'busy' | 'ending', number>> = {
  database: 5,
  disk_full: 60,
  backlog: 60,
  busy: 1,
  ending: 10,
}

/** Shows `check --webhook-url` that an address leads here. */
const mark = ['x-shopsync', 'listening'] as const

interface Refusal {
  readonly code: number
  /** The name it is counted under. */
  readonly answer: string
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Without a slash at its end, which is easily typed too much. */
const pathOf = (url: string): string => (url.split('?')[0] ?? '').replace(/(?<=.)\/$/, '')

const lengthOf = ({ headers }: FastifyRequest): number | undefined => {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

export class HttpReceiver {
  readonly #app: FastifyInstance
  readonly #room: ConnectionRoom
  #inHand = 0
  #isEnding = false

  constructor(
    /** What the server needs from the code behind it. */
    private readonly behind: {
      readonly path: string
      readonly maxBodyBytes: number
      isSecretRight(given: string | undefined): boolean
      readonly refusing: Refusing | undefined
      /** Throws NoEvent or Unwritable. Resolves to whether a row is kept. */
      take(body: Buffer): Promise<boolean>
      /** Whether an insert works right now. */
      ready(): Promise<{ readonly ready: boolean }>
      refused(answer: string): void
    },
    pem: Pem | undefined,
  ) {
    const shared = {
      bodyLimit: behind.maxBodyBytes,
      requestTimeout,
      keepAliveTimeout,
      exposeHeadRoutes: false,
      forceCloseConnections: 'idle' as const,
      routerOptions: { ignoreTrailingSlash: true },
    }
    this.#app = pem
      ? (fastify({ ...shared, https: { ...pem, ...deadlines } }) as unknown as FastifyInstance)
      : fastify({ ...shared, http: deadlines })
    this.#room = new ConnectionRoom(this.#app.server, room)
    this.#routes()
  }

  /** The port it listens on. */
  async listen(host: string, port: number): Promise<number> {
    await this.#app.listen({ host, port })
    const address = this.#app.server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  renew(pem: Pem): void {
    const server = this.#app.server as Server & { setSecureContext?(pem: Pem): void }
    server.setSecureContext?.(pem)
  }

  /** Accepts nothing more; resolves when the accepted requests are answered. */
  async close(): Promise<void> {
    this.#isEnding = true
    await this.#app.close()
  }

  #routes(): void {
    const app = this.#app
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.addHook('onRequest', async (request, reply) => {
      const refusal = this.#refusal(request)
      if (refusal) return this.#refuse(request, reply, refusal)
      if (request.method === 'POST') this.#hold(request, reply)
      return undefined
    })
    app.get('/health', () => ({ status: 'ok' }))
    app.get('/ready', async (_request, reply) => {
      const state = await this.behind.ready()
      return reply.code(state.ready ? 200 : 503).send(state)
    })
    app.post(this.behind.path, async (request) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      return { stored: await this.behind.take(body) }
    })
    app.setErrorHandler((error, request, reply) => this.#refuse(request, reply, refusalOf(error)))
  }

  /** Why a request is refused, before its body is read. */
  #refusal(request: FastifyRequest): Refusal | undefined {
    const { method, headers } = request
    const { behind } = this
    const path = pathOf(request.url)
    if (path === '/health' || path === '/ready')
      return method === 'GET' ? undefined : { code: 405, answer: 'method', headers: { allow: 'GET' } }
    if (path !== behind.path) return { code: 404, answer: 'path', text: `Expected POST ${behind.path}\n` }
    if (method !== 'POST')
      return { code: 405, answer: 'method', headers: { allow: 'POST', [mark[0]]: mark[1] } }
    const secret = headers['x-api-secret']
    if (!behind.isSecretRight(typeof secret === 'string' ? secret : undefined))
      return { code: 401, answer: 'unauthorized' }
    this.#room.trust(request.raw.socket)
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') return { code: 415, answer: 'encoded', text: 'Expected no Content-Encoding' }
    if ((lengthOf(request) ?? 0) > behind.maxBodyBytes) return tooLarge
    const busy = this.#isEnding ? 'ending' : (behind.refusing ?? this.#busyWith(request))
    return busy && unavailable(busy)
  }

  #busyWith(request: FastifyRequest): 'busy' | undefined {
    return this.#inHand + this.#bytesOf(request) > mostInHand ? 'busy' : undefined
  }

  /** A body without a length may have any length. */
  #bytesOf(request: FastifyRequest): number {
    return lengthOf(request) ?? this.behind.maxBodyBytes
  }

  #hold(request: FastifyRequest, reply: FastifyReply): void {
    const bytes = this.#bytesOf(request)
    this.#inHand += bytes
    reply.raw.once('close', () => {
      this.#inHand -= bytes
    })
  }

  #refuse(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
    const { code, answer, text = '', headers = {} } = refusal
    if (pathOf(request.url) === this.behind.path && request.method === 'POST') this.behind.refused(answer)
    // The rest of a large body isn't worth reading.
    const swallows = (lengthOf(request) ?? Number.POSITIVE_INFINITY) <= bytesToSwallow
    if (!swallows && request.method === 'POST') reply.header('connection', 'close')
    return reply.code(code).headers(headers).type('text/plain; charset=utf-8').send(text)
  }
}

const tooLarge: Refusal = { code: 413, answer: 'too_large' }

const unavailable = (why: keyof typeof retryAfter): Refusal => ({
  code: 503,
  answer: 'unavailable',
  headers: { 'retry-after': String(retryAfter[why]) },
})

function refusalOf(error: unknown): Refusal {
  if (error instanceof NoEvent) return { code: 400, answer: 'invalid', text: `${error.message}\n` }
  if (error instanceof Unwritable) return unavailable('database')
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 413) return tooLarge
  return typeof status === 'number' && status < 500
    ? { code: 400, answer: 'invalid', text: 'Found no event\n' }
    : unavailable('database')
}
