import type { ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { describeError, Skip } from '../../../src/engine/base/errors.js'
import type { RetryInfo } from '../../support/harness/runs.js'
import {
  client,
  envelope,
  httpServer,
  rawJson,
  rawServer,
  refusal,
  request,
  SECRET,
  type Stand,
  sendJson,
} from '../../support/harness/server.js'

const GOOD = envelope([{ id: 1 }])
const head = (lines: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${lines}\r\n\r\n`

/** What a server does with a request: over HTTP, or with the bare connection. */
type Fault =
  | { readonly http: (response: ServerResponse) => unknown }
  | { readonly raw: (socket: Socket) => unknown }

/** A server with a fault, which answers well to those requests that are `good`. */
const standOf = (fault: Fault, good: (number: number) => boolean = () => false): Promise<Stand> =>
  'raw' in fault
    ? rawServer((socket, number) => void (good(number) ? socket.write(rawJson(GOOD)) : fault.raw(socket)))
    : httpServer((_request, response, number) => {
        if (good(number)) sendJson(response, GOOD)
        else fault.http(response)
      })

const raw = (text: string | Buffer, end = true): Fault => ({
  raw: (socket) => {
    socket.write(text)
    if (end) socket.end()
  },
})
const status = (code: number, headers: Record<string, string> = {}): Fault => ({
  http: (response) => response.writeHead(code, headers).end(`{"error":"${SECRET}"}`),
})
const body = (text: string | Buffer, headers: Record<string, string> = {}): Fault => ({
  http: (response) => response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text),
})

const gzipped = gzipSync(GOOD)

/** The faults, each with a part of the message that people read if the fault stays. */
const faults: Record<string, [fault: Fault, said: RegExp]> = {
  'reset before the headers': [{ raw: (socket) => socket.resetAndDestroy() }, /reset|closed/],
  'closed before the headers': [raw(''), /closed/],
  'closed within the headers': [raw('HTTP/1.1 200 OK\r\ncontent-ty'), /closed|failed/],
  'reset after the headers': [
    { raw: (socket) => socket.write(head('content-length: 100'), () => socket.resetAndDestroy()) },
    /reset|closed/,
  ],
  'stalled before the headers': [raw('', false), /no answer came in time/],
  'stalled within the body': [raw(`${head('content-length: 100')}{"resu`, false), /body stopped/],
  'cut body': [raw(`${head(`content-length: ${GOOD.length}`)}${GOOD.slice(0, -9)}`), /closed|Content-Length/],
  'cut chunked body': [raw(`${head('transfer-encoding: chunked')}5\r\n{"res\r\n`), /closed/],
  'Content-Length too small': [raw(`${head(`content-length: ${GOOD.length - 9}`)}${GOOD}`), /not valid JSON/],
  'Content-Length too large': [
    raw(`${head(`content-length: ${GOOD.length + 9}`)}${GOOD}`),
    /closed|Content-Length/,
  ],
  'no HTTP at all': [raw('SSH-2.0-OpenSSH_9.6\r\n'), /failed|closed/],
  'HTML with 200': [
    body('<html>Down</html>', { 'content-type': 'text/html' }),
    /text\/html\) looks like HTML/,
  ],
  'empty body': [body(''), /is empty/],
  'JSON cut off': [body(GOOD.slice(0, -1)), /not valid JSON/],
  'UTF-8 cut off': [body(Buffer.from('{"results":["Zoë"],"total_count":1}').subarray(0, 16)), /UTF-8/],
  'bytes that are no UTF-8': [
    body(Buffer.from('{"results":["Zo\xeb"],"total_count":1}', 'latin1')),
    /not valid UTF-8/,
  ],
  'gzip cut off': [body(gzipped.subarray(0, -12), { 'content-encoding': 'gzip' }), /not valid gzip/],
  'gzip garbage': [body('no gzip at all', { 'content-encoding': 'gzip' }), /not valid gzip/],
  'gzip damaged': [
    body(Buffer.concat([gzipped.subarray(0, -8), Buffer.alloc(8)]), { 'content-encoding': 'gzip' }),
    /not valid gzip/,
  ],
  'an encoding nobody asked for': [body(GOOD, { 'content-encoding': 'br' }), /content-encoding/],
  'JSON that is no envelope': [body('[1,2]'), /found an array/],
  'results that is no array': [body('{"results":{},"total_count":1}'), /"results" is an object/],
  'another page than asked for': [
    body(envelope([{ id: 1 }], 2, 300)),
    /page 1, but the response says it is page 2/,
  ],
  'status 429 with Retry-After': [status(429, { 'retry-after': '2' }), /answered 429/],
}
for (const code of [500, 502, 503, 504, 429, 204])
  faults[`status ${code}`] = [status(code), RegExp(`answered ${code}`)]

describe.each(Object.entries(faults))('%s', (_name, [fault, said]) => {
  it('is retried, and the cursor continues once it is over', async () => {
    const retries: RetryInfo[] = []
    const { url, seen } = await standOf(fault, (number) => number > 1)
    const { source } = client(url, { onRetry: (info) => retries.push(info) })
    expect((await source.list(request())).records).toEqual([{ id: 1 }])
    expect(seen).toHaveLength(2)
    expect(source.stats()).toMatchObject({ requests: 2, retries: 1 })
    expect(retries).toMatchObject([{ attempt: 1, attempts: 3, tenant_id: 7, resource: 'customers' }])
  })

  it('skips the cursor if it stays, and shows what was found, never the secret', async () => {
    const { url, seen } = await standOf(fault)
    const error = await refusal(client(url).source.list(request()))
    expect(error).toBeInstanceOf(Skip)
    expect(error).toMatchObject({ reason: 'failed', details: { tenantId: 7, resource: 'customers' } })
    expect(error.message).toMatch(said)
    expect(error.message).toMatch(/after 3 attempts/)
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(SECRET)
    expect(seen.every(({ method }) => method === 'GET')).toBe(true)
    expect(seen).toHaveLength(3)
  })
})

describe('without an answer', () => {
  it('a refused connection is retried, and then skips the cursor', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    await new Promise((resolve) => server.close(resolve))
    const port = typeof address === 'object' ? address?.port : 0
    const { source } = client(`http://127.0.0.1:${port}`)
    const error = await refusal(source.list(request()))
    expect(error).toMatchObject({ name: 'Skip', reason: 'failed' })
    expect(error.message).toContain(`: http://127.0.0.1:${port}: the connection was refused (ECONNREFUSED)`)
    expect(source.stats()).toMatchObject({ requests: 3, retries: 2 })
  })

  it.each([
    ['https', /does not speak TLS/, /begins with https:\/\/ or http:\/\//],
    ['http', /headers of the answer are larger/, /smaller headers/],
  ])('what is neither the address nor the network is named: %s', async (scheme, said, hint) => {
    const { url } = await standOf(body('{}', { 'x-more': 'x'.repeat(20_000) }))
    const error = await refusal(client(url.replace('http', scheme)).source.list(request()))
    expect(error.message).toMatch(said)
    expect(error).toMatchObject({ name: 'Skip', hint: expect.stringMatching(hint) })
  })

  it('an unknown host name is named as such', async () => {
    const { source } = client('https://shopsync-test.invalid')
    const error = await refusal(source.list(request()))
    expect(error).toMatchObject({ name: 'Skip', reason: 'failed' })
    expect(error.message).toMatch(
      /: https:\/\/shopsync-test\.invalid: the (host name|name server) .*(ENOTFOUND|EAI_AGAIN)/,
    )
  })
})

const large = JSON.stringify({ results: ['x'.repeat(5000)], total_count: 1 })
const elsewhere = { location: `http://127.0.0.1:9/${SECRET}` }

/** What is not retried: whose trouble it is, and a part of the message and of its hint. */
type Refusal = readonly [what: string, fault: Fault, trouble: object, said: RegExp]
const refused = { reason: 'refused' }
const tooLarge = (content: string | Buffer, headers: Record<string, string>, how: string): Refusal => {
  return [`a body that ${how}`, body(content, headers), { reason: 'failed' }, /larger than 2000 bytes/]
}
const refusals: readonly Refusal[] = [
  ['status 401', status(401), { name: 'Stop', exitCode: 3 }, /credentials are refused.*api\.secret/s],
  ['status 404', status(404), { reason: 'absent' }, /answered 404/],
  ...[400, 403, 422, 418, 304].map(
    (code): Refusal => [`status ${code}`, status(code), refused, RegExp(`answered ${code}`)],
  ),
  ...[301, 302, 303, 307, 308].map(
    (code): Refusal => [
      `status ${code}`,
      status(code, elsewhere),
      refused,
      RegExp(`${code}.*not followed`, 's'),
    ],
  ),
  tooLarge(large, { 'content-length': String(large.length) }, 'is announced as larger than the cap'),
  tooLarge(large, { 'transfer-encoding': 'chunked' }, 'comes in chunks, larger than the cap'),
  tooLarge(gzipSync(large), { 'content-encoding': 'gzip' }, 'is larger than the cap once unpacked'),
]

it.each(refusals)(
  '%s ends the cursor or the run without a second try',
  async (_what, fault, trouble, said) => {
    const { url, seen } = await standOf(fault)
    const error = await refusal(client(url, { maxBodyBytes: 2000 }).source.list(request()))
    expect(error).toMatchObject({ name: 'Skip', ...trouble })
    expect(describeError(error)).toMatch(said)
    expect(describeError(error)).not.toContain(SECRET)
    expect(seen).toHaveLength(1)
  },
)

describe('waiting', () => {
  it('grows exponentially with jitter up to its bound', async () => {
    const { url } = await standOf(status(500))
    const { source, clock } = client(url, {
      retry: { attempts: 6, baseMs: 100, maxMs: 500 },
      random: () => 0.5,
    })
    await refusal(source.list(request()))
    expect(clock.slept).toEqual([50, 100, 200, 250, 250])
  })

  it('is as long as Retry-After says, in seconds or until a date by the server’s clock', async () => {
    const date = 'Wed, 01 Jul 2020 12:00:00 GMT'
    for (const after of ['7', 'Wed, 01 Jul 2020 12:00:07 GMT']) {
      const { url } = await standOf(status(503, { 'retry-after': after, date }), (number) => number > 1)
      const { source, clock } = client(url)
      await source.list(request())
      expect(clock.slept).toEqual([7000])
    }
  })
})

it('keeps the server’s text from breaking a log line or revealing the secret', async () => {
  const headers = { 'x-request-id': `${SECRET}${'y'.repeat(5000)}` }
  const { url } = await standOf(status(403, headers))
  const error = await refusal(client(url).source.list(request()))
  expect(JSON.stringify(error)).not.toContain(SECRET)
  expect(JSON.stringify(error).length).toBeLessThan(1000)
})

/** Sends a byte every 20 ms, forever: no pause is long enough for the other timeouts. */
const dripping = (text: string): Promise<Stand> =>
  rawServer((socket) => {
    socket.write(text)
    const drip = setInterval(() => socket.write(' '), 20)
    socket.on('close', () => clearInterval(drip))
  })

it.each([
  ['its body', head('content-length: 100000')],
  ['the body of a refusal', 'HTTP/1.1 500 Down\r\ncontent-length: 100000\r\n\r\n'],
  ['its headers', 'HTTP/1.1 200 OK\r\nx-filler: '],
])('a response that sends a byte now and then of %s ends at the deadline', async (_part, text) => {
  const { url, seen } = await dripping(text)
  const timeouts = { connect: 60_000, headers: 60_000, body: 60_000, request: 150 }
  const error = await refusal(client(url, { timeouts }).source.list(request()))
  expect(error).toBeInstanceOf(Skip)
  expect(error.message).toMatch(/did not end within api\.timeouts\.request/)
  expect(seen).toHaveLength(3)
})
