/** What holds of every declaration. Names, keys and columns are those of test/fixtures/documents: people rely on them. */
import { expect, test } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Member, Shape } from '../../schema/resource.js'
import { datedColumn, tablesOf } from '../../src/engine/model/table.js'

const list = Object.values(resources)
const tables = list.flatMap((resource) => tablesOf(resource))

test('no two tables, and no two columns of a table, have the same name', () => {
  const names = tables.map((table) => table.name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, columns } of tables)
    expect(new Set(columns.map((column) => column.name)).size, name).toBe(columns.length)
})

test('keys are never null, and every reference and index refers to something that exists', () => {
  const names = new Set(tables.map((table) => table.name))
  for (const table of tables) {
    const byName = new Map(table.columns.map((column) => [column.name, column]))
    for (const key of table.key)
      expect(byName.get(key), `${table.name}.${key}`).toMatchObject({ nullable: false })
    for (const column of table.indexes.flat())
      expect(byName.has(datedColumn(column) ?? column), `${table.name}.${column}`).toBe(true)
    for (const { references } of table.columns) if (references) expect(names).toContain(references)
  }
})

const membersOf = (fields: Shape): Member[] =>
  Object.values(fields).flatMap((member) =>
    'fields' in member ? [member, ...membersOf(member.fields)] : [member],
  )

test('everything is described', () => {
  for (const { name, doc, source, grain, fields } of list)
    expect([name, [doc, source, grain, ...membersOf(fields).map((member) => member.doc)]]).not.toEqual([
      name,
      expect.arrayContaining(['']),
    ])
})

test('records of one resource can be inside all others, and it only has a table', () => {
  const embedded = list.filter((resource) => resource.embeddedAs !== undefined)
  expect(embedded.map((resource) => resource.name)).toEqual(['integrator_tags'])
  expect(embedded.flatMap((resource) => tablesOf(resource))).toHaveLength(1)
  for (const { fields } of list) expect(fields).not.toHaveProperty('integrator_tags')
})
