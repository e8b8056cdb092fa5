/*
 * Turns a file, or a document in memory, into the configuration that the program works with: checked, complete, frozen.
 * Used by src/shell/configuration.ts.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { resources as declared } from '../../../schema/index.js'
import { codeFromOutside, Stop } from '../base/errors.js'
import { word } from '../base/format.js'
import { baseUrlProblem, inFolder, sqlitePath, warehouseLabel, warehouseProblem } from './address.js'
import type { Config } from './config.js'
import { configFile, configName, leftBehind } from './configfolder.js'
import { JsonError, parseDocument } from './configtext.js'
import { type Environment, expand, type SecretFile } from './expand.js'
import type { Resources } from './leaf.js'
import { privacyProblems, treatmentsIn } from './privacysection.js'
import {
  inWords,
  listProblems,
  type Problem,
  problemsOf,
  type SettingPaths,
  settingPaths,
} from './problems.js'
import { proxyFor, proxyProblem } from './proxy.js'
import { type Checks, type ConfigDocument, configSchema, configShape } from './schema.js'
import { Secret } from './secret.js'

/** What a configuration is checked against, and where its values come from. */
interface Surroundings extends Checks {
  readonly environment: Environment
  readonly workingDirectory: string
}

interface LoadOptions extends Surroundings {
  /** From --config. */
  readonly file?: string | undefined
}

export interface Loaded {
  readonly config: Config
  /** Names of the environment variables that the file refers to. */
  readonly variables: readonly string[]
  /** Files that hold a secret, including the configuration itself. */
  readonly secretFiles: readonly SecretFile[]
  /** The sections that were written, among those that have defaults for everything. */
  readonly written: ReadonlySet<string>
}

/** Settings that hold secrets: they are never shown, and may be written as `{"file": PATH}`. */
const secretPaths = ({ sections }: Checks): SettingPaths =>
  settingPaths([
    'api.secret',
    'api.proxy',
    'warehouse.url',
    'privacy.key',
    ...sections.flatMap(({ secrets }) => secrets),
  ])

/** Reads and checks the configuration file (see configName). */
export function load(options: LoadOptions): Loaded {
  const name = configName(options)
  const file = configFile(options)
  const text = readConfig(file, options)
  const { value, lines } = parseFile(text, name)
  return readDocument(value, { ...options, name, file, lines })
}

export interface DocumentOptions extends Surroundings {
  /** What messages call the document. */
  readonly name: string
  readonly file?: string | undefined
  /** The line of each value, if the document was read from a file. */
  readonly lines?: ReadonlyMap<string, number>
}

const folderOf = ({ file, workingDirectory }: Pick<DocumentOptions, 'file' | 'workingDirectory'>): string =>
  file ? dirname(file) : workingDirectory

/** Checks a configuration that is already parsed: the part of loading that needs no file. */
export function readDocument(raw: unknown, options: DocumentOptions): Loaded {
  const { resources = declared, tablesOf, environment } = options
  const checks = { ...options, resources }
  const secrets = secretPaths(options)
  const folder = folderOf(options)
  const { value, problems, variables, files, held } = expand(raw, {
    environment,
    folder,
    secrets,
  })
  const parsed = configShape(checks).safeParse(value, { error: inWords })
  if (!parsed.success) {
    const context = { raw, schema: configSchema(checks), secrets }
    problems.push(...withoutDoubles(problemsOf(parsed.error, context), problems))
  } else {
    problems.push(...withoutDoubles(addressProblems(parsed.data, raw, options), problems))
    problems.push(...privacyProblems(parsed.data as ConfigDocument, tablesOf, resources))
  }
  if (problems.length > 0 || !parsed.success) return refuse(problems, options)
  const config = freeze(toConfig(parsed.data, { ...options, resources }))
  const { file } = options
  const own = file === undefined ? [] : held.map((key) => ({ file, key }))
  const written = new Set(Object.keys(raw as object))
  return { config, variables: [...variables], secretFiles: [...files, ...own], written }
}

/** A value that couldn't be filled in is one problem, not two. */
export const withoutDoubles = (more: readonly Problem[], known: readonly Problem[]): Problem[] =>
  more.filter(
    (problem) => !known.some(({ path }) => path === problem.path || path === `${problem.path}.file`),
  )

function addressProblems(
  found: Readonly<Record<string, unknown>>,
  raw: unknown,
  options: DocumentOptions,
): Problem[] {
  const { environment, sections } = options
  const document = found as ConfigDocument
  const { baseUrl, allowInsecure } = document.api
  const shown = (raw as { api: { baseUrl: string } }).api.baseUrl
  const api = baseUrlProblem(baseUrl, shown, allowInsecure)
  const url = textOf(document.warehouse.url)
  const warehouse = warehouseProblem(url) ?? otherFolder(url, options)
  const proxy = proxyProblem(baseUrl, proxyText(document.api.proxy), environment)
  const around = { allowInsecure, sections: found, raw }
  const more = sections.flatMap((one) => one.problems(found[one.name], around))
  return [api, proxy, warehouse, ...more].filter((problem) => problem !== undefined)
}

/** A warehouse that is where paths started before. */
function otherFolder(url: string, options: DocumentOptions): Problem | undefined {
  const path = sqlitePath(url)
  const folder = folderOf(options)
  const left = path && leftBehind(path, { folder, workingDirectory: options.workingDirectory })
  if (!left) return undefined
  const { here, there } = left
  return {
    path: 'warehouse.url',
    found: `a file ${here} in the working directory`,
    expected: `it at ${there}, because relative paths of a configuration start in its folder`,
    hint: `To keep it, type mv ${word(here)}* ${word(`${dirname(there)}/`)}, or write "url": "sqlite:${here}" into ${options.name}`,
  }
}

const textOf = (value: string | { file: string }): string => (typeof value === 'string' ? value : '')

const proxyText = (value: ConfigDocument['api']['proxy']): string | false | undefined =>
  value === 'environment' ? undefined : typeof value === 'object' ? textOf(value) : value

/** The text of a configuration file. If there isn't one, throws a Stop that tells you how to make one. */
export function readConfig(file: string, options: Pick<LoadOptions, 'file' | 'environment'>): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const code = codeFromOutside(cause)
    if (code !== 'ENOENT')
      throw new Stop(
        code === 'EISDIR'
          ? `Found the folder ${file}, expected the configuration's file`
          : `Could not read the configuration ${file} (${code})`,
        {
          exitCode: 2,
          hint:
            code === 'EISDIR'
              ? `Type ${word(join(file, 'config.json'))} in its place`
              : 'Expected a file that this user may read. Check its permissions',
          cause,
        },
      )
    const from = options.file
      ? '--config'
      : options.environment.SHOPSYNC_CONFIG
        ? 'SHOPSYNC_CONFIG'
        : undefined
    throw new Stop(`Found no configuration at ${file}`, {
      exitCode: 2,
      hint: `${from ? `Expected a JSON file at the path that ${from} names. ` : ''}Type shopsync init, which creates one in the working directory, or shopsync demo, which needs none`,
      cause,
    })
  }
}

/** Parses a JSON file that a person wrote. `name` is what messages call it. */
export function parseFile(text: string, name: string): ReturnType<typeof parseDocument> {
  try {
    return parseDocument(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new Stop(
      `${name} is not valid JSON: line ${error.line}, column ${error.column}: ${error.message}`,
      { exitCode: 2, hint: 'Fix it there and try again' },
    )
  }
}

/** Stops with all problems of a file at once. */
export function refuse(
  problems: readonly Problem[],
  options: { name: string; lines?: ReadonlyMap<string, number> },
): never {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  const list = listProblems(problems, options.lines ?? new Map())
  const told = `${options.name} has ${count}:\n${list}\nEvery setting is described in docs/configuration.md.`
  throw new Stop(told, { exitCode: 2 })
}

function toConfig(
  found: Readonly<Record<string, unknown>>,
  {
    file,
    resources,
    environment,
    workingDirectory,
    sections,
  }: DocumentOptions & { readonly resources: Resources },
): Config {
  const folder = folderOf({ file, workingDirectory })
  const document = found as ConfigDocument
  const { api, warehouse, sync, history, log, privacy } = document
  const { attempts, base, max } = api.retry
  const url = inFolder(textOf(warehouse.url), folder)
  const settings = Object.keys(resources).map((name) => {
    const { enabled = true, path, columns = {}, history = false } = document.resources[name] ?? {}
    return [name, { enabled, path, columns, history }] as const
  })
  return {
    file,
    folder,
    api: {
      ...api,
      baseUrl: api.baseUrl.replace(/\/+$/, ''),
      secret: new Secret(textOf(api.secret)),
      proxy: proxyFor(api.baseUrl, proxyText(api.proxy), environment),
      retry: { attempts, baseMs: base, maxMs: max },
    },
    warehouse: { ...warehouse, url: new Secret(url), label: warehouseLabel(url) },
    sync,
    resources: Object.fromEntries(settings),
    history,
    privacy: {
      preset: privacy.preset,
      columns: treatmentsIn(privacy),
      key: privacy.key === undefined ? undefined : new Secret(textOf(privacy.key)),
      keyVersion: privacy.keyVersion,
    },
    log: { level: log.level, format: log.format },
    sections: Object.fromEntries(sections.map((one) => [one.name, one.read(found[one.name])])),
  }
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) freeze(member)
  }
  return value
}
