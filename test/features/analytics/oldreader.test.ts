/**
 * A warehouse file in the oldest SQLite that views are written for: 3.31 of 2020, compiled to WebAssembly. One view that
 * it can't parse makes the whole file unreadable for it, tables included.
 */
import { copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { known } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { viewText } from '../../support/harness/views.js'
import { bothWarehouses, open } from '../../support/harness/warehouse.js'
import { businessIn } from '../../support/world/business.js'

interface OldDatabase {
  prepare(text: string): { step(): boolean; get(): unknown[]; free(): void }
  close(): void
}
type OldReader = (options: {
  readonly wasmBinary: Buffer
}) => Promise<{ readonly Database: new (file: Buffer) => OldDatabase }>

const require = createRequire(import.meta.url)
const initOldReader = require('sql.js') as OldReader
const wasm = join(require.resolve('sql.js'), '../sql-wasm.wasm')

/** How many rows every table and view has, as one reader finds it. */
type Counts = Record<string, number>

function countedByOurs(file: string): Counts {
  const db = new BetterSqlite3(file)
  // Without files of its own beside it, which this reader has no place for.
  db.pragma('journal_mode = delete')
  const names = db
    .prepare<[], string>(`select name from sqlite_master where type in ('table', 'view') order by name`)
    .pluck()
    .all()
  const counts = Object.fromEntries(
    names.map((name) => [name, db.prepare(`select * from "${name}"`).raw().all().length]),
  )
  db.close()
  return counts
}

function countedBy(db: OldDatabase, names: readonly string[]): Counts {
  return Object.fromEntries(
    names.map((name) => {
      const statement = db.prepare(`select * from "${name}"`)
      let rows = 0
      while (statement.step()) rows += 1
      statement.free()
      return [name, rows]
    }),
  )
}

describe('SQLite 3.31', () => {
  let file = ''
  beforeAll(async () => {
    const [kind] = bothWarehouses()
    if (!kind) throw new Error('no kind of warehouse')
    const { address, warehouse } = await businessIn(kind)
    await warehouse.close()
    file = join(scratch(), 'warehouse.db')
    copyFileSync(address.url.replace('sqlite:', ''), file)
  })

  it('reads every table and view whole, with as many rows', async () => {
    const ours = countedByOurs(file)
    expect(Object.keys(ours)).toEqual(expect.arrayContaining(views.map(({ name }) => name)))
    const { Database } = await initOldReader({ wasmBinary: readFileSync(wasm) })
    const old = new Database(readFileSync(file))
    const version = old.prepare('select sqlite_version()')
    version.step()
    expect(version.get()).toEqual(['3.31.1'])
    version.free()
    expect(countedBy(old, Object.keys(ours))).toEqual(ours)
    old.close()
  })
})

describe.each(bothWarehouses())('on $name', (kind) => {
  it('no view takes JSON apart', async () => {
    const warehouse = await open(kind)
    const { sql } = warehouse.dialect.views()
    const texts = views.map((view) => viewText(view, sql, { model: known, unlisted: 'keep' }).query)
    expect(texts.filter((text) => /->|\bjson|_extra/i.test(text))).toEqual([])
    await warehouse.close()
  })
})
