/**
 * What scripts, dashboards and BI tools rely on, compared with a stored version: the `--json` document and the exit
 * code of each command, the columns of each table, the keys of the configuration. An intended change shows in the diff
 * of `npx vitest run test/shell/documents.test.ts -u` (with WAREHOUSES=both). SHOPSYNC_PROGRAM names another program
 * whose documents to store, such as an older release.
 */
import { dirname } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { documentNames, documents } from '../support/harness/documents/scenario.js'
import { settings } from '../support/harness/documents/settings.js'
import { tables } from '../support/harness/documents/tables.js'
import { Program } from '../support/harness/process.js'
import { root, textOf } from '../support/harness/tree.js'
import { bothWarehouses, warehouses } from '../support/harness/warehouse.js'

const { SHOPSYNC_PROGRAM: other, PATH = '' } = process.env

/** Documents that name what only one database has, such as its types. */
const ownOfDatabase = new Set(['plan-first', 'check', 'migrate', 'forget'])

describe.each(bothWarehouses())('on $name', (kind) => {
  const names = warehouses().includes(kind) ? documentNames : [...ownOfDatabase]
  let found: ReadonlyMap<string, string>
  let layout = ''
  beforeAll(async () => {
    const address = kind.address()
    found = await documents(address, {
      only: new Set(names),
      program: other ? dirname(dirname(dirname(other))) : root,
      run: (words, { cwd, env }) =>
        other
          ? new Program(other, words, { cwd, env: { PATH, ...env } }).ended
          : shopsync(words, { cwd, env }),
    })
    layout = await tables(address)
  })

  test('the columns of each table', async () => {
    await expect(layout).toMatchFileSnapshot(`../fixtures/documents/tables.${kind.name}.txt`)
  })

  test.each(names)('%s', async (name) => {
    const file = ownOfDatabase.has(name) ? `${name}.${kind.name}` : name
    await expect(found.get(name)).toMatchFileSnapshot(`../fixtures/documents/${file}.json`)
  })
})

test.each(['config', 'job'])('the keys of schema/%s.schema.json', async (name) => {
  const lines = settings(JSON.parse(textOf(`schema/${name}.schema.json`)))
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`../fixtures/documents/${name}.keys.txt`)
})
