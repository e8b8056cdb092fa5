/*
 * Which proxy a request goes through: the one from a setting, or else from HTTPS_PROXY and NO_PROXY in the environment.
 * Used by load.ts for the API, and by callers of webhooks and heartbeats.
 */
import type { Environment } from './expand.js'
import type { Problem } from './problems.js'
import { Secret } from './secret.js'

/** An HTTP proxy that opens tunnels (CONNECT). */
export interface ProxyAddress {
  /** May contain user and password. */
  readonly url: Secret
  /** The address without them, for people. */
  readonly label: string
  /** The setting or variable that names it. */
  readonly from: string
}

/**
 * `configured`: the setting, if there is one; false: no proxy, whatever the environment has. As in other programs, the
 * variables only apply to https addresses. A host without a scheme counts as http://HOST.
 */
function namedProxy(
  target: string,
  configured: string | false | undefined,
  environment: Environment,
): { readonly url: string; readonly from: string } | undefined {
  if (configured === false || !URL.canParse(target)) return undefined
  if (configured !== undefined) return { url: configured, from: 'api.proxy' }
  const { protocol, hostname, port } = new URL(target)
  if (protocol !== 'https:') return undefined
  const from = ['https_proxy', 'HTTPS_PROXY'].find((one) => environment[one]) ?? ''
  const value = environment[from]
  if (!value) return undefined
  const except = environment.no_proxy || environment.NO_PROXY || ''
  if (except.split(/[\s,]+/).some((rule) => excepts(rule, hostname, port || '443'))) return undefined
  return { url: value.includes('://') ? value : `http://${value}`, from }
}

/** The problem with the proxy's address. It may hold a password, so no message quotes it. */
export function proxyProblem(...which: Parameters<typeof namedProxy>): Problem | undefined {
  const named = namedProxy(...which)
  if (!named || isProxy(named.url)) return undefined
  return {
    path: named.from,
    found: 'a text that is not the address of an HTTP proxy',
    expected: '"http://HOST:PORT" or "http://USER:PASSWORD@HOST:PORT"',
    hint: 'In user and password, type % as %25, @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F; "api": {"proxy": false} uses no proxy',
  }
}

/** Whether it can be read in one way only: a "#" or "/" in a password would make a part of it the host. */
const isProxy = (url: string): boolean =>
  URL.canParse(url) && /^https?:\/\/[^/?#\s]+\/?$/i.test(url) && !/%(?![0-9a-f]{2})/i.test(url)

/** The proxy for an address. Call it only after `proxyProblem` found nothing wrong. */
export function proxyFor(...which: Parameters<typeof namedProxy>): ProxyAddress | undefined {
  const named = namedProxy(...which)
  return named && { url: new Secret(named.url), label: new URL(named.url).host, from: named.from }
}

/**
 * Whether a NO_PROXY rule matches the host: a name with all names below it, `*`, or an address, each with an optional
 * port.
 */
function excepts(rule: string, host: string, port: string): boolean {
  if (rule === '*') return true
  const [, name = '', onPort = port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(rule) ?? ['', rule]
  const wanted = name.toLowerCase().replace(/^\*?\./, '')
  const bare = (text: string): string => text.replace(/^\[|\]$/g, '')
  if (wanted === '' || onPort !== port) return false
  return bare(host) === bare(wanted) || host.endsWith(`.${wanted}`)
}
