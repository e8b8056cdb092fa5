/**
 * Commands that only read or change what exists, on a Postgres without a warehouse: nothing is created.
 * test/transcripts/nowhere.txt shows what they say, and the same of SQLite.
 */
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, plannedChanges, reopen } from '../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })

const commands = [
  ['status', 1],
  ['why notes 1', 1],
  ['run weekly-verify', 1],
  ['plan', 0],
  ['runs', 0],
  ['grants', 0],
  ['report --out /dev/null', 0],
  ['forget --tenant 1 --yes', 2],
  ['adopt --yes', 2],
  ['copy --to sqlite:/dev/shm/no-copy.db', 2],
] as const

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind) => {
  test('exit codes, a sentence, and no table', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, ['notes'])
    for (const [words, code] of commands) {
      const { stdout, stderr, code: ended } = await shopsync([...words.split(' '), '--config', config])
      expect([words, ended]).toEqual([words, code])
      expect(stdout + stderr).toContain(`There is no warehouse yet: there is no schema ${address.schema}`)
    }
    const warehouse = await reopen(address)
    expect((await plannedChanges(warehouse)).some(({ table }) => table === 'sync_cursors')).toBe(true)
    await warehouse.close()
  })

  test('a place with tables of others is refused, and left as it is; then one is made, with its full name', async () => {
    const address = kind.address()
    const before = await reopen(address)
    const type = (text: string) => before.db.executeQuery(sql.raw(text).compile(before.db))
    await type(`create schema "${address.schema}"`)
    await type(`create table "${address.schema}".theirs (a integer)`)
    const config = configure(sandbox, address, ['notes'])
    for (const words of [['sync'], ['migrate'], ['check'], ['run', 'hourly']]) {
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      expect(code, stderr).toBe(2)
      expect(stdout + stderr).toMatch(/There is no warehouse in .*, but a table of others: theirs; nothing/)
    }
    const live = await before.dialect.catalog.liveColumns()
    expect(live.map(({ table, name }) => [table, name])).toEqual([['theirs', 'a']])
    await type(`drop table "${address.schema}".theirs`)
    const made = await shopsync(['sync', '--json', '--config', config])
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('A new warehouse was made') })
    const [, place = ''] = /@(.*)/.exec(address.url) ?? []
    const { warehouse_made } = made.json<{ warehouse_made: string }>()
    expect(warehouse_made).toMatch(new RegExp(`^postgres:.*${place} \\(schema ${address.schema}\\)$`))
    await before.close()
  })
})

test('a mistyped schema: the one that has a warehouse is named', async () => {
  const [, postgres] = bothWarehouses()
  const there = await postgres?.migrated()
  if (!there) throw new Error('no Postgres')
  const config = configure(sandbox, { ...there, schema: 'garag' }, ['notes'])
  for (const words of ['status', 'runs', 'plan', 'verify']) {
    const { stdout, stderr } = await shopsync([words, '--config', config])
    expect(stdout + stderr).toContain(
      `there is no schema garag; this database has a warehouse in ${there.schema}`,
    )
  }
  const client = new pg.Client({ connectionString: there.url })
  await client.connect()
  await client.query('create schema garag; create table garag.theirs ()')
  await client.end()
  expect((await shopsync(['status', '--config', config])).stdout).toMatch(
    /the schema garag of postgres:.* has none of its tables; this database has a warehouse in shopsync/,
  )
})
