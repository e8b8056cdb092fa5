/**
 * The small business that is computed by hand (test/support/world/business.ts): a snapshot stores what stands, and an old reader
 * can open the file. What its views show is in byhand.txt.
 */
import { copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { known } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { viewText } from '../../support/harness/views.js'
import { bothWarehouses, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { type BusinessPlace, businessIn } from '../../support/world/business.js'

interface OldDatabase {
  prepare(text: string): { step(): boolean; get(): unknown[]; free(): void }
  close(): void
}
type OldReader = (options: {
  readonly wasmBinary: Buffer
}) => Promise<{ readonly Database: new (file: Buffer) => OldDatabase }>

describe.each(bothWarehouses())('$name', (kind) => {
  let place: BusinessPlace
  beforeAll(async () => {
    place = await businessIn(kind)
  })
  it('no view takes JSON apart', () => {
    const { sql: words } = place.warehouse.dialect.views()
    const texts = views.map((view) => viewText(view, words, { model: known, unlisted: 'keep' }).query)
    expect(texts.filter((text) => /->|\bjson|_extra/i.test(text))).toEqual([])
  })

  /**
   * The oldest SQLite that views are written for, 3.31 of 2020, compiled to WebAssembly. One view that it can't parse makes the
   * whole file unreadable for it, tables included.
   */
  it.runIf(kind.name === 'sqlite')(
    'SQLite 3.31 reads every table and view whole, with as many rows',
    async () => {
      const file = join(scratch(), 'warehouse.db')
      await place.warehouse.db.executeQuery(sql`pragma wal_checkpoint(truncate)`.compile(place.warehouse.db))
      copyFileSync(place.address.url.replace('sqlite:', ''), file)
      const db = new BetterSqlite3(file)
      // Without files of its own beside it, which the old reader has no place for.
      db.pragma('journal_mode = delete')
      const names = db
        .prepare<[], string>("select name from sqlite_master where type in ('table', 'view')")
        .pluck()
        .all()
      expect(names).toEqual(expect.arrayContaining(views.map(({ name }) => name)))
      const ours = names.map((name) => [name, db.prepare(`select * from "${name}"`).raw().all().length])
      db.close()
      const require = createRequire(import.meta.url)
      const initOldReader = require('sql.js') as OldReader
      const wasm = join(require.resolve('sql.js'), '../sql-wasm.wasm')
      const { Database } = await initOldReader({ wasmBinary: readFileSync(wasm) })
      const old = new Database(readFileSync(file))
      const rowsIn = (query: string): unknown[][] => {
        const statement = old.prepare(query)
        const rows: unknown[][] = []
        while (statement.step()) rows.push(statement.get())
        statement.free()
        return rows
      }
      expect(rowsIn('select sqlite_version()')).toEqual([['3.31.1']])
      expect(names.map((name) => [name, rowsIn(`select * from "${name}"`).length])).toEqual(ours)
      old.close()
    },
  )

  it.runIf(warehouses().includes(kind))(
    'a snapshot stores what stands, and replaces one of its day',
    async () => {
      const { warehouse, run } = place
      const taken = async (): Promise<string[]> =>
        (await rowsOf(warehouse, 'daily_snapshots')).map(({ day: _day, taken_at: _at, ...row }) =>
          Object.values(row).map(Number).join(' '),
        )
      const expected = [
        '1 1 833 2 1 1 355 1 8000 4 15997 0 10000 0 5997 1 16000 16000 6000 6000 -3 0',
        '1 2 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 0',
        '2 1 833 2 1 0 0 1 0 2 819311 0 0 0 819311 1 819311 819311 819311 819311 0 0',
        '2 2 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0',
      ]
      expect((await run(['snapshot'])).stdout).toContain('4 shops')
      expect(await taken()).toEqual(expected)
      const table = sql.raw(warehouse.dialect.views().sql.table('daily_snapshots'))
      await sql`update ${table} set stock_cents = 1`.execute(warehouse.db)
      expect((await run(['snapshot', '--json'])).json()).toMatchObject({ status: 'ok', shops: 4 })
      expect((await taken()).slice(-4)).toEqual(expected)
      for (const { day, taken_at } of await rowsOf(warehouse, 'daily_snapshots')) {
        const apart = Date.parse(String(taken_at)) - Date.parse(`${day}T12:00:00Z`)
        expect([day, Math.abs(apart) < 36 * 3_600_000]).toEqual([day, true])
      }
      expect((await run(['forget', '--tenant', '2', '--yes'])).code).toBe(0)
      expect((await taken()).every((row) => row.startsWith('1 '))).toBe(true)
    },
  )
})
