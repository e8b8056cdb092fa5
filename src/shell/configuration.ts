import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { joinedNames } from '../engine/base/format.js'
import { inFolder } from '../engine/config/address.js'
import type { Config } from '../engine/config/config.js'
import { configFile, configFolder, configName } from '../engine/config/configfolder.js'
import { isOpenToAll, readEnvFile } from '../engine/config/envfile.js'
import { type Environment, expand } from '../engine/config/expand.js'
import {
  type DocumentOptions,
  type Loaded,
  load,
  parseFile,
  readConfig,
  readDocument,
} from '../engine/config/load.js'
import { tablesOf } from '../engine/model/table.js'
import type { CommandContext, Invocation } from './command.js'
import { sectionsOf } from './features.js'
import type { Io } from './io.js'

/*
 * The three ways to get a configuration: from the file, from a document that the program makes, and as the outline that
 * a dictionary needs.
 */

/** What the flags and the environment say about where the configuration is. */
type Call = Pick<Invocation, 'features' | 'globals' | 'io'>

const surroundings = ({ environment, workingDirectory }: Io) => ({ environment, workingDirectory })

/** A file with secrets that everybody on this machine can read. */
interface OpenFile {
  readonly file: string
  /** The settings and variables whose values are in it. */
  readonly keys: readonly string[]
}

/** Environment variables take precedence over the file, which is found beside the configuration and so can't name it. */
function withVariables({ globals, io }: Pick<Call, 'globals' | 'io'>) {
  const known = surroundings(io)
  const found = readEnvFile(globals.envFile, { ...known, file: globals.config })
  const { SHOPSYNC_CONFIG } = known.environment
  const environment = { ...found?.variables, ...known.environment, SHOPSYNC_CONFIG }
  return { around: { ...known, environment }, envFile: found }
}

/** The configuration that the command line, the environment or the working directory names. */
export async function loadConfiguration(
  call: Call,
): Promise<Loaded & { readonly openFiles: readonly OpenFile[] }> {
  const { around, envFile } = withVariables(call)
  const sections = await sectionsOf(call.features)
  const loaded = load({ ...around, tablesOf, sections, file: call.globals.config })
  const keys = new Map<string, string[]>()
  if (envFile) keys.set(envFile.file, Object.keys(envFile.variables))
  for (const { file, key } of loaded.secretFiles) keys.set(file, [...(keys.get(file) ?? []), key])
  const openFiles = [...keys].map(([file, of]) => ({ file, keys: of }))
  return { ...loaded, openFiles: openFiles.filter(({ file }) => isOpenToAll(file)) }
}

/** Where what the configuration names is looked for, whether there is a configuration or not. */
export const folderOf = ({ globals, io }: Pick<Call, 'globals' | 'io'>): string =>
  configFolder({ ...surroundings(io), file: globals.config })

/** The variables that `${NAME}` in a job may use. */
export const variablesOf = (call: Pick<Call, 'globals' | 'io'>): Environment =>
  withVariables(call).around.environment

/** A configuration that the program itself made. */
export async function configurationOf(
  document: unknown,
  name: string,
  { features, io }: Pick<Call, 'features' | 'io'>,
): Promise<Config> {
  const sections = await sectionsOf(features)
  return readDocument(document, { ...surroundings(io), tablesOf, sections, name }).config
}

/** Placeholders for settings that a dictionary doesn't need and that may be missing when one is made. */
const stub = {
  api: { baseUrl: 'https://api.invalid', partnerId: '-', secret: '-' },
  warehouse: { url: 'sqlite:-' },
}

/** What a dictionary uses from a configuration, which may lack its secrets when a dictionary is made. */
export interface Outline {
  readonly resources: Config['resources']
  /** `url`: as far as known. Empty without a configuration. */
  readonly warehouse: { readonly url: string; readonly schema: string }
  readonly sections: Config['sections']
}

/** The settings for commands that don't need the rest of a configuration. `names`: sections of features. */
export async function outline(call: Call, names: readonly string[]): Promise<Outline> {
  const { globals } = call
  const { around } = withVariables(call)
  const sections = await sectionsOf(call.features)
  const known = { ...around, tablesOf, sections }
  const { environment } = around
  const named = { ...around, file: globals.config }
  const [name, file] = [configName(named), configFile(named)]
  const isNamed = globals.config !== undefined || Boolean(environment.SHOPSYNC_CONFIG)
  if (!isNamed && !existsSync(file)) return outlined(stub, '', { ...known, name })
  const { value, lines } = parseFile(readConfig(file, named), name)
  const { resources = {}, warehouse, ...more } = membersOf(value)
  const { url, schema } = membersOf(warehouse)
  const folder = folderOf(call)
  const filled = expand({ url }, { environment, folder, secrets: new Set(['url']) })
  const address = membersOf(filled.value).url
  const place = { ...stub.warehouse, ...(schema !== undefined && { schema }) }
  const said = Object.fromEntries(Object.entries(more).filter(([section]) => names.includes(section)))
  const document = { ...stub, ...said, warehouse: place, resources }
  const where = typeof address === 'string' && address !== '' ? inFolder(address, folder) : ''
  return outlined(document, where, { ...known, name, lines })
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function outlined(document: unknown, url: string, options: DocumentOptions): Outline {
  const { resources, warehouse, sections } = readDocument(document, options).config
  return { resources, warehouse: { url, schema: warehouse.schema }, sections }
}

/** Warns of files with secrets that everybody can read. */
export function warnOfOpen({ log }: CommandContext, files: readonly OpenFile[]): void {
  for (const { file, keys } of files) {
    const what = joinedNames(keys) || 'the secret'
    log.warn(`Everyone on this machine can read ${what} in ${basename(file)}: type chmod 600 ${file}`)
  }
}
