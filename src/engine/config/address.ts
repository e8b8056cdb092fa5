import { resolve } from 'node:path'
import type { Problem } from './problems.js'

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)

const example = 'Type "baseUrl": "https://api.example.com"'

/** The problem with an address of the API. Messages quote `shown`, the spelling in the file. */
export function baseUrlProblem(url: string, shown: string, allowInsecure: boolean): Problem | undefined {
  const problem = (expected: string, hint: string): Problem => ({
    path: 'api.baseUrl',
    found: JSON.stringify(shown),
    expected,
    hint,
  })
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    return problem('an address that begins with https://', example)
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    return problem(
      'an address without user, query or fragment',
      `${example}; the credentials go into partnerId and secret`,
    )
  }
  if (/\/api(\/v\d+)?\/*$/.test(parsed.pathname)) {
    return problem('the address without api/v1, which shopsync adds', `Type "baseUrl": "${parsed.origin}"`)
  }
  if (parsed.protocol === 'http:' && !allowInsecure && !isLoopback(parsed.hostname)) {
    const secure = `Type "baseUrl": "https://${parsed.host}", or set "api": {"allowInsecure": true} if the secret may cross the network in clear text`
    return problem('https, because plain http exposes the secret to the network', secure)
  }
  return undefined
}

/**
 * The problem with an address that messages are sent to. Anyone who knows such an address may write to it, so no
 * message quotes it.
 */
export function addressProblem(path: string, url: string, allowInsecure: boolean): Problem | undefined {
  const expected = 'an address that begins with https://'
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    return {
      path,
      found: 'another text (not shown)',
      expected,
      hint: 'Copy the whole address from the service',
    }
  if (parsed.protocol === 'https:' || allowInsecure || isLoopback(parsed.hostname)) return undefined
  return {
    path,
    found: 'an address that begins with http:// (not shown)',
    expected,
    hint: 'Plain http exposes the message to the network; set "api": {"allowInsecure": true} if that is acceptable',
  }
}

/** The problem with a warehouse address. It may hold a password, so no message quotes it. */
export function warehouseProblem(url: string): Problem | undefined {
  const problem = (found: string, hint = 'Type "url": "sqlite:./warehouse.db"'): Problem => ({
    path: 'warehouse.url',
    found,
    expected: '"sqlite:PATH" or "postgres://USER@HOST/DATABASE"',
    hint,
  })
  if (/^sqlite:(:|file:)/.test(url))
    return problem('an in-memory database, or something other than a path: a warehouse must outlive the run')
  if (/^sqlite:~(?!\/)/.test(url)) return problem('a path that begins with ~ but not with ~/')
  if (/^sqlite:(?!\/\/)./s.test(url)) return undefined
  if (url.startsWith('sqlite:'))
    return problem(url === 'sqlite:' ? '"sqlite:" without a path' : '"sqlite://…"')
  if (/^postgres(ql)?:\/\//.test(url)) {
    if (!URL.canParse(url)) return problem('a Postgres address that cannot be read', escapes)
    const address = new URL(url)
    if (!isEscaped(address)) return problem('a "%" that does not start an escape', escapes)
    return tlsProblem(address)
  }
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0]
  return problem(
    scheme ? `an address that begins with "${scheme}:"` : 'an address without "sqlite:" or "postgres:"',
  )
}

const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full']

/** The problem with the TLS settings in a Postgres address. */
function tlsProblem({ searchParams }: URL): Problem | undefined {
  const mode = searchParams.get('sslmode')
  if (mode === null) return undefined
  const path = 'warehouse.url'
  if (!tlsModes.includes(mode))
    return {
      path,
      found: `sslmode=${mode}`,
      expected: `one of ${tlsModes.join(', ')}`,
      hint: 'allow and prefer silently fall back to clear text. Type sslmode=verify-full; sslmode=require encrypts but trusts any certificate',
    }
  if (mode !== 'verify-ca' || searchParams.get('sslrootcert')) return undefined
  return {
    path,
    found: 'sslmode=verify-ca without sslrootcert',
    expected: 'the certificates of the authority to trust',
    hint: 'Type …&sslrootcert=/path/to/ca.pem, or sslmode=verify-full, which trusts the authorities that Node trusts',
  }
}

const escapes =
  'In user, password and database, type % as %25, @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F'

/** Whether every part of an address can be unescaped; the driver fails if one can't. */
function isEscaped({ username, password, hostname, pathname, search }: URL): boolean {
  try {
    for (const part of [username, password, hostname, pathname, search]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** The address with ~/ replaced by the home directory. A shell would do that, but no shell reads the configuration. */
export const atHome = (url: string, home: string): string =>
  url.replace(/^sqlite:~(?=\/)/, () => `sqlite:${home}`)

/**
 * Parameters of a Postgres address that are paths. "system" is libpq's word for the certificates that the system
 * trusts.
 */
const pathParameter = /(?<=[?&](?:sslrootcert|sslcert|sslkey)=)(?!system(?:&|$))[^&]+/g

/** The address with absolute paths. Relative ones start in the folder. */
export const inFolder = (url: string, folder: string): string =>
  url.startsWith('sqlite:')
    ? `sqlite:${resolve(folder, url.slice('sqlite:'.length))}`
    : url.replace(pathParameter, (path) => encodeURIComponent(resolve(folder, decodeURIComponent(path))))

/** The warehouse's address without its password. */
export function warehouseLabel(url: string): string {
  if (!URL.canParse(url) || url.startsWith('sqlite:')) return url
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`
}
