/**
 * How to connect to Postgres: TLS according to sslmode and sslrootcert in the address (with libpq's meanings), the
 * session's settings, and what a pooler in transaction mode leaves of both. Used by postgres/dialect.ts.
 */
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type pg from 'pg'
import { Stop } from '../../base/errors.js'
import { startup, utcLocally } from './sessiontime.js'

/** In milliseconds. A process that is stopped in the middle of a transaction must not hold the lease's row forever. */
const limits = { idle_in_transaction_session_timeout: 30_000, lock_timeout: 30_000 }

const limitsLocally = Object.entries(limits)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ')

/** An address's parameters about TLS. pg would interpret them differently: it treats `require` as `verify-full`. */
const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl']

/**
 * `url`: `postgres://user:password@host:port/database`. Behind a pooler, nothing is set when a session starts:
 * PgBouncer refuses settings that it doesn't know, and the session belongs to others after the transaction.
 */
export function clientConfig(url: string, pooler: boolean): pg.ClientConfig {
  const { connectionString, ssl } = tlsOf(url)
  const shared = { connectionString, application_name: 'shopsync', ...(ssl !== undefined && { ssl }) }
  return pooler ? shared : { ...shared, ...startup(connectionString), ...limits }
}

/** A commit is on disk before it is confirmed, whatever the server's setting: what was fetched isn't fetched again. */
const durably = 'set local synchronous_commit = on'

/** The settings of each transaction, as statements. */
export const localSettings = (pooler: boolean): string =>
  [...(pooler ? [limitsLocally] : []), durably, utcLocally].join('; ')

function tlsOf(url: string): { readonly connectionString: string; readonly ssl?: ConnectionOptions | false } {
  if (!URL.canParse(url)) return { connectionString: url }
  const address = new URL(url)
  const given = tlsParameters.map((name) => address.searchParams.get(name))
  if (given.every((value) => value === null)) return { connectionString: url }
  for (const name of tlsParameters) address.searchParams.delete(name)
  const [mode, root, cert, key] = given
  if ((mode ?? 'verify-full') === 'disable') return { connectionString: address.href, ssl: false }
  // "system": libpq's word for the certificate authorities that the system trusts.
  const ca = root === null || root === 'system' ? undefined : read('sslrootcert', root)
  const ssl: ConnectionOptions = {
    ...(ca !== undefined && { ca }),
    ...(cert && { cert: read('sslcert', cert) }),
    ...(key && { key: read('sslkey', key) }),
    ...checks(mode ?? 'verify-full', ca !== undefined),
  }
  return { connectionString: address.href, ssl }
}

/**
 * What is checked about the server's certificate. Like libpq, `require` checks the authority if one is named. With
 * verify-full, pg itself compares the host's name or address with those in the certificate.
 */
function checks(mode: string, hasAuthority: boolean): ConnectionOptions {
  if (mode === 'require' && !hasAuthority) return { rejectUnauthorized: false }
  return mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }
}

function read(parameter: string, file: string | null | undefined): string {
  try {
    return readFileSync(file ?? '', 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    throw new Stop(`warehouse.url names ${file} as ${parameter}, which cannot be read (${code})`, {
      exitCode: 2,
      hint: 'Expected the path of a file with certificates in PEM form, absolute or from the working directory',
      cause,
    })
  }
}
