import { Retry, type Skip, Stop } from '../../base/errors.js'
import { classifyWith, hintFor, tableTrouble } from '../classify.js'

const lost = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/
/** Errors of the pool and the driver that have no code. */
const lostText = /terminated|Connection ended|timeout exceeded when trying to connect|not queryable/
const transient = /^(08|40001|40P01|55P03|57P0|53300|25P03)/

/** By the beginning of the server's code. */
const refused: Record<string, string> = {
  '28': 'Check user and password in warehouse.url',
  '3D': 'Create the database, or name another in warehouse.url',
  '42501': 'Grant this user CREATE on the database or the schema, and read and write on its tables',
  '25006': 'Expected a writable database, not a standby: check warehouse.url',
}

const unwanted = 'Drop it: the data is stored as the API sends it, and a database constraint cannot fix it'
const foreign =
  'Expected the table as shopsync created it: undo the change to it, or rename it and run shopsync sync'

/**
 * Problems with the rows of one table, by the beginning of the server's code. The other tables can still be written.
 */
const troubles: Record<string, string> = {
  '23502': `Expected columns that allow null: alter table … alter column … drop not null. ${foreign}`,
  '23505': `Drop the unique index or constraint that was added. ${unwanted}`,
  '23': `Drop the constraint that was added. ${unwanted}`,
  '44': foreign,
  '42P01': 'The next run creates it again and fills it; so does shopsync migrate, then shopsync sync',
  '42703': 'The next run creates it again and fills it; so does shopsync migrate, then shopsync sync',
  '42P10': foreign,
  '428': foreign,
  '42804': foreign,
  '55P03': 'Another session holds a lock on the table: end that session, or wait for it',
  '55': foreign,
  '57014':
    "Raise the role's statement_timeout, such as: alter role … set statement_timeout = '5min'; or see what slows the table down",
  '54': 'Drop the index that was added: a row does not fit into it',
  '22': foreign,
  '0A': foreign,
  '09': foreign,
  P0: 'Drop the trigger or rule that was added to the table',
  XX: "Check the database server's log; reindex or restore the table",
}

/**
 * Messages of these classes may contain values of a row, or were written by a user. The others name tables, columns and
 * constraints.
 */
const wordsMayHoldValues = /^(22|P0|XX|09)/

/** The server's `detail` contains values of the row, so it is never reported. */
const trouble = (cause: Error, code: string, hint: string, where: string): Skip =>
  tableTrouble(where, {
    table: 'table' in cause && typeof cause.table === 'string' ? cause.table : undefined,
    words: wordsMayHoldValues.test(code) ? undefined : cause.message,
    code,
    hint,
    cause,
  })

/** Maps an error of pg or of the server to the classes of errors.ts. */
export const classify = (error: unknown, where: string): Error =>
  classifyWith(error, (cause, code) => {
    const { message } = cause
    if (/does not support SSL|SSL is not enabled|certificate/.test(message))
      return new Stop(`The warehouse ${where} cannot be reached over TLS: ${message}`, {
        exitCode: 3,
        hint: 'Expected a server with ssl = on whose certificate is trusted: see sslmode and sslrootcert in warehouse.url; on one machine or a private network, leave sslmode out',
        cause,
      })
    if (/unsupported startup parameter/.test(message))
      return new Stop(`The warehouse ${where} is behind a pooler that refuses session settings: ${message}`, {
        exitCode: 3,
        hint: 'Set "warehouse": {"pooler": true} if the pooler runs in transaction mode',
        cause,
      })
    if (code === '28000' && /no encryption|SSL off/.test(message))
      return new Stop(`The warehouse ${where} accepts only encrypted connections: ${message} (${code})`, {
        exitCode: 3,
        hint: 'Add ?sslmode=verify-full after the database in warehouse.url; sslmode=require trusts any certificate',
        cause,
      })
    // 55P03: another session has locked a table. If it stays locked, only that table has a problem.
    if (lost.test(code) || transient.test(code) || lostText.test(message))
      return new Retry(`The warehouse ${where} does not answer (${code || message})`, {
        cause: code === '55P03' ? trouble(cause, code, troubles[code] ?? '', where) : cause,
      })
    const hint = hintFor(refused, code)
    if (hint !== undefined)
      return new Stop(`The warehouse ${where} refuses: ${message} (${code})`, { exitCode: 3, hint, cause })
    // 53100: no space left. A file size limit and a quota have no code of their own.
    if (code.startsWith('53') || /could not (extend|write)/.test(message))
      return new Stop(`The warehouse ${where} is out of room: ${message} (${code})`, {
        exitCode: 1,
        hint: 'Free some space and run the same command again: what is committed is complete',
        cause,
      })
    const what = hintFor(troubles, code)
    return what === undefined ? undefined : trouble(cause, code, what, where)
  })
