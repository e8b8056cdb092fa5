/* Who may ask the HTTP server of `shopsync schedule` for what. Used by http.ts. */
import { isIP } from 'node:net'

/** What monitoring asks for, by whichever name it knows this machine: nothing of a customer is in the answers. */
const watched: ReadonlySet<string> = new Set(['/metrics', '/health', '/ready'])

/**
 * Whether a request names this server by an address. A name could be one that a foreign page has pointed at this machine
 * to read the report through its visitor's browser.
 */
function isTrusted(host: string, listening: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || name === listening || isIP(name) !== 0
}

const pathOf = (url: string): string => url.split('?')[0] ?? ''

/** `host`: as the request names this server. `listening`: as the configuration does. */
export const mayAsk = (url: string, host: string, listening: string): boolean =>
  watched.has(pathOf(url)) || isTrusted(host, listening)
