/*
 * shopsync.env: the variables that a configuration refers to, such as the secret, for programs that nobody gives an
 * environment. Used by src/cli/configuration.ts.
 */
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { Stop } from '../errors.js'
import type { Environment } from './expand.js'

/** The file's name beside a configuration. */
export const usualEnvFile = 'shopsync.env'

export interface EnvFile {
  readonly file: string
  readonly variables: Environment
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'

/** Where containers mount secrets: their modes are those of who runs them, and nobody else is in there. */
const mounted = /^(\/var)?\/run\/secrets\//

/** Whether others than its owner and group may read a file. */
export const isOpenToAll = (file: string): boolean =>
  // The mode's last three bits are those of everybody.
  !mounted.test(file) && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0

/** Reads the named file, else the usual one beside the configuration; undefined where there is none. */
export function readEnvFile(
  named: string | undefined,
  { workingDirectory, config }: { readonly workingDirectory: string; readonly config: string },
): EnvFile | undefined {
  const usual = join(dirname(resolve(workingDirectory, config)), usualEnvFile)
  const file = named === undefined ? usual : resolve(workingDirectory, named)
  try {
    const text = readFileSync(file, 'utf8')
    return { file, variables: parseEnv(text) }
  } catch (cause) {
    if (named === undefined && codeOf(cause) === 'ENOENT') return undefined
    throw new Stop(`Could not read the variables in ${file} (${codeOf(cause)})`, {
      exitCode: 2,
      hint: 'Expected a file that this user may read, with lines such as SHOPSYNC_API_SECRET=...',
      cause,
    })
  }
}
