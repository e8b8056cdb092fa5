import { outsideCode, Stop } from '../../base/errors.js'
import { connectionWords, isOfCertificate, wrongName } from '../../base/networkwords.js'
import {
  away,
  classifyWith,
  codeOf,
  createdAgain,
  type DriverError,
  everybodys,
  foreign,
  type Trouble,
  tables,
  troubleOf,
} from '../classify.js'
import { isOfConnection } from './connection.js'
import { holderOf, isUndone, lockTimeout } from './lockholder.js'

/** Errors of the pool and the driver that have no code. */
const lostText =
  /terminated|Connection ended|timeout exceeded when trying to connect|not queryable|establishing an SSL connection/

const noneLeft =
  'The server has no connection left for this user: end other sessions, or raise max_connections or the connection limit of the role; a run takes up to four'

/** The server's codes for a missing right, and for a key that is there already. */
export const denied = '42501'
export const taken = '23505'

const asSent = 'the data is stored as the API sends it, and a constraint or index cannot fix it'
const room = 'Free some space and run the same command again: what is committed is complete'

/** Perhaps by another process of ours, at the same moment: then it is found when this is tried again. */
const madeMeanwhile = tables(
  'Rename or drop what has that name; the next run creates the table and fills it',
  { isPassing: true },
)

/** Whose trouble an error is, by the beginning of the server's code. See classify.ts. */
const troubles: Readonly<Record<string, Trouble>> = {
  '08': away,
  '57P': away,
  '40001': away,
  '40P01': away,
  '25P03': away,
  '53300': { ...away, hint: noneLeft },
  '28': everybodys('Check user and password: in warehouse.url, PGPASSWORD or ~/.pgpass'),
  '3D': everybodys('Create the database, or name another in warehouse.url'),
  '25006': everybodys('Expected a writable database, not a standby: check warehouse.url'),
  '53': everybodys(room, { does: 'is out of room', exitCode: 1 }),
  '58': everybodys("Check the database server's disk and its log", {
    does: 'has trouble with its disk',
    exitCode: 1,
  }),
  XX001: everybodys("Check the database server's log and its disk; reindex, or restore a backup"),
  XX002: everybodys("Check the database server's log and its disk; reindex, or restore a backup"),
  '23502': tables(`Expected columns that allow null: alter table … alter column … drop not null. ${foreign}`),
  [taken]: tables(`Drop the unique index or constraint that was added: ${asSent}`),
  '23': tables(`Drop the constraint that was added: ${asSent}`),
  '2BP01': tables('Drop what depends on it, and create it again after shopsync migrate'),
  '42P06': madeMeanwhile,
  '42P07': madeMeanwhile,
  '42P01': tables(createdAgain),
  '42703': tables(createdAgain),
  '57014': tables(
    "Raise the role's statement_timeout, such as: alter role … set statement_timeout = '5min'; or see what slows the table down",
  ),
  '54': tables(foreign),
  '54000': tables(`Drop the index that was added, or make it of a digest such as md5(COLUMN): ${asSent}`),
  P0: tables('Drop the trigger, rule or event trigger that was added'),
  XX: tables("Check the database server's log; reindex or restore the table"),
}

const changedAsMade =
  'The table was changed as it was made, and is undone with that: drop the event trigger or the default privileges that do so, and run the same command again'

/** Everything else that a statement on a table may meet. */
const ofTheTable = tables(foreign)

/** The server's messages of these classes name tables, columns and constraints, and never values of a row. */
const wordsNameNoValues = /^(0A|23|25|28|40|42|44|53|54|55|57|58)/
/** What a function says was written by a user. */
const wordsOfFunction = 'exec_stmt_raise'

const routineOf = (error: object): unknown => ('routine' in error ? error.routine : undefined)

/** Whether a function was running: that of a trigger, a policy or an index, since no statement of ours calls one. */
const isInFunction = (error: object): boolean =>
  'where' in error && typeof error.where === 'string' && /\bfunction\b/.test(error.where)

/** The table that the server names. It does so at a commit, too, when deferred constraints are checked. */
function tableOf(error: object, { schema }: Names): string | undefined {
  if (!('schema' in error && 'table' in error) || error.schema !== schema) return undefined
  return typeof error.table === 'string' ? error.table : undefined
}

/** Who reads and writes, and where. */
export interface Names {
  readonly schema: string
  readonly role: string
  /** What asks for an encrypted connection, such as "sslmode=require in warehouse.url". */
  readonly tlsFrom?: string | undefined
}

/** A name as people type it. */
export const plain = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/** What to type for a table on which the role lacks a right. */
export const grantOn = (table: string, { schema, role }: Names): string =>
  `Type, as its owner: grant select, insert, update, delete on ${plain(schema)}.${plain(table)} to ${plain(role)}`

/** What to type for a table whose rows are hidden from the role. */
export const withoutRowSecurity = (table: string, { schema, role }: Names): string =>
  `Type, as its owner: alter table ${plain(schema)}.${plain(table)} disable row level security; or let the role read and write every row: create policy shopsync on ${plain(schema)}.${plain(table)} to ${plain(role)} using (true)`

/** The role lacks a right. A table's own, or that of something else: a schema, or a table that a trigger needs. */
function lacksRight({ cause, table }: DriverError, names: Names): Trouble {
  if (table === undefined)
    return everybodys(
      'Grant this user CREATE on the database or the schema, and read and write on its tables',
    )
  if (routineOf(cause) === 'ExecWithCheckOptions') return tables(withoutRowSecurity(table, names))
  if (/must be owner/.test(cause.message))
    return tables(`Type shopsync migrate as the owner of the table, or make ${names.role} its owner`)
  if (/for schema/.test(cause.message) && !isInFunction(cause)) {
    const type = `grant usage, create on schema ${plain(names.schema)} to ${plain(names.role)}`
    return tables(`Type: ${type}`, { type: [type] })
  }
  const namesTable = new RegExp(`\\b${table}\\b`).test(cause.message)
  return tables(namesTable ? grantOn(table, names) : foreign)
}

/** Two made the same schema, table or type at the same moment, and this one lost: the catalog would have it twice. */
export const isMadeMeanwhile = (error: Error): boolean =>
  codeOf(error) === taken && 'schema' in error && error.schema === 'pg_catalog'

/** What the server answered, which an error of ours may have as its cause. */
export function answerIn(error: unknown): { readonly code: string; readonly cause: Error } | undefined {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (/^[0-9A-Z]{5}$/.test(codeOf(cause))) return { code: codeOf(cause), cause }
  return undefined
}

function judge(error: DriverError, names: Names): Trouble | undefined {
  const { cause, code, table } = error
  if ((isOfConnection(cause) && outsideCode(cause)) || lostText.test(cause.message)) return away
  // It lets nobody in for now, as while it is copied or renamed. The code alone says other things, too.
  if (code === '55000' && routineOf(cause) === 'CheckMyDatabase') return away
  if (isUndone(cause)) return table === undefined ? everybodys(changedAsMade) : tables(changedAsMade)
  if (code === denied) return lacksRight(error, names)
  if (code === lockTimeout)
    return tables(`${holderOf(cause)}: end that session, or wait for it`, { isPassing: true })
  if (isMadeMeanwhile(cause)) return madeMeanwhile
  // 53100: no space left. A file size limit and a quota have no code of their own.
  if (/could not (extend|write)/.test(cause.message)) return troubles['53']
  const found = troubleOf(troubles, code)
  const isMissing = code === '42P01' || code === '42703'
  // A table that a trigger needs isn't created by anything of ours.
  const isAnothers = routineOf(cause) !== 'errorMissingColumn' && !cause.message.includes(table ?? '')
  if (isMissing && table !== undefined && (isAnothers || isInFunction(cause))) return ofTheTable
  return found ?? (code !== '' && table !== undefined ? ofTheTable : undefined)
}

/** Errors whose meaning isn't in their codes. */
function special({ cause, code }: DriverError, where: string, { tlsFrom }: Names): Error | undefined {
  const { message } = cause
  const stop = (words: string, hint: string): Stop =>
    new Stop(`The warehouse ${where} ${words}`, { exitCode: 3, hint, cause })
  const overTls = (why: string, expected: string): Stop =>
    stop(
      `cannot be reached over TLS: ${why}`,
      `Expected ${expected}, because ${tlsFrom ?? 'the server'} asks for it`,
    )
  if (isOfCertificate(code)) {
    const expected: Readonly<Record<string, string>> = {
      [wrongName]:
        'one of these names in warehouse.url, or sslmode=verify-ca, which only checks who signed the certificate',
      CERT_HAS_EXPIRED: 'a renewed certificate on the server',
    }
    const usual = 'a certificate that is trusted (name its authority with sslrootcert in warehouse.url)'
    return overTls(connectionWords(code, cause), expected[code] ?? usual)
  }
  if (/does not support SSL|SSL is not enabled/.test(message))
    return overTls(message, 'ssl = on (on one machine or a private network, leave the sslmode out)')
  // OpenSSL's own code: a file of certificates or a key that can't be read. The server says that it wants one.
  if (code.startsWith('ERR_OSSL') || message.includes('certificate'))
    return overTls(message, 'files in PEM form as sslrootcert, sslcert and sslkey in warehouse.url')
  if (/client password must be/.test(message))
    return stop(
      'asks for a password, and found none',
      'Type postgres://USER:PASSWORD@HOST/DATABASE in warehouse.url, or set PGPASSWORD, or write ~/.pgpass',
    )
  if (/unsupported startup parameter/.test(message))
    return stop(
      `is behind a pooler that refuses session settings: ${message}`,
      'Set "warehouse": {"pooler": true} if the pooler runs in transaction mode',
    )
  if (code === '28000' && /no encryption|SSL off/.test(message))
    return stop(
      `accepts only encrypted connections: ${message} (${code})`,
      'Add ?sslmode=verify-full after the database in warehouse.url; sslmode=require trusts any certificate',
    )
  return undefined
}

/** Maps an error of pg or of the server to the classes of errors.ts. */
export const classify = (error: unknown, where: string, names: Names): Error =>
  classifyWith(error, {
    where,
    special: (found) => special(found, where, names),
    trouble: (found) => judge(found, names),
    table: (cause) => tableOf(cause, names),
    // The server's `detail` contains values of the row, so it is never reported.
    words: ({ cause, code }) =>
      wordsNameNoValues.test(code) && routineOf(cause) !== wordsOfFunction ? cause.message : undefined,
  })
