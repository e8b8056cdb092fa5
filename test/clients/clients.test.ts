/**
 * Real clients on both warehouses: DuckDB, which attaches them and reads the text of SQLite's views as its own SQL, and
 * pandas. Each sees the same rows and sums of every view. They come from pip, into a virtual environment below
 * node_modules; where that cannot be made, the suite says what is lacking and is skipped.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { views } from '../../schema/views/index.js'
import { businessIn } from '../support/business.js'
import { warehouses } from '../support/warehouse.js'

const run = promisify(execFile)
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const folder = here('../../node_modules/.cache/shopsync-clients')
const python = join(folder, 'bin/python')
const requirements = here('requirements.txt')

/** Makes the virtual environment, or makes it anew for other requirements. Returns what is lacking. */
async function prepare(): Promise<string | undefined> {
  const stamp = join(folder, 'requirements.txt')
  const wanted = readFileSync(requirements, 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return undefined
  try {
    await run('python3', ['-m', 'venv', '--clear', folder])
  } catch {
    return 'python3 with venv is lacking; expected Python 3.10 or newer with pip (Debian: apt-get install python3-venv)'
  }
  try {
    await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
  } catch (error) {
    return `pip could not install test/clients/requirements.txt: ${String(error).split('\n').at(-2)}`
  }
  writeFileSync(stamp, wanted)
  return undefined
}

interface Summary {
  readonly rows: number
  readonly sums: Readonly<Record<string, number>>
}
type Seen = Readonly<
  Record<string, Readonly<Record<string, Summary>> & { readonly untyped: readonly string[] }>
>

const lacking = inject('postgresUrl') === '' ? 'Postgres is left out (DIALECTS=sqlite)' : await prepare()
if (lacking !== undefined) console.warn(`The clients were not run: ${lacking}`)

const names = views.map(({ name }) => name)

describe.skipIf(lacking !== undefined)('DuckDB and pandas', () => {
  let seen: Seen
  beforeAll(async () => {
    const places = []
    for (const kind of warehouses()) places.push(await businessIn(kind))
    const [lite, postgres] = places
    const file = lite?.address.url.replace('sqlite:', '') ?? ''
    const schema = postgres?.warehouse.dialect.views().where ?? ''
    const { stdout } = await run(python, [here('read.py'), file, inject('postgresUrl'), schema], {
      maxBuffer: 1e8,
    })
    seen = JSON.parse(stdout) as Seen
    for (const { warehouse } of places) await warehouse.close()
  })

  it('find every view', () => {
    expect(Object.keys(seen).sort()).toEqual([...names].sort())
  })

  it.each(names)('read %s alike', (name) => {
    const { untyped, ...clients } = seen[name] ?? { untyped: [] }
    expect(untyped).toEqual([])
    const [first, ...others] = Object.values(clients) as Summary[]
    expect(others).toHaveLength(3)
    for (const other of others) expect(other).toEqual(first)
    if (!name.startsWith('dim_vehicles')) expect(first?.rows).toBeGreaterThan(0)
  })
})
