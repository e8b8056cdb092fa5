/**
 * What dashboards and BI tools rely on, compared with a stored version: the columns of each table, the dictionary, the keys
 * of the configuration. An intended change shows in the diff of `npx vitest run test/shell/documents.test.ts -u`. The
 * documents of the commands: test/transcripts/documents.txt.
 */
import { expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { settings } from '../support/harness/documents/settings.js'
import { inLines, Stabilizer } from '../support/harness/documents/stable.js'
import { tables } from '../support/harness/documents/tables.js'
import { textOf } from '../support/harness/tree.js'
import { bothWarehouses } from '../support/harness/warehouse.js'

const stored = (name: string): string => `../fixtures/documents/${name}`

test.each(bothWarehouses())('the columns of each table on $name', async (kind) => {
  await expect(await tables(await kind.viewed())).toMatchFileSnapshot(stored(`tables.${kind.name}.txt`))
})

test('the dictionary', async () => {
  const words = ['dictionary', '--format', 'json']
  const { code, json } = await shopsync(words)
  const told = { command: words.join(' '), exit_code: code, document: json() }
  const lines = inLines(new Stabilizer().value(told, false))
  await expect(`${lines}\n`).toMatchFileSnapshot(stored('dictionary.json'))
})

test.each(['config', 'job'])('the keys of schema/%s.schema.json', async (name) => {
  const lines = settings(JSON.parse(textOf(`schema/${name}.schema.json`)))
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(stored(`${name}.keys.txt`))
})
