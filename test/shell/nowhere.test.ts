/** Commands that only read or change what exists, on a path without a warehouse: a sentence, and nothing is created. */
import { existsSync, readdirSync } from 'node:fs'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, plannedChanges, reopen } from '../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
beforeAll(() => sandbox.store.addTenant({ id: 1 }))
afterAll(() => undefined)

/** Each says that there is none, and why, in the same words. */
const commands = [
  ['status', 1],
  ['verify', 1],
  ['why notes 1', 1],
  ['run weekly-verify', 1],
  ['forget --tenant 1 --customer 1 --dry-run', 1],
  ['plan', 0],
  ['runs', 0],
  ['quarantine list', 0],
  ['events list', 0],
  ['grants', 0],
  ['report --out /dev/null', 0],
  ['report --operations --out /dev/null', 0],
  ['forget --tenant 1 --yes', 2],
  ['adopt --yes', 2],
  ['quarantine replay', 2],
  ['copy --to sqlite:/dev/shm/no-copy.db', 2],
] as const

describe.each(bothWarehouses())('$name', (kind) => {
  test.each(commands)('%s: exit code %i', async (words, code) => {
    const address = kind.address()
    const path = address.url.slice('sqlite:'.length)
    const missing = kind.name === 'sqlite' ? `file ${path}` : `schema ${address.schema}`
    const config = configure(sandbox, address, ['notes'])
    const { stdout, stderr, code: ended } = await shopsync([...words.split(' '), '--config', config])
    expect(ended, stderr).toBe(code)
    expect(stdout + stderr).toContain(`There is no warehouse yet: there is no ${missing}`)
    expect(stdout + stderr).toMatch(/type shopsync sync/i)
    expect(stdout + stderr).not.toMatch(/should not have happened|\n +at /)
    if (kind.name === 'sqlite') {
      expect(existsSync(path)).toBe(false)
      expect(readdirSync(path.slice(0, path.lastIndexOf('/')))).toEqual([])
      return
    }
    const warehouse = await reopen(address)
    expect((await plannedChanges(warehouse)).some(({ table }) => table === 'sync_cursors')).toBe(true)
    await warehouse.close()
  })

  test('a place with tables of others is refused, and left as it is', async () => {
    const address = kind.address()
    const schema = kind.name === 'sqlite' ? '' : `"${address.schema}"`
    const before = await reopen(address)
    const type = (text: string) => before.db.executeQuery(sql.raw(text).compile(before.db))
    if (schema) await type(`create schema ${schema}`)
    await type(`create table ${schema && `${schema}.`}theirs (a integer)`)
    const config = configure(sandbox, address, ['notes'])
    for (const words of [['sync'], ['migrate'], ['check'], ['run', 'hourly'], ['status']]) {
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      expect(code, stderr).toBe(words[0] === 'status' ? 1 : 2)
      if (words[0] === 'status')
        expect(stdout).toMatch(/It has tables of others. Name a place without tables/)
      else
        expect(stdout + stderr).toMatch(/There is no warehouse in .*, but a table of others: theirs; nothing/)
    }
    const live = await before.dialect.catalog.liveColumns()
    expect(live.map(({ table, name }) => [table, name])).toEqual([['theirs', 'a']])
    await type(`drop table ${schema && `${schema}.`}theirs`)
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    await before.close()
  })

  test('commands that make one say so, with its full name', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, ['notes'])
    const { url, schema } = address
    const [, place = url] = /@(.*)/.exec(url) ?? []
    const full = kind.name === 'sqlite' ? url : `${place} (schema ${schema})`
    const { stdout, stderr } = await shopsync(['sync', '--config', config])
    expect(stdout).toContain('Made a new warehouse: ')
    expect(stdout).toContain(full)
    expect(stderr).toMatch(/A new warehouse was made/)
    const again = await shopsync(['sync', '--json', '--config', config])
    expect(again.json()).not.toHaveProperty('warehouse_made')
    for (const words of [['sync'], ['migrate'], ['run', 'hourly']]) {
      const elsewhere = configure(sandbox, kind.address(), ['notes'])
      const { warehouse_made: made } = (await shopsync([...words, '--json', '--config', elsewhere])).json<{
        warehouse_made: string
      }>()
      expect(made).toMatch(kind.name === 'sqlite' ? /^sqlite:\/.*warehouse\.db$/ : /^postgres:.* \(schema t_/)
    }
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
