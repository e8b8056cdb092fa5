import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config/config.js'
import { readEnvFile } from '../config/envfile.js'
import { configName, type Loaded, load, parseFile, readConfig, readDocument } from '../config/load.js'
import { tablesOf } from '../model/tables.js'
import type { Globals } from './command.js'

/* The three ways to a configuration: the file, a document that the program makes, and the settings of resources alone. */

const surroundings = () => ({ environment: process.env, workingDirectory: process.cwd(), tablesOf })

interface Found extends Loaded {
  /** The file of variables, where everybody may read it. */
  readonly openFile: string | undefined
}

/** What the environment has already goes before what a file says. */
function withVariables(globals: Globals) {
  const known = surroundings()
  const config = configName({ file: globals.config, environment: known.environment })
  const found = readEnvFile(globals.envFile, { workingDirectory: known.workingDirectory, config })
  const environment = { ...found?.variables, ...known.environment }
  return { around: { ...known, environment }, openFile: found?.isOpen ? found.file : undefined }
}

/** The configuration that the command line, the environment or the working directory names. */
export function loadConfiguration(globals: Globals): Found {
  const { around, openFile } = withVariables(globals)
  return { ...load({ ...around, file: globals.config }), openFile }
}

/** A configuration that the program itself has made. */
export const configurationOf = (document: unknown, name: string): Config =>
  readDocument(document, { ...surroundings(), name }).config

/** Stands in for settings that a dictionary does not need, and that may be missing where one is made. */
const stub = {
  api: { baseUrl: 'https://api.invalid', partnerId: '-', secret: '-' },
  warehouse: { url: 'sqlite:-' },
}

/** The settings of single resources, for commands that do without the rest of a configuration. */
export function resourceSettings(globals: Globals): Config['resources'] {
  const named = globals.config ?? process.env.SHOPSYNC_CONFIG
  if (!named && !existsSync('config.json')) return {}
  const name = named || 'config.json'
  const { around } = withVariables(globals)
  const { value, lines } = parseFile(readConfig(resolve(name), { ...around, file: globals.config }), name)
  const resources = typeof value === 'object' && value !== null && 'resources' in value ? value.resources : {}
  return readDocument({ ...stub, resources }, { ...around, name, lines }).config.resources
}
