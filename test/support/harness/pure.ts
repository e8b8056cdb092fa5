/**
 * Run by vitest before each file of the project *pure*: no process is started there, and no database is opened. A
 * file's imports decide its project (projects.ts); this catches what only a call loads.
 */
import childProcess from 'node:child_process'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import fc from 'fast-check'
import { afterAll, beforeAll, inject } from 'vitest'
import { doAfterwards } from './afterwards.js'
import { checkLeftovers } from './leftovers.js'

checkLeftovers()
doAfterwards()
fc.configureGlobal({ seed: inject('seed') })

const wrong = (what: string, loads: string): Error =>
  new Error(
    `A test of the project pure ${what}; expected its file to import ${loads}, by itself or by test/support, so that it runs in the project for it (test/support/harness/projects.ts)`,
  )

for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const)
  Object.assign(childProcess, {
    [name]: () => {
      throw wrong('starts a process', 'node:child_process')
    },
  })
syncBuiltinESMExports()

const { cache } = createRequire(import.meta.url)
const drivers = (): string[] =>
  Object.keys(cache).filter((path) => /node_modules\/(better-sqlite3|pg)\/lib\//.test(path))
let before = 0
beforeAll(() => {
  before = drivers().length
})
afterAll(() => {
  if (drivers().length > before) throw wrong('opens a database', 'test/support/harness/warehouse.ts')
})
