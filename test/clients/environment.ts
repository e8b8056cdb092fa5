/**
 * The clients' virtual environments, below node_modules: one for Superset, one for the MCP server, one for test/deploy, and one for all others,
 * with the packages of their requirements. Made by the first suite that needs one, and again when the requirements change,
 * or node_modules is elsewhere: the programs of an environment name its folder.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const run = promisify(execFile)
export const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const cache = join(realpathSync(here('../../node_modules')), '.cache')
const folderOf = (requirements: string): string =>
  join(cache, requirements.replace('requirements', 'shopsync-clients').replace('.txt', ''))
const usual = 'requirements.txt'
/** A program of an environment, such as `python` or `dbt`. */
export const client = (name: string, requirements = usual): string =>
  join(folderOf(requirements), 'bin', name)

/** Returns what is missing; undefined if nothing is. */
async function prepare(requirements: string): Promise<string | undefined> {
  const folder = folderOf(requirements)
  const stamp = join(folder, 'requirements.txt')
  const wanted = `${readFileSync(here(requirements), 'utf8')}# in ${folder}\n`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return undefined
  try {
    await run('python3', ['-m', 'venv', '--clear', folder])
  } catch {
    return 'python3 with venv is lacking; expected Python 3.10 or newer with pip (Debian: apt-get install python3-venv)'
  }
  try {
    const install = ['-m', 'pip', 'install', '--quiet', '--requirement', here(requirements)]
    await run(client('python', requirements), install)
  } catch (error) {
    return `pip could not install test/clients/${requirements}: ${String(error).split('\n').at(-2)}`
  }
  writeFileSync(stamp, wanted)
  return undefined
}

/** Prints why these clients were not run, and returns it; undefined if they can be. */
export async function lackingFor(clients: string, requirements = usual): Promise<string | undefined> {
  const lacking = await prepare(requirements)
  if (lacking !== undefined) console.warn(`${clients} were not run: ${lacking}`)
  return lacking
}
