/** Commands that only read or change what exists, on a path without a warehouse: a sentence, and nothing is created. */
import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plannedChanges } from '../../src/engine/warehouse/migrate.js'
import { shopsync } from '../support/call.js'
import { configure } from '../support/place.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { bothWarehouses, reopen } from '../support/warehouse.js'

const sandbox = await sandboxOfFile()
beforeAll(() => sandbox.store.addTenant({ id: 1 }))
afterAll(() => undefined)

const commands = [
  ['status', 1, /no tenant has been synced yet/],
  ['verify', 1, /There is no warehouse at .* yet.*Type shopsync sync/],
  ['why notes 1', 1, /There is no warehouse at .* yet.*Type shopsync sync/],
  ['run weekly-verify', 1, /There is no warehouse at/],
  ['plan', 0, /There is no warehouse there yet; the run creates it/],
  ['runs', 0, /There is no warehouse at .* yet, and nothing has run/],
  ['quarantine list', 0, /There is no warehouse at .* yet, and nothing is in quarantine/],
  ['report --out /dev/null', 0, /Nothing has been synced into this warehouse yet/],
  ['check', 0, /tables? changes? to make by the next run/],
  ['forget --tenant 1 --yes', 2, /There is no warehouse at .* yet; nothing was created.*Type shopsync sync/],
  ['adopt --yes', 2, /There is no warehouse at .* yet; nothing was created.*Type shopsync sync/],
  ['quarantine replay', 2, /There is no warehouse at .* yet; nothing was created.*Type shopsync sync/],
] as const

describe.each(bothWarehouses())('$name', (kind) => {
  test.each(commands)('%s: exit code %i', async (words, code, sentence) => {
    const address = kind.address()
    const config = configure(sandbox, address, ['notes'])
    const { stdout, stderr, code: ended } = await shopsync([...words.split(' '), '--config', config])
    expect(ended, stderr).toBe(code)
    expect(stdout + stderr).toMatch(sentence)
    expect(stdout + stderr).not.toMatch(/should not have happened|\n +at /)
    if (kind.name === 'sqlite') {
      const path = address.url.slice('sqlite:'.length)
      expect(existsSync(path)).toBe(false)
      expect(readdirSync(path.slice(0, path.lastIndexOf('/')))).toEqual([])
      return
    }
    const warehouse = await reopen(address)
    expect((await plannedChanges(warehouse)).some(({ table }) => table === 'sync_cursors')).toBe(true)
    await warehouse.close()
  })
})
