import { Retry, Stop } from '../../errors.js'
import { classifyWith, hintFor } from '../classify.js'

const lost = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/
/** Errors of the pool and the driver that have no code. */
const lostText = /terminated|Connection ended|timeout exceeded when trying to connect|not queryable/
const transient = /^(08|40001|40P01|55P03|57P0|53300|25P03)/

/** By the beginning of the server's code. */
const refused: Record<string, string> = {
  '28': 'Check user and password in warehouse.url',
  '3D': 'Create the database, or name another in warehouse.url',
  '42501': 'Grant this user CREATE on the database or the schema, and read and write on its tables',
  '25006': 'Expected a database that can be written, not a standby: check warehouse.url',
}

/** An error of pg or of the server in the classes of errors.ts. */
export const classify = (error: unknown, where: string): Error =>
  classifyWith(error, (cause, code) => {
    const { message } = cause
    if (lost.test(code) || transient.test(code) || lostText.test(message))
      return new Retry(`The warehouse ${where} does not answer (${code || message})`, { cause })
    const hint = hintFor(refused, code)
    if (hint !== undefined)
      return new Stop(`The warehouse ${where} refuses: ${message} (${code})`, { exitCode: 3, hint, cause })
    // 53100: no space left. A limit on the size of files and a quota have no code of their own.
    if (code.startsWith('53') || /could not (extend|write)/.test(message))
      return new Stop(`The warehouse ${where} is out of room: ${message} (${code})`, {
        exitCode: 1,
        hint: 'Free some space and run the same command again: what is committed is complete',
        cause,
      })
    return undefined
  })
