/*
 * Where SQLite writes temporary files: to sort, to make an index, to undo a statement. It takes the first of some folders that
 * may be written, and fails with an I/O error where none may, as in a container whose system is read-only. Then the folder of
 * the warehouse serves. Not memory: a large sort would use as much of it as the table has.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Environment } from '../../config/expand.js'

/** The folders that SQLite tries, in its order. */
const usual = ({ SQLITE_TMPDIR, TMPDIR }: Environment): string[] =>
  [SQLITE_TMPDIR, TMPDIR, '/var/tmp', '/usr/tmp', '/tmp', '.'].flatMap((folder) => folder ?? [])

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}

/** SQLite reads the environment once, when the first file is opened: called before its driver is loaded. */
export function provideTemporaryFolder(
  url: string,
  environment: Environment & { SQLITE_TMPDIR?: string } = process.env,
  folders = usual(environment),
): void {
  const own = dirname(resolve(url.slice('sqlite:'.length)))
  if (!folders.some(mayWrite) && mayWrite(own)) environment.SQLITE_TMPDIR = own
}
