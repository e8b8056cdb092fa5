import { Stop } from '../../base/errors.js'

/** The address of all requests, checked once, so that no request can leave the configured host. */
export interface ApiTarget {
  readonly origin: string
  /** The path of the base URL, without a slash at its end. */
  readonly prefix: string
}

export function parseTarget(baseUrl: string, allowInsecure: boolean): ApiTarget {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username || url.password)
    throw refused(
      'The API base URL is not usable',
      'Set api.baseUrl to an address like https://api.example.com',
    )
  if (url.search || url.hash)
    throw refused('The API base URL has a query or fragment', 'Set api.baseUrl without ? and #')
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname))
    throw refused(
      `Plain http to ${url.host} would send the secret readable`,
      'Use https in api.baseUrl, or set api.allowInsecure to true',
    )
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** A value that may stand in a header; the message never holds it. */
export function checkCredential(name: string, value: string): string {
  if (/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(value)) return value
  const found = value === '' ? 'is empty' : 'holds spaces at its ends, line breaks or characters beyond ASCII'
  throw refused(`${name} ${found}`, `Set ${name} to the value that the API operator issued`)
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)
  )
}

function refused(message: string, hint: string): Stop {
  return new Stop(message, { exitCode: 2, hint })
}
