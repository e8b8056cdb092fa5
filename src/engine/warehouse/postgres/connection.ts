/**
 * How to connect to Postgres: TLS according to sslmode and sslrootcert in the address (with libpq's meanings), the
 * session's settings, and what a pooler in transaction mode leaves of both. Used by postgres/dialect.ts.
 */
import { readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { codeFromOutside, Stop } from '../../base/errors.js'
import { word } from '../../base/format.js'
import type { Environment } from '../../config/expand.js'
import {
  type AddressFault,
  isFault,
  type PostgresAddress,
  postgresPlace,
  readPostgresAddress,
  type TlsMode,
  tlsMode,
} from '../../config/postgresaddress.js'

/**
 * What every session has, whatever the server, the role, or the address sets. Names resolve in pg_catalog only: anyone who
 * may create something in a schema of the path could otherwise have it run as our role, since a function whose argument
 * types fit exactly is preferred to the server's own. So every name of ours has its schema.
 */
const settings = { search_path: 'pg_catalog,pg_temp', TimeZone: 'UTC', DateStyle: 'ISO,YMD' }

/** What ended a connection, or kept it from opening: errors of the socket and of TLS, not what the server answered. */
const ofConnections = new WeakSet<object>()

/** Whether an error arose in a connection to the server. See classify(). */
export const isOfConnection = (error: object): boolean => ofConnections.has(error)

/**
 * A connection to the server, in whatever pool: ours, that of a copy's other side, the queue's. An error without a listener
 * ends the process, and a pool doesn't listen to connections that it has lent; their next statement reports it.
 */
class ServerClient extends pg.Client {
  constructor(config?: pg.ClientConfig & Pick<PostgresAddress, 'channelBinding'>) {
    super(config)
    this.on('error', () => {})
    const { connection } = this as unknown as { readonly connection: Parameters<typeof refuseUnbound>[0] }
    connection.on('error', (error: object) => void ofConnections.add(error))
    if (config?.channelBinding === 'require') refuseUnbound(connection)
  }
}

/**
 * Refuses a server that asks for the password in another way than bound to this TLS connection, or for none: somebody in
 * between could ask so. The driver only prefers the binding.
 */
function refuseUnbound(connection: NodeJS.EventEmitter & { readonly stream: Socket }): void {
  let isBound = false
  const check = (): void => {
    if (isBound) return
    // A server that asks for nothing says in the same packet that it is ready: before the stream tells of its end.
    connection.removeAllListeners('readyForQuery')
    connection.emit(
      'error',
      new Stop('The server did not offer channel binding, expected it because of channel_binding=require', {
        exitCode: 3,
        hint: 'Type sslmode=verify-full in its place, which checks the certificate instead, or channel_binding=prefer',
      }),
    )
    connection.stream.destroy()
  }
  connection.on('authenticationSASL', ({ mechanisms }: { mechanisms: readonly string[] }) => {
    isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
    check()
  })
  for (const other of ['CleartextPassword', 'MD5Password', 'Ok'])
    connection.on(`authentication${other}`, check)
}

/** In milliseconds. A process that is stopped in the middle of a transaction must not hold the lease's row forever. */
const limits = { idle_in_transaction_session_timeout: 30_000, lock_timeout: 30_000 }

/** Startup options of a session: the address's options come first and ours follow, so ours win. */
const sessionOptions = (theirs = ''): string =>
  [theirs, ...Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)].join(' ').trim()

const locally = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `set local ${name} = ${value}`)
    .join('; ')

/** What a session has from its start on, for one transaction: behind a pooler nothing else lasts. */
const sessionLocally = locally({ ...settings, ...limits })

/**
 * The settings of each transaction that isn't a single statement, as statements. A commit is on disk before it is
 * confirmed, whatever the server's setting: what was fetched isn't fetched again. Compiling a view's query takes longer
 * than running it, and servers do so by default; as a startup option, that would keep `check` from seeing what other
 * sessions of the role get.
 */
export const transactionLocally = `${sessionLocally}; ${locally({ synchronous_commit: 'on', jit: 'off' })}`

/**
 * Sends a statement that belongs to no transaction. A pooler lends a session for one transaction, so behind one it gets a
 * transaction of its own, which begins with the session's settings.
 */
export async function sendAlone(
  client: pg.ClientBase,
  pooler: boolean,
  text: string,
  values?: readonly unknown[],
): Promise<pg.QueryResult> {
  const send = () => client.query(text, values ? [...values] : undefined)
  // These run in no transaction. They look no name up: a table has its schema, and what its indexes call is bound.
  if (!pooler || /^\s*vacuum\b|\bconcurrently\b/i.test(text)) return send()
  // Sent together. If the statement fails, the commit ends the transaction all the same.
  const sent = [client.query(`begin; ${sessionLocally}`), send(), client.query('commit')] as const
  return (await Promise.all(sent))[1]
}

/**
 * How to connect to an address that was checked. Behind a pooler, nothing is set when a session starts: PgBouncer refuses
 * settings that it doesn't know, and the session belongs to others after the transaction. What the address leaves out,
 * the driver takes from libpq's variables (PGPASSWORD, PGHOST, …).
 */
export function connecting(
  url: string,
  pooler: boolean,
  environment: Environment = process.env,
): {
  readonly config: pg.PoolConfig
  /** For messages: `HOST:PORT/DATABASE`. */
  readonly place: string
  readonly tlsFrom: string | undefined
} {
  const address = readPostgresAddress(url)
  if (isFault(address)) throw refused('warehouse.url', address)
  const { user, password, host, port, database, options, applicationName, connectTimeout, channelBinding } =
    address
  const { mode, from } = tlsModeOf(address, environment)
  const shared = {
    user,
    password: password ?? (environment['PGPASSWORD'] ? undefined : passwordInFile(environment)),
    host,
    port,
    database,
    application_name: applicationName ?? 'shopsync',
    connectionTimeoutMillis: connectTimeout ?? usualConnectMs,
    ssl: mode === undefined || mode === 'disable' ? false : tlsOf(mode, address),
    enableChannelBinding: channelBinding === undefined ? undefined : channelBinding !== 'disable',
    channelBinding,
    Client: ServerClient,
  }
  const session = { options: sessionOptions(options), ...limits }
  return {
    config: defined({ ...shared, ...(pooler ? { options } : session) }),
    place: postgresPlace(address),
    tlsFrom:
      mode === undefined || mode === 'disable'
        ? undefined
        : `${from}=${mode} in ${from === 'sslmode' ? 'warehouse.url' : 'the environment'}`,
  }
}

/** The lines of libpq's file of passwords. Like libpq, a file that can't be read counts as none. */
function passwordLines({ PGPASSFILE, HOME }: Environment): readonly string[] {
  const file = PGPASSFILE || join(HOME ?? '', '.pgpass')
  try {
    if ((statSync(file).mode & 0o077) === 0) return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch (cause) {
    codeFromOutside(cause)
    return []
  }
  throw new Stop(`Others may read the passwords in ${file}, expected that only you may`, {
    exitCode: 3,
    hint: `Type chmod 600 ${word(file)}`,
  })
}

const plain = (field = ''): string => field.replaceAll(/\\(.)/g, '$1')

/**
 * Looks the password up when a server asks for one. The driver would do so, too, but warns on stderr that its next version
 * doesn't: cron would mail that each hour.
 */
const passwordInFile =
  (environment: Environment) =>
  (asked: Readonly<Record<'host' | 'port' | 'database' | 'user', unknown>>): string | undefined => {
    const host = String(asked.host)
    const hosts = host.startsWith('/') ? [host, 'localhost'] : [host]
    const place = [hosts, [String(asked.port)], [String(asked.database)], [String(asked.user)]]
    const [, , , , password] =
      passwordLines(environment)
        .filter((line) => !line.startsWith('#'))
        .map((line) => [...`${line}:`.matchAll(/((?:\\.|[^:\\])*):/g)].map(([, field]) => plain(field)))
        .find((fields) => place.every((part, i) => fields[i] === '*' || part.includes(fields[i] ?? ''))) ?? []
    return password
  }

const usualConnectMs = 10_000

/** Without what is undefined: the driver looks for these elsewhere. */
const defined = (config: object): pg.PoolConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))

const refused = (place: string, { found, expected, hint }: AddressFault): Stop =>
  new Stop(`${place}: found ${found}${expected ? `, expected ${expected}` : ''}`, { exitCode: 2, hint })

/** The driver takes PGSSLMODE, too, but would trust less or more than libpq means by it. */
function tlsModeOf({ tls }: PostgresAddress, { PGSSLMODE }: Environment) {
  if (tls.mode !== undefined || !PGSSLMODE) return { mode: tls.mode, from: 'sslmode' }
  const mode = tlsMode(PGSSLMODE, 'PGSSLMODE')
  if (typeof mode === 'object') throw refused('The environment', mode)
  return { mode, from: 'PGSSLMODE' }
}

function tlsOf(mode: TlsMode, { tls: { rootCert, cert, key } }: PostgresAddress): ConnectionOptions {
  // "system": libpq's word for the certificate authorities that the system trusts.
  const ca = rootCert === undefined || rootCert === 'system' ? undefined : read('sslrootcert', rootCert)
  return {
    ca,
    cert: cert ? read('sslcert', cert) : undefined,
    key: key ? read('sslkey', key) : undefined,
    ...checks(mode, ca !== undefined),
  }
}

/**
 * What is checked about the server's certificate. Like libpq, `require` checks the authority if one is named. With
 * verify-full, pg itself compares the host's name or address with those in the certificate.
 */
function checks(mode: TlsMode, hasAuthority: boolean): ConnectionOptions {
  if (mode === 'require' && !hasAuthority) return { rejectUnauthorized: false }
  return mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }
}

function read(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Stop(
      `warehouse.url names ${file} as ${parameter}, which cannot be read (${codeFromOutside(cause)})`,
      {
        exitCode: 2,
        hint: 'Expected the path of a file with certificates in PEM form, absolute or from the folder of the configuration (after --to: from the working directory)',
        cause,
      },
    )
  }
}
