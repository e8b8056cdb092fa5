import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { derivedTables, resources } from '../../schema/index.js'
import { describeModel, toMarkdown } from '../../src/model/dictionary.js'
import { toHtml } from '../../src/model/dictionarypage.js'
import { stateTableList } from '../../src/model/state.js'
import { derivedTable, tablesOf } from '../../src/model/tables.js'

const list = Object.values(resources)
const whole = describeModel(list)

test('schema/dictionary.md is current', () => {
  const committed = readFileSync(new URL('../../schema/dictionary.md', import.meta.url), 'utf8')
  expect(committed, 'stale: run `npm run build`').toBe(toMarkdown(whole))
})

test('it has every table and every column, described', () => {
  const derived = Object.values(derivedTables).map(derivedTable)
  const all = [...list.flatMap((resource) => tablesOf(resource)), ...derived, ...stateTableList]
  expect(whole.tables.map((table) => table.name)).toEqual(all.map((table) => table.name))
  for (const [i, table] of whole.tables.entries()) {
    expect(table.columns.map((column) => column.name)).toEqual(all[i]?.columns.map((column) => column.name))
    for (const text of [table.grain, table.description]) expect(text).not.toBe('')
    for (const column of table.columns)
      expect(column.description, `${table.name}.${column.name}`).not.toBe('')
  }
})

test('the page loads nothing from elsewhere, and every link in it leads somewhere', () => {
  const page = toHtml(whole)
  expect(page).not.toMatch(/<script|<link|<img|https?:|@import|url\(/)
  const targets = new Set([...page.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]))
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(targets).toContain(target)
  for (const { name } of whole.tables) expect(targets).toContain(name)
})

test('descriptions cannot break out of a cell or of the page', () => {
  const [first] = list
  const nasty = { ...first!, doc: '<b>a|b</b>', fields: { id: { ...first!.fields.id!, doc: 'x | y <i>' } } }
  const own = describeModel([nasty as typeof first & object])
  expect(toHtml(own)).toContain('&lt;b&gt;a|b&lt;/b&gt;')
  expect(toMarkdown(own)).toContain('x \\| y')
})
