/** The calls of a dead man's switch to a real HTTP server. */
import { afterEach, describe, expect, it } from 'vitest'
import { beat, beatAddress } from '../../../src/shell/send.js'
import { closeAll, httpServer } from '../../support/harness/server.js'
import { HandClock } from '../../support/world/clocks.js'

afterEach(closeAll)

describe('a heartbeat', () => {
  it("is a GET with the exit code after the address's own query", async () => {
    const { url, seen } = await httpServer((_request, response) => response.end('OK'))
    const sent = await beat(`${url}/ping/a%20b?token=x+y%2Fz#part`, 1)
    expect(sent).toEqual({ delivered: true, worthRetrying: false, found: 'it answered 200' })
    expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'GET /ping/a%20b?token=x+y%2Fz&exit=1',
    ])
    expect(beatAddress('https://hc.example/uuid', 0)).toBe('https://hc.example/uuid?exit=0')
  })

  it("is retried while the server has problems, and given up if the answer won't change", async () => {
    const clock = new HandClock('2026-01-01T00:00:00Z')
    const troubled = await httpServer((_request, response, number) => {
      response.statusCode = number < 3 ? 503 : 204
      response.end()
    })
    expect(await beat(troubled.url, 0, clock)).toMatchObject({ delivered: true })
    expect(troubled.seen).toHaveLength(3)
    const gone = await httpServer((_request, response) => {
      response.statusCode = 404
      response.end()
    })
    expect(await beat(gone.url, 0, clock)).toMatchObject({
      delivered: false,
      found: 'it answered 404, expected 200',
    })
    expect(gone.seen).toHaveLength(1)
  })

  it('follows no redirect, and gives up if nobody answers', async () => {
    const other = await httpServer((_request, response) => response.end())
    const moved = await httpServer((_request, response) => {
      response.writeHead(302, { location: other.url })
      response.end()
    })
    expect(await beat(moved.url, 0)).toEqual({
      delivered: false,
      worthRetrying: false,
      found: 'it answered 302, and redirects are not followed',
    })
    expect(other.seen).toEqual([])
    const clock = new HandClock('2026-01-01T00:00:00Z')
    const begun = clock.micros
    const silent = await beat('http://127.0.0.1:9/secret-path', 0, clock)
    expect(clock.micros - begun).toBeLessThan(15_000_000n)
    expect(silent.delivered).toBe(false)
    expect(silent.found).toMatch(/^the connection was refused \(ECONNREFUSED\), \d+ times$/)
  })
})
