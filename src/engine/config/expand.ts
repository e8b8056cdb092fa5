import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { codeFromOutside } from '../base/errors.js'
import { memberPath } from './configtext.js'
import type { Problem, SettingPaths } from './problems.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** A file that holds a secret, and the setting it belongs to. */
export interface SecretFile {
  readonly file: string
  readonly key: string
}

/** Replaces `${NAME}` and `{"file": PATH}` with their values. A value is used as it is, even if it contains `${`. */
export function expand(
  value: unknown,
  context: {
    readonly environment: Environment
    /** Folder of the configuration file, where a relative PATH in `{"file": PATH}` starts. */
    readonly folder: string
    /** Settings that may be written as `{"file": PATH}`. */
    readonly secrets: SettingPaths
  },
): {
  readonly value: unknown
  readonly problems: Problem[]
  /** Names of the environment variables that were used. */
  readonly variables: ReadonlySet<string>
  /** Files from which secrets were read. */
  readonly files: readonly SecretFile[]
  /** The settings whose secrets are in the document itself. */
  readonly held: readonly string[]
} {
  const problems: Problem[] = []
  const variables = new Set<string>()
  const files: SecretFile[] = []
  const held: string[] = []
  const visit = (item: unknown, path: string): unknown => {
    if (typeof item === 'string' && context.secrets.has(path) && isSecret(item, path)) held.push(path)
    if (typeof item === 'string') return fillIn(item, path, context.environment, problems, variables)
    if (Array.isArray(item)) return item.map((member, index) => visit(member, `${path}[${index}]`))
    if (typeof item !== 'object' || item === null) return item
    const members = Object.entries(item).map(([key, member]) => [key, visit(member, memberPath(path, key))])
    const filled: Record<string, unknown> = Object.fromEntries(members)
    return context.secrets.has(path) ? fromFile(filled, path, { ...context, problems, files }) : filled
  }
  const expanded = visit(value, '')
  return { value: expanded, problems, variables, files, held }
}

/** The address of a receiver is secret as a whole; other addresses are secret if they hold a password. */
const isSecret = (text: string, path: string): boolean =>
  !text.includes('${') &&
  (/^(alerts|then)\b/.test(path) || !/^(sqlite:|\w+:\/\/(?![^/@\s]*:[^/@\s]+@))/.test(text))

function fillIn(
  text: string,
  path: string,
  environment: Environment,
  problems: Problem[],
  variables: Set<string>,
): string {
  return text.replaceAll(/\$?\$\{([^}]*)\}/g, (whole, name: string) => {
    if (whole.startsWith('$$')) return whole.slice(1)
    variables.add(name)
    const value = environment[name]
    if (value) return value
    const state = value === undefined ? 'is not set' : 'is empty'
    problems.push({
      path,
      found: `\${${name}}, but the environment variable ${name} ${state}`,
      expected: 'its value in the environment',
      hint: `Type export ${name}=... in the shell, or add ${name}=... to shopsync.env next to the configuration`,
    })
    return whole
  })
}

function fromFile(
  item: Record<string, unknown>,
  path: string,
  { folder, problems, files }: { folder: string; problems: Problem[]; files: SecretFile[] },
): unknown {
  const { file } = item
  if (typeof file !== 'string' || Object.keys(item).length !== 1) return item
  const place = resolve(folder, file)
  try {
    const text = readFileSync(place, 'utf8').trim()
    const lines = text.split('\n').length
    if (text === '' || lines > 1)
      problems.push({
        path: `${path}.file`,
        found: text === '' ? `an empty file at ${place}` : `a file of ${lines} lines at ${place}`,
        expected: 'a file that holds the secret on one line, and nothing else',
      })
    files.push({ file: place, key: path })
    return text
  } catch (error) {
    problems.push({
      path: `${path}.file`,
      found: `no readable file at ${place} (${codeFromOutside(error)})`,
      expected: 'a file that holds the secret on one line, and nothing else',
      hint: "A relative path starts at the configuration file's folder",
    })
    return item
  }
}
