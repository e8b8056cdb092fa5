/*
 * The HTTP server of a program that stays up: health, readiness and metrics for monitoring, and what else it serves. It
 * runs in the program's own event loop. Used by `shopsync schedule` and `shopsync worker`.
 */
import { isIP } from 'node:net'
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { describeError, Stop } from '../engine/base/errors.js'
import { ConnectionRoom } from './connectionroom.js'
import { listenProblem, urlOf } from './listenproblem.js'

/** What monitoring is told. */
export interface Watched {
  /** The process is running. */
  health(): object
  /** The warehouse answers, and what ran last. */
  ready(): Promise<{ readonly ready: boolean }>
  metrics(): Promise<string>
}

/** What else is served: where, and by what. `setting`: the section of the configuration with its address. */
interface Site {
  readonly setting: string
  readonly paths: readonly string[]
  routes(app: FastifyInstance): void
}

/** No other page may frame these pages, and no cache may keep them. */
const headers = {
  'content-security-policy': "frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const

const refuse = (reply: FastifyReply, code: number, error: string): FastifyReply =>
  reply.code(code).send({ error })

/** Each connection takes a file descriptor, and without one a job can't open the warehouse. */
const room = { most: 128, own: 8 }

/**
 * Milliseconds. With Node's own deadlines, connections that never send a request would be kept for a minute and a half,
 * and there are only 128.
 */
const deadlines = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
}

function watch(app: FastifyInstance, watched: Watched): void {
  app.get('/health', () => watched.health())
  app.get('/ready', async (_request, reply) => {
    const state = await watched.ready()
    return reply.code(state.ready ? 200 : 503).send(state)
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await watched.metrics()),
  )
}

export interface ListeningServer {
  readonly url: string
  close(): Promise<void>
}

/** Listens; throws Stop if the port isn't available. */
export async function listenAt(
  { host, port }: { readonly host: string; readonly port: number },
  watched: Watched,
  site: Site,
): Promise<ListeningServer> {
  const { keepAliveTimeout, requestTimeout } = deadlines
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: 1024,
    keepAliveTimeout,
    requestTimeout,
    http: deadlines,
  })
  new ConnectionRoom(app.server, room)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(reply.header('allow', 'GET, HEAD'), 405, 'Found no GET, expected GET or HEAD')
    if (!mayAsk(request.url, request.host, host))
      return refuse(reply, 421, `Found another host name, expected an address or ${host}`)
    return undefined
  })
  const known = [...site.paths, '/metrics', '/health']
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, `Expected ${known.join(', ')} or /ready`))
  app.setErrorHandler((error, _request, reply) => refuse(reply, 503, describeError(error)))
  watch(app, watched)
  site.routes(app)
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw notListening(error, { host, port }, site.setting)
  }
  const address = app.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: urlOf('http', host, bound),
    close: () => app.close(),
  }
}

function notListening(
  error: unknown,
  at: { readonly host: string; readonly port: number },
  setting: string,
): unknown {
  const message = listenProblem(error, at)
  if (message === undefined) return error
  return new Stop(message, {
    exitCode: 3,
    hint: `Write another port into the configuration: "${setting}": {"listen": {"port": ${at.port + 2}}}, or "listen": false for no server`,
    cause: error,
  })
}

/** What monitoring requests, under any name it has for this machine: the answers contain no customer data. */
const watched: ReadonlySet<string> = new Set(['/metrics', '/health', '/ready'])

/**
 * Whether a request names this server by an address. A name could be one that a foreign page has pointed at this machine
 * to read the report through its visitor's browser.
 */
function isTrusted(host: string, listening: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || name === listening || isIP(name) !== 0
}

const pathOf = (url: string): string => url.split('?')[0] ?? ''

/** `host`: this server's name in the request. `listening`: its name in the configuration. */
export const mayAsk = (url: string, host: string, listening: string): boolean =>
  watched.has(pathOf(url)) || isTrusted(host, listening)
