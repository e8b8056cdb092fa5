import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { inFolder } from '../engine/config/address.js'
import type { Config } from '../engine/config/config.js'
import { isOpenToAll, readEnvFile } from '../engine/config/envfile.js'
import { type Environment, expand } from '../engine/config/expand.js'
import {
  configName,
  type DocumentOptions,
  type Loaded,
  load,
  parseFile,
  readConfig,
  readDocument,
} from '../engine/config/load.js'
import { tablesOf } from '../engine/model/table.js'
import type { Invocation } from './command.js'
import type { Io } from './io.js'

/* The three ways to a configuration: the file, a document that the program makes, and the outline that a dictionary needs. */

/** What the flags and the world say of where the configuration is. */
type Call = Pick<Invocation, 'globals' | 'io'>

const surroundings = ({ environment, workingDirectory }: Io) => ({ environment, workingDirectory, tablesOf })

/** A file with secrets that everybody on this machine may read. */
export interface OpenFile {
  readonly file: string
  /** The settings and variables whose values are in it. */
  readonly keys: readonly string[]
}

interface Found extends Loaded {
  readonly openFiles: readonly OpenFile[]
}

/** What the environment has already goes before what a file says. */
function withVariables({ globals, io }: Call) {
  const known = surroundings(io)
  const config = configName({ file: globals.config, environment: known.environment })
  const found = readEnvFile(globals.envFile, { workingDirectory: known.workingDirectory, config })
  const environment = { ...found?.variables, ...known.environment }
  return { around: { ...known, environment }, envFile: found }
}

/** The configuration that the command line, the environment or the working directory names. */
export function loadConfiguration(call: Call): Found {
  const { around, envFile } = withVariables(call)
  const loaded = load({ ...around, file: call.globals.config })
  const keys = new Map<string, string[]>()
  if (envFile) keys.set(envFile.file, Object.keys(envFile.variables))
  for (const { file, key } of loaded.secretFiles) keys.set(file, [...(keys.get(file) ?? []), key])
  const openFiles = [...keys].map(([file, of]) => ({ file, keys: of }))
  return { ...loaded, openFiles: openFiles.filter(({ file }) => isOpenToAll(file)) }
}

/** The variables that `${NAME}` in a job may name. */
export const variablesOf = (call: Call): Environment => withVariables(call).around.environment

/** A configuration that the program itself has made. */
export const configurationOf = (document: unknown, name: string, io: Io): Config =>
  readDocument(document, { ...surroundings(io), name }).config

/** Stands in for settings that a dictionary does not need, and that may be missing where one is made. */
const stub = {
  api: { baseUrl: 'https://api.invalid', partnerId: '-', secret: '-' },
  warehouse: { url: 'sqlite:-' },
}

/** What a dictionary takes from a configuration, which may lack its secrets where a dictionary is made. */
export interface Outline {
  readonly resources: Config['resources']
  /** `url`: as far as it is known; empty where there is no configuration. */
  readonly warehouse: { readonly url: string; readonly schema: string }
  /** Schema of the views, where the configuration names one. */
  readonly views: string | undefined
  readonly staleAfter: number
}

/** The settings that commands read which do without the rest of a configuration. */
export function outline(call: Call): Outline {
  const { globals } = call
  const { around } = withVariables(call)
  const { environment } = around
  const name = configName({ file: globals.config, environment })
  const file = resolve(around.workingDirectory, name)
  const isNamed = globals.config !== undefined || Boolean(environment.SHOPSYNC_CONFIG)
  if (!isNamed && !existsSync(file)) return outlined(stub, '', { ...around, name })
  const { value, lines } = parseFile(readConfig(file, { ...around, file: globals.config }), name)
  const { resources = {}, warehouse, status = {}, report = {} } = membersOf(value)
  const { url, schema } = membersOf(warehouse)
  const filled = expand({ url }, { environment, folder: dirname(file), secrets: new Set(['url']) })
  const known = membersOf(filled.value).url
  const place = { ...stub.warehouse, ...(schema !== undefined && { schema }) }
  const document = { ...stub, warehouse: place, resources, status, report }
  const where = typeof known === 'string' && known !== '' ? inFolder(known, around.workingDirectory) : ''
  return outlined(document, where, { ...around, name, lines })
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function outlined(document: unknown, url: string, options: DocumentOptions): Outline {
  const { resources, warehouse, status, report } = readDocument(document, options).config
  return {
    resources,
    warehouse: { url, schema: warehouse.schema },
    views: report.schema,
    staleAfter: status.staleAfter,
  }
}
