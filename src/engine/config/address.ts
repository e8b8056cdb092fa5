import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { isFault, postgresPlace, readPostgresAddress } from './postgresaddress.js'
import type { Problem } from './problems.js'

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)

const example = 'Type "baseUrl": "https://api.example.com"'

/** The problem with an address of the API. Messages quote `shown`, the spelling in the file. */
export function baseUrlProblem(url: string, shown: string, allowInsecure: boolean): Problem | undefined {
  const problem = (expected: string, hint: string, found = JSON.stringify(shown)): Problem => ({
    path: 'api.baseUrl',
    found,
    expected,
    hint,
  })
  // What stands before an "@", or behind a "?", may be a password or a key.
  const isOpen = !/[@?#]/.test(url)
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    return problem(
      'an address that begins with https://',
      example,
      isOpen ? undefined : 'another text (not shown)',
    )
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    return problem(
      'an address without user, query or fragment',
      `${example}; the credentials go into partnerId and secret`,
      'an address with more than that (not shown)',
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
  const problem = (
    found: string,
    hint = 'Type "url": "sqlite:./warehouse.db"',
    expected = '"sqlite:PATH" or "postgres://USER@HOST/DATABASE"',
  ): Problem => ({ path: 'warehouse.url', found, expected, hint })
  if (/^sqlite:(:|file:)/.test(url))
    return problem('an in-memory database, or something other than a path: a warehouse must outlive the run')
  if (/^sqlite:~(?!\/)/.test(url)) return problem('a path that begins with ~ but not with ~/')
  if (/^sqlite:(?!\/\/)./s.test(url)) return undefined
  if (url.startsWith('sqlite:'))
    return problem(url === 'sqlite:' ? '"sqlite:" without a path' : '"sqlite://…"')
  if (/^postgres(ql)?:\/\//.test(url)) {
    const address = readPostgresAddress(url)
    return isFault(address) ? problem(address.found, address.hint, address.expected) : undefined
  }
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0]
  return problem(
    scheme ? `an address that begins with "${scheme}:"` : 'an address without "sqlite:" or "postgres:"',
    /postgres|pgsql|psql|\bdbname=/i.test(url) ? postgresHint(url) : undefined,
  )
}

/** Other programs and providers write such an address with something around it, or in another form. */
function postgresHint(url: string): string {
  const [, around = '', scheme] = /^(.*?)\b(?:(postgres(?:ql)?):\/\/)/is.exec(url) ?? []
  const plain = 'Type "url": "postgres://USER:PASSWORD@HOST:PORT/DATABASE"'
  if (scheme === undefined) return plain
  // In front of the scheme there is a prefix or a command of another program. Anything else may be a secret.
  const shown = /^[a-z:' ]{1,12}$/i.test(around) ? ` ${JSON.stringify(around)}` : ' what is in front of it'
  if (around === '') return `Type "${scheme.toLowerCase()}://" in lower case`
  const quoted = /["']/.test(around) ? ', and the quotes' : ''
  return `Leave${shown} out${quoted}: the address begins with "${scheme}://"`
}

/** The path of a SQLite address. ~/ is the home directory: a shell would know that, but none reads a configuration. */
export const sqlitePath = (url: string): string | undefined =>
  // A system may not know the user's home: then only an address that names it is a problem.
  url.startsWith('sqlite:') ? url.slice('sqlite:'.length).replace(/^~(?=\/)/, () => homedir()) : undefined

/**
 * Parameters of a Postgres address that are paths. "system" is libpq's word for the certificates that the system
 * trusts.
 */
const pathParameter = /(?<=[?&](?:sslrootcert|sslcert|sslkey)=)(?!system(?:&|$))[^&]+/g

/** The address with absolute paths. Relative ones start in the folder. */
export function inFolder(url: string, folder: string): string {
  const path = sqlitePath(url)
  return path === undefined
    ? url.replace(pathParameter, (file) => encodeURIComponent(resolve(folder, decodeURIComponent(file))))
    : `sqlite:${resolve(folder, path)}`
}

/** The warehouse's address without its password. */
export const warehouseLabel = (url: string): string => (url.startsWith('sqlite:') ? url : postgresLabel(url))

/** The address without password and parameters. Of one that can't be read, nothing is shown. */
function postgresLabel(url: string): string {
  const address = readPostgresAddress(url)
  if (isFault(address)) return 'postgres://'
  const { user } = address
  return `postgres://${user ? `${encodeURIComponent(user)}@` : ''}${postgresPlace(address)}`
}
