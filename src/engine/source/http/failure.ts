/** Which error a failed request becomes. Its class tells the retry loop and the run what to do. Used by exchange.ts. */

import { type ErrorDetails, outsideCode, Retry, Skip, Stop } from '../../base/errors.js'
import { connectionWords, isOfCertificate, wrongName } from '../../base/networkwords.js'
import type { ProxyAddress } from '../../config/proxy.js'

/** What a response other than 200 means for the cursor (docs/dev/api.md, Errors). */
export function statusFailure(
  what: string,
  status: number,
  after: number | undefined,
  known: ErrorDetails,
): Error {
  const message = `${what} answered ${status}, expected 200`
  const details = { ...known, status }
  if (status === 401)
    return new Stop(`${what} answered 401: the credentials are refused`, {
      ...details,
      exitCode: 3,
      hint: 'Check api.partnerId and api.secret; production and sandbox use different secrets',
    })
  // If a 429 concerns every request, the throttle does the waiting and `after` is zero.
  if (status === 429) return new Retry(message, { ...details, after: after ?? 0, hint: spent })
  // 501 says that the server can't do this at all.
  if ((status >= 500 && status !== 501) || status === 408 || status === 425 || (status > 200 && status < 300))
    return new Retry(message, { ...details, after })
  return new Skip(message, {
    ...details,
    reason: status === 404 ? 'absent' : 'refused',
    hint: hintOf(status, known),
  })
}

const spent = 'The rate limit is used up: try again later, or find out what else uses this partner id'

function hintOf(status: number, { tenantId }: ErrorDetails): string {
  if (status === 404 && tenantId === undefined)
    return 'Check api.baseUrl: the API answers below its api/v1/, which shopsync adds'
  if (status === 404) return 'The tenant is not granted to this partner, or the API does not offer this path'
  if (status === 403) return 'Ask the API operator what this partner may read'
  if (status < 400) return 'Redirects are not followed; set api.baseUrl to the address they lead to'
  return 'The API does not accept this request; check api.baseUrl and resources.NAME.path'
}

/** What to do where neither the address nor the network is the cause. */
const HINTS: readonly (readonly [codes: RegExp, hint: string])[] = [
  [/HEADERS_OVERFLOW/, 'Ask the operator of the API, or of the gateway in front of it, for smaller headers'],
  [/^E[MN]FILE$/, 'Raise the limit on open files (ulimit -n), or lower api.concurrency'],
  [/^(EPROTO|ERR_SSL_)/, 'Check the port in api.baseUrl, and whether it begins with https:// or http://'],
]

/** What kept connections to a proxy from opening. */
const ofProxies = new WeakSet<object>()

/** For an error of connecting to a proxy: that one is away, and not the API. */
export const markProxy = (error: Error): void => void ofProxies.add(error)

const nameOfParser = (error: unknown): string | undefined =>
  error instanceof Error && error.name === 'HTTPParserError' ? error.name : undefined

const isOfProxy = (error: unknown): boolean => error instanceof Error && ofProxies.has(error)

/**
 * What a broken connection means. An error that didn't arise outside stays what it is. Otherwise the error itself isn't
 * kept as the cause: errors of the HTTP parser contain pieces of the response, which may be customer data.
 */
export function brokenConnection(
  what: string,
  error: unknown,
  details: ErrorDetails,
  { origin, via }: { readonly origin: string; readonly via: ProxyAddress | undefined },
): unknown {
  // The HTTP parser's have a name, and not always a code.
  const code = outsideCode(error) ?? nameOfParser(error)
  if (code === undefined) return error
  const meaning = connectionWords(code, error)
  // It won't be trusted at the next attempt either.
  if (isOfCertificate(code))
    return new Skip(`${what}: ${origin}: ${meaning}`, {
      ...details,
      reason: 'failed',
      hint:
        code === wrongName
          ? 'Write a name that the certificate has into api.baseUrl'
          : 'Check api.baseUrl; for a private authority set NODE_EXTRA_CA_CERTS to its certificate file',
    })
  const answer = via && answerOfProxy(error)
  if (via && answer !== undefined) return refusedTunnel(what, answer, details, via)
  if (via && isOfProxy(error))
    return new Retry(`${what}: the proxy ${via.label} does not answer: ${meaning}`, {
      ...details,
      hint: `Check ${via.from} and the network`,
    })
  return new Retry(`${what}: ${origin}: ${meaning}`, {
    ...details,
    hint:
      HINTS.find(([codes]) => codes.test(code))?.[1] ??
      (via
        ? `Check api.baseUrl, the network, and the proxy ${via.label} (${via.from})`
        : 'Check api.baseUrl and the network'),
  })
}

/** The status with which a proxy refused to open a tunnel. undici only reports it in its message. */
function answerOfProxy(error: unknown): number | undefined {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : '') ?? []
  return status === undefined ? undefined : Number(status)
}

function refusedTunnel(what: string, status: number, details: ErrorDetails, via: ProxyAddress): Error {
  const told = `the proxy ${via.label} answered ${status} to CONNECT, expected 200`
  if (status === 407)
    return new Stop(`${what}: ${told}: it refuses the login`, {
      ...details,
      exitCode: 3,
      hint: `Check user and password in ${via.from}: http://USER:PASSWORD@${via.label}`,
    })
  const hint = `Ask the proxy's administrator whether it allows connections to the API's host; ${via.from} names the proxy`
  if (status >= 500 || status === 429) return new Retry(`${what}: ${told}`, { ...details, hint })
  return new Skip(`${what}: ${told}`, { ...details, reason: 'failed', hint })
}
