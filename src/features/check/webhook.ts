/*
 * `check --webhook-url`: requests the address registered at the source, the way the source would, to find what would
 * keep its events away: an untrusted certificate, a redirect, or a different server at the other end.
 */
import { resources } from '../../../schema/index.js'
import { codeFromOutside } from '../../engine/base/errors.js'
import { connectionWords, isOfCertificate } from '../../engine/base/networkwords.js'
import { loadUndici } from '../../engine/source/http/undici.js'
import type { Trial } from './trials.js'

/** Milliseconds. */
const patience = 10_000

const actions = ['created', 'updated', 'deleted'] as const

/** The event names, following the syntax in the API documentation, which doesn't list them. */
const eventNames: readonly string[] = Object.values(resources)
  .filter(({ announced }) => announced === true)
  .flatMap(({ singular }) => actions.map((action) => `${singular}.${action}`))

const trial = (found: string, hint: string | null, exitCode: 0 | 1 | 2): Trial => ({
  of: 'webhook',
  found,
  hint,
  exitCode,
})

/** No secret is sent: the other end may belong to a stranger. */
export async function examineWebhook(typed: string, signal: AbortSignal): Promise<Trial[]> {
  const url = URL.canParse(typed) ? new URL(typed) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    return [trial('this is not an address', 'Type --webhook-url https://hooks.example.com/webhooks', 2)]
  if (url.username || url.password)
    return [
      trial(
        'the address contains a user or a password',
        'The source sends its secret as a header: remove both',
        2,
      ),
    ]
  const found = await ask(url, signal)
  return found.exitCode === 0 ? [found, { of: 'event names', names: eventNames, exitCode: 0 }] : [found]
}

async function ask(url: URL, signal: AbortSignal): Promise<Trial> {
  const { request } = await loadUndici()
  const late = AbortSignal.timeout(patience)
  let response: Awaited<ReturnType<typeof request>>
  try {
    response = await request(url, { signal: AbortSignal.any([signal, late]) })
    response.body.on('error', () => {}).destroy()
  } catch (error) {
    signal.throwIfAborted()
    const code = late.aborted ? 'ETIMEDOUT' : codeFromOutside(error)
    return trial(
      `${url.origin} does not answer: ${connectionWords(code, error)}`,
      isOfCertificate(code)
        ? 'The source rejects a certificate that is self-signed or whose chain is incomplete: use one from a public authority, with its chain'
        : 'Check the address, that shopsync listen is up, and that the proxy forwards to it',
      1,
    )
  }
  const { statusCode: status, headers } = response
  if (status >= 300 && status < 400)
    return trial(
      `answers ${status}, a redirect to ${headers['location'] ?? 'nowhere'}`,
      'The source does not follow redirects: register the final address, or forward this one to shopsync listen',
      1,
    )
  if (status !== 405 || headers['x-shopsync'] !== 'listening')
    return trial(
      `answers ${status}, unlike shopsync listen`,
      `Expected 405 with the header X-Shopsync: forward ${url.pathname} to events.path, without changing the method`,
      1,
    )
  if (url.protocol === 'https:') return trial(`${url.href} leads to shopsync listen`, null, 0)
  // On this machine: the address given to the sandbox.
  const isOwn = /^(localhost|127\..*|\[::1\])$/.test(url.hostname)
  return trial(
    `${url.href} leads to shopsync listen; the source delivers only to https`,
    isOwn ? null : 'Register an address that begins with https://',
    isOwn ? 0 : 1,
  )
}
