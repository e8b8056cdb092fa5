/**
 * `check --webhook-url` finds what would keep events away. listen/listenprocess.test.ts tests that it finds the
 * listener.
 */

import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { eventNames, examineWebhook } from '../../../src/features/check/webhook.js'
import { checkText, findingOf } from '../../../src/features/check/words.js'

const pem = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url)), 'utf8')

async function found(answer: RequestListener, tls = false): Promise<ReturnType<typeof findingOf>[]> {
  const server = tls
    ? createTls({ cert: pem('server.pem'), key: pem('server.key') }, answer)
    : createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    const url = `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${port}/webhooks`
    return (await examineWebhook(url, new AbortController().signal)).map(findingOf)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a redirect, a stranger, an untrusted certificate, nobody at all', async () => {
  const redirect = await found((_, response) =>
    response.writeHead(301, { location: 'https://b.example' }).end(),
  )
  expect(redirect).toMatchObject([{ ok: false, found: 'answers 301, a redirect to https://b.example' }])
  const stranger = await found((_, response) => response.writeHead(200).end('hello'))
  expect(stranger).toMatchObject([{ ok: false, found: 'answers 200, unlike shopsync listen' }])
  const untrusted = await found((_, response) => response.writeHead(405).end(), true)
  expect(untrusted).toMatchObject([
    {
      ok: false,
      found: expect.stringContaining('certificate is not trusted'),
      hint: expect.stringContaining('self-signed'),
    },
  ])
  const nobody = await examineWebhook('http://127.0.0.1:2/webhooks', new AbortController().signal)
  expect(nobody.map(findingOf)).toMatchObject([
    {
      ok: false,
      found: expect.stringContaining('refused'),
      hint: expect.stringContaining('shopsync listen is up'),
    },
  ])
  const none = await examineWebhook('hooks', new AbortController().signal)
  expect(none).toMatchObject([{ exitCode: 2 }])
})

test('sends no secret, and names the 36 events', async () => {
  let headers: Record<string, unknown> = {}
  const listener = await found((request, response) => {
    headers = request.headers
    response.writeHead(405, { 'x-shopsync': 'listening' }).end()
  })
  expect(listener.map(({ ok }) => ok)).toEqual([true, true])
  expect(headers).not.toHaveProperty('x-api-secret')
  expect([eventNames.length, new Set(eventNames).size]).toEqual([36, 36])
  expect(eventNames).toContain('past_recommendation.deleted')
  const text = checkText([{ of: 'event names', names: eventNames, exitCode: 0 }])
  expect(text).toContain('event names  36 to register: see below')
  expect(text).toContain(
    '  past_recommendation.created past_recommendation.updated past_recommendation.deleted\n',
  )
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100)
})
