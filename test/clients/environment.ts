/**
 * The clients' virtual environment, below node_modules, with the packages of requirements.txt. Made by the first suite
 * that needs it, and again when the requirements change.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { postgresUrl } from '../support/warehouse.js'

export const run = promisify(execFile)
export const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const folder = here('../../node_modules/.cache/shopsync-clients')
/** A program of the environment, such as `python` or `dbt`. */
export const client = (name: string): string => join(folder, 'bin', name)

/** Returns what is missing; undefined if nothing is. */
async function prepare(): Promise<string | undefined> {
  const requirements = here('requirements.txt')
  const stamp = join(folder, 'requirements.txt')
  const wanted = readFileSync(requirements, 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return undefined
  try {
    await run('python3', ['-m', 'venv', '--clear', folder])
  } catch {
    return 'python3 with venv is lacking; expected Python 3.10 or newer with pip (Debian: apt-get install python3-venv)'
  }
  try {
    await run(client('python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
  } catch (error) {
    return `pip could not install test/clients/requirements.txt: ${String(error).split('\n').at(-2)}`
  }
  writeFileSync(stamp, wanted)
  return undefined
}

/** Prints why these clients were not run, and returns it; undefined if they can be. */
export async function lackingFor(clients: string): Promise<string | undefined> {
  const lacking = postgresUrl() === '' ? 'Postgres is left out (WAREHOUSES=sqlite)' : await prepare()
  if (lacking !== undefined) console.warn(`${clients} were not run: ${lacking}`)
  return lacking
}
