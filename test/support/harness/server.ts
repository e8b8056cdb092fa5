import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createRawServer, type Server, type Socket } from 'node:net'
import { Stamps } from '../../../src/engine/base/clock.js'
import { createSource, type SourceOptions } from '../../../src/engine/source/client.js'
import type { ListRequest, Source } from '../../../src/engine/source/source.js'
import { SkippingClock } from '../world/clocks.js'
import { closedAfterwards } from './afterwards.js'
import { listens } from './relays.js'

export const SECRET = 'top-secret-4711'

export interface Stand {
  readonly url: string
  /** Requests seen: the method and URL of the request line, and the headers. */
  readonly seen: Array<{ method: string; url: string; headers: IncomingMessage['headers'] }>
}

/** `answer` is called with the number of the request, from 1. */
export async function httpServer(
  answer: (request: IncomingMessage, response: ServerResponse, number: number) => void,
): Promise<Stand> {
  const seen: Stand['seen'] = []
  const server = createServer((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
    answer(request, response, seen.length)
  })
  return { url: await opening(server), seen }
}

/** A server that sends exactly the text that a test gives it; the text doesn't have to be HTTP. */
export async function rawServer(answer: (socket: Socket, number: number) => void): Promise<Stand> {
  const seen: Stand['seen'] = []
  const server = createRawServer((socket) => {
    socket.on('data', (data) => {
      const [method = '', url = ''] = data.toString('latin1').split(' ')
      seen.push({ method, url, headers: {} })
      answer(socket, seen.length)
    })
  })
  return { url: await opening(server), seen }
}

async function opening(server: Server): Promise<string> {
  const { port } = closedAfterwards(await listens(server))
  return `http://127.0.0.1:${port}`
}

export interface Client {
  readonly source: Source
  readonly clock: SkippingClock
}

export function client(baseUrl: string, options: Partial<SourceOptions> = {}): Client {
  const clock = new SkippingClock()
  const source = closedAfterwards(
    createSource({
      baseUrl,
      partnerId: '42',
      secret: SECRET,
      timeouts: { connect: 500, headers: 100, body: 100, request: 10_000 },
      rateReserve: 0,
      clock,
      stamps: new Stamps(clock),
      userAgent: 'shopsync-test',
      gzip: true,
      retry: { attempts: 3, baseMs: 100, maxMs: 1000 },
      random: () => 0.5,
      ...options,
    }),
  )
  return { source, clock }
}

export function request(changes: Partial<ListRequest> = {}): ListRequest {
  return {
    tenantId: 7,
    path: 'customers',
    updatedAfter: '1970-01-01T00:00:00.000000Z',
    page: 1,
    perPage: 100,
    priority: 'incremental',
    ...changes,
  }
}

export function envelope(records: unknown[], page = 1, total = records.length): string {
  return JSON.stringify({
    results: records,
    limit: records.length,
    limited: false,
    total_count: total,
    current_page: page,
    total_pages: Math.ceil(total / 100),
  })
}

export function sendJson(response: ServerResponse, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(body)
}

export function rawJson(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** The error with which a promise was rejected. */
export async function refusal(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('expected to be refused')
}
