import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config/config.js'
import { parseFile, readConfig, readDocument } from '../config/load.js'
import type { Globals } from './command.js'

/** In place of what is not needed here, and may not be set where a dictionary is made. */
const stub = {
  api: { baseUrl: 'https://api.invalid', partnerId: '-', secret: '-' },
  warehouse: { url: 'sqlite:-' },
}

/** The settings of single resources, for commands that can do without the rest of a configuration. */
export function settingsIfAny(globals: Globals): Config['resources'] {
  const named = globals.config ?? process.env.SHOPSYNC_CONFIG
  if (!named && !existsSync('config.json')) return {}
  const name = named || 'config.json'
  const { value, lines } = parseFile(
    readConfig(resolve(name), { file: globals.config, environment: process.env }),
    name,
  )
  const settings = typeof value === 'object' && value !== null && 'resources' in value ? value.resources : {}
  const options = { environment: process.env, workingDirectory: process.cwd(), name, lines }
  return readDocument({ ...stub, resources: settings }, options).config.resources
}
