/** The way to the API through a proxy, and through TLS with a private certificate authority. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { wordsOf } from '../../../src/engine/base/errors.js'
import { proxyFor } from '../../../src/engine/config/proxy.js'
import { closedAfterwards } from '../../support/harness/afterwards.js'
import { shopsync } from '../../support/harness/call.js'
import { place } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { forward, listens, startProxy } from '../../support/harness/relays.js'
import { client, envelope, httpServer, request, SECRET, sendJson } from '../../support/harness/server.js'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))

/** One request of a client behind the proxy at that address: its page, or how it ended. */
async function ask(address: string, connect = 500): Promise<unknown> {
  const api = await httpServer((_request, response) => sendJson(response, envelope([])))
  const { source } = client(api.url, {
    proxy: proxyFor(api.url, address, {}),
    retry: { attempts: 2, baseMs: 1, maxMs: 1 },
    timeouts: { connect, headers: 2000, body: 2000, request: 5000 },
  })
  return source.list(request()).catch((error: unknown) => error)
}

describe('a proxy', () => {
  test.each([
    ['me:p%40ss', 'me:p@ss'],
    ['token%2F1', 'token/1:'],
    ['', undefined],
  ])('opens a tunnel, given only the host and its own login: %s', async (login, pair) => {
    const proxy = await startProxy()
    expect(await ask(`http://${login}@127.0.0.1:${proxy.port}`)).toMatchObject({ records: [] })
    expect(proxy.heads).toHaveLength(1)
    const [head = ''] = proxy.heads
    expect(head).toMatch(/^CONNECT 127\.0\.0\.1:\d+ HTTP\/1\.1\r\n/)
    const told = /^proxy-authorization: (.*)\r$/im.exec(head)?.[1]
    expect(told).toBe(pair && `Basic ${Buffer.from(pair).toString('base64')}`)
    expect(head).not.toContain(SECRET)
    expect(proxy.passed()).not.toContain('Basic')
  })

  test.each<[answer: string | null, name: string, message: RegExp, hint: RegExp]>([
    [
      'HTTP/1.1 407 Proxy Authentication Required',
      'Stop',
      /answered 407 to CONNECT.*refuses the login/,
      /user and password in api\.proxy/,
    ],
    ['HTTP/1.1 403 Forbidden', 'Skip', /answered 403 to CONNECT/, /proxy's administrator/],
    ['HTTP/1.1 502 Bad Gateway', 'Skip', /answered 502 to CONNECT/, /proxy's administrator/],
    [
      null,
      'Skip',
      /no answer came in time|connecting took too long/,
      /proxy 127\.0\.0\.1:\d+ \(api\.proxy\)/,
    ],
  ])('that answers %s', async (answer, name, message, hint) => {
    const proxy = await startProxy(answer)
    const error = await ask(`http://me:hidden@127.0.0.1:${proxy.port}`, 300)
    expect(error).toBeInstanceOf(Error)
    expect((error as Error).constructor.name).toBe(name)
    const words = wordsOf(error)
    expect(words.message).toMatch(message)
    expect(words.hint).toMatch(hint)
    expect(JSON.stringify(words)).not.toContain('hidden')
  })

  test('that is not there is named in the message', async () => {
    const proxy = await startProxy()
    await proxy.close()
    const { message, hint } = wordsOf(await ask(`http://127.0.0.1:${proxy.port}`))
    expect(message).toMatch(/the proxy 127\.0\.0\.1:\d+ does not answer: the connection was refused/)
    expect(hint).toMatch(/api\.proxy/)
  })
})

const here = await place({ tenants: 1 })

const options = { key: readFileSync(fixture('server.key')), cert: readFileSync(fixture('server.pem')) }
const api = closedAfterwards(await listens(createServer(options, forward(here.sandbox.url))))

describe('the program', () => {
  const { partnerId } = here.sandbox
  const baseUrl = `https://localhost:${api.port}`
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what people type into the file
  here.configure({ api: { baseUrl, partnerId, secret: '${API_SECRET}', retry: { attempts: 1 } } })

  const staffs = ['sync', '--resource', 'staffs']

  test('reaches an API through HTTPS_PROXY and a private authority; the proxy reads nothing', async () => {
    const proxy = await startProxy()
    const HTTPS_PROXY = `http://me:hidden@127.0.0.1:${proxy.port}`
    const env = { API_SECRET: here.sandbox.secret, HTTPS_PROXY, NODE_EXTRA_CA_CERTS: fixture('ca.pem') }
    const synced = await spawned([...staffs, '--log-level', 'trace'], { cwd: here.folder, env })
    expect(synced).toMatchObject({ code: 0 })
    expect(proxy.heads.length).toBeGreaterThan(0)
    for (const head of proxy.heads) expect(head).toMatch(new RegExp(`^CONNECT localhost:${api.port} `))
    expect(proxy.passed()).not.toContain(here.sandbox.secret)
    expect(proxy.passed()).not.toContain('/api/v1')
    expect(synced.stdout + synced.stderr).not.toContain('hidden')
  })

  // This process trusts no private authority.
  test('bypasses it if NO_PROXY says so, and tells what to do about a certificate that it does not trust', async () => {
    const proxy = await startProxy()
    const HTTPS_PROXY = `http://me:hidden@127.0.0.1:${proxy.port}`
    const env = { API_SECRET: here.sandbox.secret, HTTPS_PROXY }
    const { code, stderr } = await shopsync(staffs, {
      cwd: here.folder,
      env: { ...env, NO_PROXY: 'localhost' },
    })
    expect([code, proxy.heads]).toEqual([3, []])
    expect(stderr).toMatch(/certificate is not trusted.*NODE_EXTRA_CA_CERTS/s)
    const checked = await shopsync(['check'], { cwd: here.folder, env })
    expect(checked.stdout).toMatch(new RegExp(`proxy +127\\.0\\.0\\.1:${proxy.port}, named by HTTPS_PROXY`))
    expect(proxy.heads.length).toBeGreaterThan(0)
    expect(checked.stdout + checked.stderr).not.toContain('hidden')
  })
})
