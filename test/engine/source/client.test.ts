import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Bug, describeError, Retry } from '../../../src/engine/base/errors.js'
import { NumberToken } from '../../../src/engine/base/numbertoken.js'
import type { Page, RequestInfo } from '../../support/harness/runs.js'
import {
  client,
  envelope,
  httpServer,
  rawServer,
  refusal,
  request,
  SECRET,
  sendJson,
} from '../../support/harness/server.js'

type Settings = Parameters<typeof client>[1]
/** A server that answers with this body, or like this, with the number of the request from 1; and its client. */
async function serving(
  answer: string | ((response: ServerResponse, number: number) => void),
  { headers, ...settings }: Settings & { readonly headers?: Record<string, string> } = {},
) {
  const { url, seen } = await httpServer((_request, response, number) => {
    if (typeof answer === 'string') sendJson(response, answer, headers)
    else answer(response, number)
  })
  return { url, seen, ...client(url, settings) }
}
const item = { tenantId: 7, path: 'customers', id: 5, priority: 'lookup' } as const

describe('a request', () => {
  it('is a GET with both credentials, the accepted type and the encoded query', async () => {
    const { url, seen } = await serving(envelope([{ id: 1 }]))
    const { source } = client(`${url}/some/prefix/`)
    await source.list(request({ page: 1, perPage: 97, updatedAfter: '2026-01-02T03:04:05.123456Z' }))
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      method: 'GET',
      url: '/some/prefix/api/v1/tenants/7/customers?updated_after=2026-01-02T03%3A04%3A05.123456Z&page=1&per_page=97',
      headers: {
        'x-api-partner-id': '42',
        'x-api-secret': SECRET,
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': 'shopsync-test',
      },
    })
  })

  it('is not sent again because of what the caller makes from its response', async () => {
    const { source, seen } = await serving(envelope([{ id: 1 }]))
    const made = source.take(request(), () => {
      throw new Retry('a fault of ours')
    })
    await expect(made).rejects.toThrow('a fault of ours')
    expect(seen).toHaveLength(1)
  })

  it('is sent again if a list that was counted before comes without a count', async () => {
    const bodies = ['{"results":[]}', envelope([], 1, 0)]
    const { source, seen } = await serving((response, number) => sendJson(response, bodies[number - 1]!))
    const page = await source.list({ ...request(), isCounted: true })
    expect([page.total, page.isUncounted, seen.length]).toEqual([0, undefined, 2])
  })

  it('passes increasing stamps, the server’s date and its request id to the response', async () => {
    const headers = { date: 'Wed, 01 Jul 2026 12:00:00 GMT', 'x-request-id': 'abc-1' }
    const { source } = await serving(envelope([]), { headers })
    const first = await source.list(request())
    const second = await source.list(request())
    const told = { serverDate: BigInt(Date.UTC(2026, 6, 1, 12)) * 1000n, requestId: 'abc-1' }
    expect(first).toMatchObject(told)
    expect(first.startedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(second.startedAt > first.startedAt).toBe(true)
  })

  it('is rejected if a credential is unusable, without showing the secret', async () => {
    const secret = `${SECRET}\r\nx-injected: 1`
    const error = await refusal(Promise.resolve().then(() => client('http://127.0.0.1:1', { secret })))
    expect(error).toMatchObject({ exitCode: 2 })
    expect(describeError(error)).not.toContain(SECRET)
  })

  it('is logged with path, status, request id and bytes, but none of its headers', async () => {
    const log: RequestInfo[] = []
    const answer = (response: ServerResponse, number: number): void => {
      if (number > 1) sendJson(response, envelope([]), { 'x-request-id': 'r2' })
      else response.writeHead(500, { 'x-request-id': 'r1' }).end()
    }
    const { source } = await serving(answer, { onRequest: (info) => log.push(info) })
    await source.list(request())
    expect(log).toMatchObject([
      { status: 500, attempt: 1, requestId: 'r1' },
      { status: 200, attempt: 2, requestId: 'r2' },
    ])
    expect(log[1]?.path).toMatch(/^\/api\/v1\/tenants\/7\/customers\?/)
    expect(JSON.stringify(log)).not.toContain(SECRET)
  })

  it('cannot be made after close', async () => {
    const { source } = await serving(envelope([]))
    await source.list(request())
    await source.close()
    expect(await refusal(source.list(request()))).toBeInstanceOf(Bug)
  })
})

describe('an answer', () => {
  it('may be compressed with gzip', async () => {
    const records = [{ id: 1, name: 'Zoë 🚗' }]
    const { source } = await serving((response) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
      response.writeHead(200, headers).end(gzipSync(envelope(records)))
    })
    expect((await source.list(request())).records).toEqual(records)
  })

  const few = '{"results":[{"id":3}],"total_pages":-1,"total_count"'
  it.each<[what: string, body: string, page: object]>([
    [
      'may have numbers as strings, leave out what can be computed, and begin with a byte order mark',
      '\ufeff{"results":[],"total_count":"201"}',
      { total: 201, totalPages: 3, page: 1 },
    ],
    ...['"many"', '-1', '12.5', '1e300', 'null', '[3]', '{}', 'true'].map(
      (total): [string, string, object] => [
        `does not count with ${total} for a total`,
        `${few}:${total}}`,
        { records: [{ id: 3 }], isUncounted: true },
      ],
    ),
    [
      'keeps ids beyond 2^53',
      '{"results":[{"id":9007199254740993}],"total_count":1}',
      { records: [{ id: 9007199254740993n }], careful: false },
    ],
    ['flags a text that needs care', '{"results":["\\uD83D"],"total_count":1}', { careful: true }],
  ])('%s', async (_, body, page) => {
    const { source } = await serving(body)
    expect(await source.list(request())).toMatchObject(page)
  })

  it('past the end may be the last page, under its own number, and then shows nothing', async () => {
    const { source } = await serving(envelope([{ id: 1 }], 2, 200))
    expect(await source.list({ ...request(), page: 3 })).toMatchObject({ records: [], total: 200 })
  })

  it('can be read again with the numbers as they were sent, while something is made from it', async () => {
    const { source } = await serving('{"results":[{"rate":1.10,"id":7},5],"total_count":1.0}')
    const kept: Page[] = []
    const seen = await source.take(request(), (page) => {
      kept.push(page)
      return [page.records, page.tokens()]
    })
    const rates = [1.1, new NumberToken('1.10')]
    expect(seen).toEqual(rates.map((rate) => [{ rate, id: 7 }, 5]))
    expect(() => kept[0]?.tokens()).toThrow(Bug)
  })

  it('with one record can be read again whenever its numbers are needed; none is undefined', async () => {
    const { source, seen } = await serving((response, number) => {
      if (number === 1) sendJson(response, '{"rate":1.10}')
      else response.writeHead(404).end('{}')
    })
    expect((await source.item(item))?.tokens()).toEqual({ rate: new NumberToken('1.10') })
    expect(await source.item(item)).toBeUndefined()
    expect(seen).toHaveLength(2)
  })
})

describe('stats', () => {
  it('count all requests, and those of one tag separately', async () => {
    const { source } = await serving((response, number) => {
      if (number === 2) response.writeHead(503).end()
      else sendJson(response, envelope([]))
    })
    const tagged = source.tagged()
    await source.list(request())
    await tagged.list(request())
    expect(tagged.stats()).toMatchObject({ requests: 2, retries: 1, rateLimited: 0 })
    const bytes = 2 * envelope([]).length
    expect(source.stats()).toMatchObject({ requests: 3, retries: 1, bytes })
    expect(source.stats().window).toBeUndefined()
  })

  it('show the window from the headers', async () => {
    const resets = Math.floor(Date.now() / 1000) + 30
    const told = { limit: '100', remaining: '60', reset: String(resets), matchkey: '42' }
    const headers = Object.fromEntries(Object.entries(told).map(([name, to]) => [`x-ratelimit-${name}`, to]))
    const { source } = await serving(envelope([]), { headers })
    await source.list(request())
    const window = source.stats().window
    expect(window).toMatchObject({ limit: 100, remaining: 60 })
    expect(Math.abs((window?.resetsAt ?? 0) - resets * 1000)).toBeLessThan(2000)
  })
})

describe('an abort', () => {
  const timeouts = { connect: 60_000, headers: 60_000, body: 60_000, request: 60_000 }
  const reason = new Error('enough')

  it.each<[when: string, answer: (response: ServerResponse, abort: () => void) => void]>([
    ['while the server is silent', (_response, abort) => abort()],
    [
      'while the body is arriving',
      (response, abort) => response.writeHead(200, { 'content-length': '100' }).write('{"resu', abort),
    ],
    ['between two attempts', (response) => response.writeHead(500).end()],
  ])('rejects immediately %s, with the signal’s reason', async (_, answer) => {
    const controller = new AbortController()
    const abort = (): void => controller.abort(reason)
    const { source, seen } = await serving((response) => answer(response, abort), {
      timeouts,
      onRetry: abort,
    })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
    expect(seen).toHaveLength(1)
  })

  it('rejects immediately while the connection is not established yet', async () => {
    const controller = new AbortController()
    // The server never answers the client's TLS hello.
    const { url } = await rawServer(() => controller.abort(reason))
    const { source } = client(url.replace('http:', 'https:'), { timeouts })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
  })

  it('leaves the others running, and sends nothing if it came first', async () => {
    const { source, seen } = await serving(envelope([]))
    const signal = AbortSignal.abort(reason)
    expect(await refusal(source.list(request({ signal })))).toBe(reason)
    expect(seen).toHaveLength(0)
    expect((await source.list(request())).total).toBe(0)
  })
})
