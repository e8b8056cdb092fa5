/*
 * shopsync.env: the variables that a configuration refers to, such as the secret, for when a program is started without
 * an environment. Used by src/shell/configuration.ts.
 */
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { codeFromOutside, Stop } from '../base/errors.js'
import { type ConfigurationCall, configFolder } from './configfolder.js'
import type { Environment } from './expand.js'

/** The name of the file next to a configuration. */
export const usualEnvFile = 'shopsync.env'

/** Where containers mount secrets. Their modes are set by the person who runs the container, and nobody else is in it. */
const mounted = /^(\/var)?\/run\/secrets\//

/** Whether users other than its owner and group may read a file. */
export function isOpenToAll(file: string): boolean {
  try {
    // The last three bits of the mode are for everybody.
    return !mounted.test(file) && (statSync(file).mode & 0o004) !== 0
  } catch (cause) {
    // It was read just before: what was moved or closed since is open to nobody.
    codeFromOutside(cause)
    return false
  }
}

/** A statement: a name, and a value that may span several lines if quoted. */
const statement =
  /^(?<name>[^=\n]*?)[ \t]*=[ \t]*(?:(?<quote>["'`]).*?\k<quote>(?<behind>[^\n]*)|(?<plain>[^\n]*))/s

/**
 * Node silently skips what it can't read in a file of variables: a secret would be lost, or taken with its quote, and
 * the API would seem to refuse it. No message quotes a line, which may be the secret itself.
 */
function refuseMistakes(text: string, file: string): void {
  let line = 1
  for (let rest = text.replaceAll(/\r\n?/g, '\n'); rest !== ''; ) {
    const [skipped = ''] = /^(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*(?:#[^\n]*$)?/.exec(rest) ?? []
    line += skipped.split('\n').length - 1
    rest = rest.slice(skipped.length)
    if (rest === '') return
    const found = statement.exec(rest)
    const mistake = mistakeIn(found)
    if (mistake) throw new Stop(`${file}, line ${line}: found ${mistake}`, { exitCode: 2, hint: usualLines })
    const [whole = rest] = found ?? []
    line += whole.split('\n').length - 1
    rest = rest.slice(whole.length)
  }
}

const usualLines = `Write one variable per line, such as SHOPSYNC_API_SECRET='...'; a comment begins with #`

function mistakeIn(found: RegExpExecArray | null): string | undefined {
  if (!found?.groups) return 'no = in it, expected NAME=VALUE'
  const { name = '', plain = '', behind = '' } = found.groups
  const bare = name.replace(/^export[ \t]+/, '')
  if (bare === '') return 'no name before the =, expected NAME=VALUE'
  if (/[\s"'`#]/.test(bare)) return 'a name with spaces, quotes or # in it, expected NAME=VALUE'
  if (/^["'`]/.test(plain))
    return `a quote ${plain[0]} that is never closed, expected it at the end of the value`
  if (!/^[ \t]*(?:#|$)/.test(behind)) return 'text after the closing quote, expected the end of the line'
  return undefined
}

/** Reads the named file, or else the usual one next to the configuration. undefined if there isn't one. */
export function readEnvFile(
  named: string | undefined,
  call: ConfigurationCall,
): { readonly file: string; readonly variables: Environment } | undefined {
  const usual = join(configFolder(call), usualEnvFile)
  const file = named === undefined ? usual : resolve(call.workingDirectory, named)
  try {
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    refuseMistakes(text, file)
    return { file, variables: parseEnv(text) }
  } catch (cause) {
    const code = codeFromOutside(cause)
    if (named === undefined && code === 'ENOENT') return undefined
    throw new Stop(`Could not read the variables in ${file} (${code})`, {
      exitCode: 2,
      hint: 'Expected a file that this user may read, with lines such as SHOPSYNC_API_SECRET=...',
      cause,
    })
  }
}
