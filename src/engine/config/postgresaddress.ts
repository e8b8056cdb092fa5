/*
 * The one reading of a Postgres address: the check of the configuration, what messages show of it, what logs conceal and
 * what is connected to all come from here. Two parsers would disagree about a "#" or a "/" in a password, and one of them
 * would take a part of the password for the host and print it.
 */
import { nearest } from './nearest.js'

export type TlsMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

const bindings = ['disable', 'prefer', 'require'] as const

/** The parts of an address, without escapes. undefined: not in the address. */
export interface PostgresAddress {
  readonly user: string | undefined
  readonly password: string | undefined
  /** The password as the address spells it: logs conceal both. */
  readonly typedPassword: string | undefined
  /** A name, an IP address, or the folder of a socket. */
  readonly host: string | undefined
  readonly port: number | undefined
  readonly database: string | undefined
  /** Startup options of the session, as libpq's `options`. */
  readonly options: string | undefined
  readonly applicationName: string | undefined
  /** In milliseconds. */
  readonly connectTimeout: number | undefined
  /** Whether the server must prove that it knows the password, over this very TLS connection. */
  readonly channelBinding: (typeof bindings)[number] | undefined
  /** As in the address; files are paths. */
  readonly tls: {
    readonly mode: TlsMode | undefined
    readonly rootCert: string | undefined
    readonly cert: string | undefined
    readonly key: string | undefined
  }
}

/** What is wrong with an address, without any part of it that may be secret. */
export interface AddressFault {
  readonly found: string
  readonly expected?: string | undefined
  readonly hint: string
}

const escapes =
  'In user, password and database, type % as %25, @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F'

const fault = (found: string, hint = escapes): AddressFault => ({ found, hint })

const names = [
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl', 'options', 'host', 'port', 'user', 'password'],
  ...['application_name', 'connect_timeout', 'channel_binding', 'dbname'],
] as const

type Parameters = Partial<Record<(typeof names)[number], string>>

const isName = (text: string): text is keyof Parameters => (names as readonly string[]).includes(text)

/**
 * Parameters that libpq knows and providers print, with the values that ask for nothing more than what is done anyway.
 * An empty list: any value.
 */
const fulfilled: Readonly<Record<string, readonly string[]>> = {
  target_session_attrs: ['any', 'read-write', 'primary', 'prefer-standby'],
  client_encoding: ['auto', 'utf8', 'UTF8', 'utf-8', 'UTF-8'],
  gssencmode: ['disable', 'prefer'],
  sslnegotiation: ['postgres'],
  sslcertmode: ['allow'],
  sslcompression: ['0'],
  sslsni: ['1'],
  keepalives: ['1'],
  keepalives_idle: [],
  keepalives_interval: [],
  keepalives_count: [],
  tcp_user_timeout: [],
  load_balance_hosts: [],
  fallback_application_name: [],
}

const pooled =
  'Leave it out, and set "warehouse": {"pooler": true} if that server is a pooler in transaction mode'
const inSchema = 'Leave it out, and set "warehouse": {"schema": "shopsync"}'
/** What to type in place of parameters that mean something here, but not in an address. */
const elsewhere: Readonly<Record<string, string>> = {
  pgbouncer: pooled,
  prepareThreshold: pooled,
  schema: inSchema,
  currentSchema: inSchema,
  search_path: inSchema,
  hostaddr: 'Leave it out, and name that address as the host',
  passfile: 'Leave it out, and name the file in PGPASSFILE in the environment',
  service: 'Leave it out, and write what the service names into the address',
  sslpassword: 'Leave it out, and name a key without a passphrase',
}

/** Whether something is a fault instead of a value. */
export const isFault = (value: object): value is AddressFault => 'found' in value

/** Reads an address that begins with postgres:// or postgresql://. */
export function readPostgresAddress(url: string): PostgresAddress | AddressFault {
  const text = url.replace(/^postgres(ql)?:\/\//, '')
  if (/[\s\p{Cc}]/u.test(text)) return fault('a space or a line break in a Postgres address')
  if (/%(?![0-9a-f]{2})/i.test(text)) return fault('a "%" that does not start an escape')
  if (!isDecodable(text)) return fault('an escape that is no UTF-8')
  if (text.includes('#')) return fault('a "#" in a Postgres address')
  const [place = '', ...queries] = text.split('?')
  const [authority = '', ...path] = place.split('/')
  if (queries.length > 1 || queries.join('').includes('@')) return fault('a "?" before the host')
  if (path.length > 1 || path.join('').includes('@')) return fault('a "/" in user, password or database')
  const parameters = readParameters(queries[0] ?? '')
  return isFault(parameters) ? parameters : assemble(authority, path[0] ?? '', parameters)
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** A "+" is a space, as in every query. */
const decodedParameter = (text: string): string => decodeURIComponent(text.replaceAll('+', '%20'))

function readParameters(query: string): Parameters | AddressFault {
  const found: Parameters = {}
  for (const pair of query.split('&').filter(Boolean)) {
    const at = pair.indexOf('=')
    const name = decodedParameter(at < 0 ? pair : pair.slice(0, at))
    const more = isName(name) ? undefined : unusedParameter(name, decodedParameter(pair.slice(at + 1)))
    if (more) return more
    if (!isName(name)) continue
    if (at < 0 || at === pair.length - 1)
      return fault(`the parameter ${name} without a value`, `Type ${name}=VALUE`)
    if (name in found) return fault(`the parameter ${name} twice`, 'Leave one of them out')
    found[name] = decodedParameter(pair.slice(at + 1))
  }
  return found
}

/**
 * What isn't known would be ignored, and a connection without TLS looks like one with it. undefined: the parameter asks
 * for what is done anyway.
 */
function unusedParameter(name: string, value: string): AddressFault | undefined {
  const values = Object.hasOwn(fulfilled, name) ? fulfilled[name] : undefined
  if (values?.length === 0 || values?.includes(value)) return undefined
  if (values)
    return {
      found: `the parameter ${name} with a value that shopsync cannot fulfill`,
      expected: `one of ${values.join(', ')}`,
      hint: `Leave it out, or type ${name}=${values[0]}`,
    }
  // Behind a forgotten escape, it may be a part of the password.
  const shown = /^[a-z][a-z_]{1,30}$/i.test(name) ? `the parameter ${name}` : 'a parameter (not shown)'
  const instead = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined
  if (instead !== undefined) return { found: `${shown} in a Postgres address`, hint: instead }
  const near = nearest(name, names)
  return {
    found: `${shown} in a Postgres address`,
    expected: `one of ${names.join(', ')}`,
    hint: near
      ? `Did you mean ${near}?`
      : 'Leave it out; options=-c%20NAME%3DVALUE sets a setting of the session',
  }
}

function assemble(authority: string, path: string, more: Parameters): PostgresAddress | AddressFault {
  const at = authority.lastIndexOf('@')
  const [name = '', ...secrets] = at < 0 ? [] : authority.slice(0, at).split(':')
  const place = readHost(authority.slice(at + 1))
  if (isFault(place)) return place
  const port = more.port === undefined ? place.port : portOf(more.port)
  if (typeof port === 'object') return port
  const { connect_timeout: timeout, channel_binding: binding, dbname } = more
  if (timeout !== undefined && !/^\d{1,3}$/.test(timeout))
    return fault('a connect_timeout that is no number', 'Type connect_timeout=10, in seconds')
  const tls = readTls(more)
  if (isFault(tls)) return tls
  const channelBinding = bindings.find((one) => one === binding)
  if (channelBinding !== binding)
    return {
      found: 'a channel_binding of another kind',
      expected: `one of ${bindings.join(', ')}`,
      hint: 'Type channel_binding=prefer',
    }
  if (channelBinding === 'require' && tls.mode === 'disable')
    return fault(
      'channel_binding=require without TLS',
      'Type sslmode=verify-full, or leave channel_binding out',
    )
  const decoded = (part: string): string | undefined => decodeURIComponent(part) || undefined
  return {
    user: more.user ?? decoded(name),
    password: more.password ?? decoded(secrets.join(':')),
    typedPassword: secrets.join(':') || undefined,
    host: more.host ?? place.host,
    port,
    database: dbname ?? decoded(path),
    options: more.options,
    applicationName: more.application_name,
    connectTimeout: timeout === undefined ? undefined : Number(timeout) * 1000,
    channelBinding,
    tls,
  }
}

const hostHint = `Type postgres://USER:PASSWORD@HOST:PORT/DATABASE. ${escapes}`

function readHost(text: string): Pick<PostgresAddress, 'host' | 'port'> | AddressFault {
  if (text.includes(',')) return fault('several hosts', 'Name the one that can be written')
  const [, v6, plain = '', digits] = /^(?:\[([\da-f:.]+)\]|([^:[\]]*))(?::(.*))?$/i.exec(text) ?? []
  const host = v6 ?? decodeURIComponent(plain)
  if (v6 === undefined && !/^(\/.*|[\p{L}\p{N}._-]*)$/u.test(host))
    return fault('a host that is no name (not shown)', hostHint)
  const port = digits === undefined || digits === '' ? undefined : portOf(digits)
  if (typeof port === 'object') return port
  return { host: host || undefined, port }
}

const portOf = (digits: string): number | AddressFault =>
  /^\d{1,5}$/.test(digits) && Number(digits) > 0 && Number(digits) < 65_536
    ? Number(digits)
    : fault('a port that is no number from 1 to 65535 (not shown)', hostHint)

const tlsModes: readonly string[] = ['disable', 'require', 'verify-ca', 'verify-full'] satisfies TlsMode[]
const isTlsMode = (text: string): text is TlsMode => tlsModes.includes(text)

/** `from`: where the mode was typed, such as "sslmode". */
export function tlsMode(text: string, from: string): TlsMode | AddressFault {
  if (isTlsMode(text)) return text
  return {
    found: `${from}=${text}`,
    expected: `one of ${tlsModes.join(', ')}`,
    hint: `allow and prefer silently fall back to clear text. Type ${from}=verify-full; ${from}=require encrypts but trusts any certificate`,
  }
}

function readTls({
  sslmode,
  ssl,
  sslrootcert,
  sslcert,
  sslkey,
}: Parameters): PostgresAddress['tls'] | AddressFault {
  if (ssl !== undefined && !/^(true|1)$/.test(ssl))
    return fault('an ssl that is not true', 'Type sslmode=disable, or sslmode=verify-full')
  if (ssl !== undefined && sslmode !== undefined)
    return fault('both ssl and sslmode', 'Leave ssl out: sslmode says more')
  const mode = sslmode === undefined ? undefined : tlsMode(sslmode, 'sslmode')
  if (typeof mode === 'object') return mode
  if (mode === 'verify-ca' && sslrootcert === undefined)
    return {
      found: 'sslmode=verify-ca without sslrootcert',
      expected: 'the certificates of the authority to trust',
      hint: 'Type …&sslrootcert=/path/to/ca.pem, or sslmode=verify-full, which trusts the authorities that Node trusts',
    }
  if ((sslcert === undefined) !== (sslkey === undefined))
    return fault('one of sslcert and sslkey', 'Name both: the certificate and its key')
  const isWanted = [ssl, sslrootcert, sslcert].some((value) => value !== undefined)
  return {
    mode: mode ?? (isWanted ? 'verify-full' : undefined),
    rootCert: sslrootcert,
    cert: sslcert,
    key: sslkey,
  }
}

/** `HOST:PORT/DATABASE`, as an address has it. */
export function postgresPlace({ host = '', port, database = '' }: PostgresAddress): string {
  const name = host.startsWith('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host
  return `${name}${port === undefined ? '' : `:${port}`}/${encodeURIComponent(database)}`
}
