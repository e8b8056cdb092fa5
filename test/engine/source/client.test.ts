import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { Bug, describeError, Retry, Skip, Stop } from '../../../src/engine/base/errors.js'
import { NumberToken } from '../../../src/engine/base/numbertoken.js'
import type { Page, RequestInfo } from '../../support/harness/runs.js'
import {
  client,
  closeAll,
  envelope,
  httpServer,
  rawServer,
  refusal,
  request,
  SECRET,
  sendJson,
} from '../../support/harness/server.js'

afterEach(closeAll)

describe('a request', () => {
  it('is a GET with both credentials, the accepted type and the encoded query', async () => {
    const { url, seen } = await httpServer((_request, response) => sendJson(response, envelope([{ id: 1 }])))
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

  it('requests the partner’s authorizations, one record, and bare arrays at their documented paths', async () => {
    const bodies = [envelope([{ id: 3 }], 2, 101), '{"id":5}', '["Cash App","Cheque"]']
    const { url, seen } = await httpServer((_request, response, number) =>
      sendJson(response, bodies[number - 1]!),
    )
    const { source } = client(url)
    const page = await source.authorizations(2, 100)
    const item = await source.item({ tenantId: 7, path: 'customers', id: 5, priority: 'lookup' })
    const path = 'payments/customer_payment_types'
    const strings = await source.strings({ tenantId: 7, path, priority: 'incremental' })
    expect(page).toMatchObject({ records: [{ id: 3 }], total: 101, page: 2, totalPages: 2 })
    expect(item?.value).toEqual({ id: 5 })
    expect(strings.value).toEqual(['Cash App', 'Cheque'])
    expect(seen.map((one) => one.url)).toEqual([
      '/api/v1/partners/42/authorizations?page=2&per_page=100',
      '/api/v1/tenants/7/customers/5',
      '/api/v1/tenants/7/payments/customer_payment_types',
    ])
  })

  it('is not sent again because of what the caller makes from its response', async () => {
    const { url, seen } = await httpServer((_request, response) => sendJson(response, envelope([{ id: 1 }])))
    const { source } = client(url)
    const made = source.take(request(), () => {
      throw new Retry('a fault of ours')
    })
    await expect(made).rejects.toThrow('a fault of ours')
    expect(seen).toHaveLength(1)
  })

  it('is sent again if a list that was counted before comes without a count', async () => {
    const bodies = ['{"results":[]}', envelope([], 1, 0)]
    const { url, seen } = await httpServer((_request, response, number) =>
      sendJson(response, bodies[number - 1]!),
    )
    const page = await client(url).source.list({ ...request(), isCounted: true })
    expect([page.total, page.isUncounted, seen.length]).toEqual([0, undefined, 2])
  })

  it('passes increasing stamps, the server’s date and its request id to the response', async () => {
    const headers = { date: 'Wed, 01 Jul 2026 12:00:00 GMT', 'x-request-id': 'abc-1' }
    const { url } = await httpServer((_request, response) => sendJson(response, envelope([]), headers))
    const { source } = client(url)
    const first = await source.list(request())
    const second = await source.list(request())
    expect(first.serverDate).toBe(BigInt(Date.UTC(2026, 6, 1, 12)) * 1000n)
    expect(first.requestId).toBe('abc-1')
    expect(first.startedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(second.startedAt > first.startedAt).toBe(true)
  })

  it('is rejected before it is sent if plain http would leave the machine', () => {
    expect(() => client('http://api.example.com')).toThrow(Stop)
    expect(() => client('http://127.0.0.1.example.com')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('allowInsecure') }),
    )
    for (const url of [
      'http://localhost:1',
      'http://[::1]:1',
      'http://127.9.9.9:1',
      'https://api.example.com',
    ])
      expect(() => client(url)).not.toThrow()
    expect(() => client('http://api.example.com', { allowInsecure: true })).not.toThrow()
  })

  it('is rejected if the base URL or a credential is unusable, without showing the secret', async () => {
    for (const url of ['api.example.com', 'ftp://x', 'https://user:pw@x', 'https://x/?a=1', 'https://x/#a'])
      expect(() => client(url)).toThrow(Stop)
    const secret = `${SECRET}\r\nx-injected: 1`
    const error = await refusal(Promise.resolve().then(() => client('http://127.0.0.1:1', { secret })))
    expect(error).toMatchObject({ exitCode: 2 })
    expect(describeError(error)).not.toContain(SECRET)
  })

  it('is logged with path, status, request id and bytes, but none of its headers', async () => {
    const log: RequestInfo[] = []
    const { url } = await httpServer((_request, response, number) => {
      if (number > 1) return sendJson(response, envelope([]), { 'x-request-id': 'r2' })
      response.writeHead(500, { 'x-request-id': 'r1' }).end()
    })
    const { source } = client(url, { onRequest: (info) => log.push(info) })
    await source.list(request())
    expect(log.map(({ status, attempt, requestId }) => [status, attempt, requestId])).toEqual([
      [500, 1, 'r1'],
      [200, 2, 'r2'],
    ])
    expect(log[1]?.path).toMatch(/^\/api\/v1\/tenants\/7\/customers\?/)
    expect(JSON.stringify(log)).not.toContain(SECRET)
  })

  it('cannot be made after close', async () => {
    const { url } = await httpServer((_request, response) => sendJson(response, envelope([])))
    const { source } = client(url)
    await source.list(request())
    await source.close()
    expect(await refusal(source.list(request()))).toBeInstanceOf(Bug)
  })
})

describe('an answer', () => {
  const page = async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const { url } = await httpServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers })
      response.end(body)
    })
    return client(url).source.list(request())
  }

  it('may be compressed with gzip', async () => {
    const answer = await page(gzipSync(envelope([{ id: 1, name: 'Zoë 🚗' }])), { 'content-encoding': 'gzip' })
    expect(answer.records).toEqual([{ id: 1, name: 'Zoë 🚗' }])
  })

  it('may have numbers as strings, leave out what can be computed, and begin with a byte order mark', async () => {
    const answer = await page('\ufeff{"results":[],"total_count":"201"}')
    expect(answer).toMatchObject({ total: 201, totalPages: 3, page: 1 })
  })

  it.each(['"many"', '-1', '12.5', '1e300', 'null', '[3]', '{}', 'true'])(
    'does not count with %s for a total',
    async (total) => {
      const answer = await page(`{"results":[{"id":3}],"total_count":${total},"total_pages":-1}`)
      expect(answer).toMatchObject({ records: [{ id: 3 }], isUncounted: true })
    },
  )

  it('past the end may be the last page, under its own number, and then shows nothing', async () => {
    const { url } = await httpServer((_request, response) =>
      sendJson(response, envelope([{ id: 1 }], 2, 200)),
    )
    const asked = client(url).source.list({ ...request(), page: 3, perPage: 100 })
    expect(await asked).toMatchObject({ records: [], total: 200 })
  })

  it('keeps ids beyond 2^53', async () => {
    const answer = await page('{"results":[{"id":9007199254740993}],"total_count":1}')
    expect(answer).toMatchObject({ records: [{ id: 9007199254740993n }], careful: false })
  })

  it.each([
    ['a NUL', '"\\u0000"', true],
    ['a surrogate', '"\\uD83D"', true],
    ['an integer of 16 digits that a double holds', '1000000000000000', false],
    ['16 digits in a string', '"1234567890123456"', false],
    ['a harmless escape', '"\\u003cb\\u003e"', false],
    ['plain text', '"x"', false],
  ])('flags whether %s needs care', async (_what, value, careful) => {
    expect((await page(`{"results":[${value}],"total_count":1}`)).careful).toBe(careful)
  })

  it('can be read again with the numbers as they were sent, while something is made from it', async () => {
    const { url } = await httpServer((_request, response) =>
      sendJson(response, '{"results":[{"rate":1.10,"id":7},5],"total_count":1.0}'),
    )
    const { source } = client(url)
    const kept: Page[] = []
    const seen = await source.take(request(), (page) => {
      kept.push(page)
      return [page.records, page.tokens()]
    })
    expect(seen).toEqual([
      [{ rate: 1.1, id: 7 }, 5],
      [{ rate: new NumberToken('1.10'), id: 7 }, 5],
    ])
    expect(() => kept[0]?.tokens()).toThrow(Bug)
  })

  it('with one record can be read again whenever its numbers are needed', async () => {
    const { url } = await httpServer((_request, response) => sendJson(response, '{"rate":1.10}'))
    const item = await client(url).source.item({ tenantId: 7, path: 'customers', id: 5, priority: 'lookup' })
    expect(item?.tokens()).toEqual({ rate: new NumberToken('1.10') })
  })

  it('for an item that does not exist is undefined', async () => {
    const { url, seen } = await httpServer((_request, response) => response.writeHead(404).end('{}'))
    const { source } = client(url)
    expect(await source.item({ tenantId: 7, path: 'customers', id: 5, priority: 'lookup' })).toBeUndefined()
    expect(seen).toHaveLength(1)
  })
})

describe('stats', () => {
  it('count all requests, and those of one tag separately', async () => {
    const { url } = await httpServer((_request, response, number) => {
      if (number === 2) response.writeHead(503).end()
      else sendJson(response, envelope([]))
    })
    const { source } = client(url)
    const tagged = source.tagged()
    await source.list(request())
    await tagged.list(request())
    expect(tagged.stats()).toMatchObject({ requests: 2, retries: 1, rateLimited: 0 })
    expect(source.stats()).toMatchObject({ requests: 3, retries: 1 })
    expect(source.stats().bytes).toBe(2 * envelope([]).length)
    expect(source.stats().window).toBeUndefined()
  })

  it('show the window from the headers', async () => {
    const resets = Math.floor(Date.now() / 1000) + 30
    const headers = {
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '60',
      'x-ratelimit-reset': String(resets),
      'x-ratelimit-matchkey': '42',
    }
    const { url } = await httpServer((_request, response) => sendJson(response, envelope([]), headers))
    const { source } = client(url)
    await source.list(request())
    const window = source.stats().window
    expect(window).toMatchObject({ limit: 100, remaining: 60 })
    expect(Math.abs((window?.resetsAt ?? 0) - resets * 1000)).toBeLessThan(2000)
  })
})

describe('a refusal', () => {
  it('of the credentials stops the run', async () => {
    const { url, seen } = await httpServer((_request, response) => response.writeHead(401).end(SECRET))
    const error = await refusal(client(url).source.list(request()))
    expect(error).toBeInstanceOf(Stop)
    expect(error).toMatchObject({ exitCode: 3 })
    expect(describeError(error)).toMatch(/api\.secret/)
    expect(seen).toHaveLength(1)
  })

  it.each([
    [400, 'refused'],
    [403, 'refused'],
    [404, 'absent'],
    [422, 'refused'],
    [418, 'refused'],
    [304, 'refused'],
  ])('with status %i skips the cursor (%s) without a second try', async (status, reason) => {
    const { url, seen } = await httpServer((_request, response) => response.writeHead(status).end())
    const error = await refusal(client(url).source.list(request()))
    expect(error).toBeInstanceOf(Skip)
    expect(error).toMatchObject({ reason, details: { status, tenantId: 7, resource: 'customers' } })
    expect(seen).toHaveLength(1)
  })

  it.each([301, 302, 303, 307, 308])(
    'is what a %i redirect becomes, which is not followed',
    async (status) => {
      const elsewhere = await httpServer((_request, response) => sendJson(response, envelope([])))
      const { url } = await httpServer((_request, response) => {
        response.writeHead(status, { location: `${elsewhere.url}/${SECRET}` }).end()
      })
      const error = await refusal(client(url).source.list(request()))
      expect(error).toMatchObject({ reason: 'refused' })
      expect(error.message).toContain(String(status))
      expect(describeError(error)).toMatch(/not followed/)
      expect(describeError(error)).not.toContain(SECRET)
      expect(elsewhere.seen).toHaveLength(0)
    },
  )
})

describe('an abort', () => {
  it('rejects immediately with the signal’s reason while the server is silent', async () => {
    const { url } = await httpServer(() => controller.abort(reason))
    const controller = new AbortController()
    const reason = new Error('enough')
    const { source } = client(url, {
      timeouts: { connect: 10_000, headers: 10_000, body: 10_000, request: 10_000 },
    })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
  })

  it('rejects immediately while the connection is not established yet', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    // The server never answers the client's TLS hello.
    const { url } = await rawServer(() => controller.abort(reason))
    const { source } = client(url.replace('http:', 'https:'), {
      timeouts: { connect: 60_000, headers: 60_000, body: 60_000, request: 60_000 },
    })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
  })

  it('rejects immediately while the body is arriving', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { url } = await httpServer((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"resu', () => controller.abort(reason))
    })
    const { source } = client(url, {
      timeouts: { connect: 60_000, headers: 60_000, body: 60_000, request: 60_000 },
    })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
  })

  it('rejects immediately between two attempts', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const { url, seen } = await httpServer((_request, response) => response.writeHead(500).end())
    const { source } = client(url, { onRetry: () => controller.abort(reason) })
    expect(await refusal(source.list(request({ signal: controller.signal })))).toBe(reason)
    expect(seen).toHaveLength(1)
  })

  it('leaves the others running, and sends nothing if it came first', async () => {
    const { url, seen } = await httpServer((_request, response) => sendJson(response, envelope([])))
    const { source } = client(url)
    const signal = AbortSignal.abort(new Error('before'))
    expect((await refusal(source.list(request({ signal })))).message).toBe('before')
    expect(seen).toHaveLength(0)
    expect((await source.list(request())).total).toBe(0)
  })
})
