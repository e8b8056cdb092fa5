/** What businesses are called that the configuration doesn't name. */
import { expect, it } from 'vitest'
import type { ListHealth } from '../../../src/features/report/read/asktrust.js'
import { withNames } from '../../../src/features/report/read/tenantnames.js'

function namesOf(
  shops: Readonly<Record<number, readonly string[]>>,
  configured: Readonly<Record<number, string>> = {},
) {
  const lists = Object.keys(shops).map((id) => ({
    tenant_id: Number(id),
    tenant_name: configured[Number(id)] ?? `tenant ${id}`,
  })) as unknown as ListHealth[]
  const rows = Object.entries(shops).flatMap(([id, names]) =>
    names.map((shop_name, i) => ({
      ...{ tenant_id: Number(id), tenant_name: `tenant ${id}`, shop_key: `${id}-${i}`, shop_name },
      ...{ time_zone: 'UTC', first_day: null },
    })),
  )
  return withNames(rows, lists).lists.map(({ tenant_name }) => tenant_name)
}

it.each([
  [
    'the words that all shops begin with',
    ['Main Street Auto – Smyrna', 'Main Street Auto – Gallatin'],
    'Main Street Auto',
  ],
  ['whole words only', ['Main Street', 'Main Strand'], 'Main'],
  ['the name of the only shop', ['Lakeside Auto Care'], 'Lakeside Auto Care'],
  ['the id if they have nothing in common', ['North Loop', 'Riverside'], 'tenant 101'],
  ['the id if shops have no names', ['shop 1', 'shop 2'], 'tenant 101'],
  ['the id without shops', [], 'tenant 101'],
  [
    'the shops that have names',
    ['shop 1', 'Main Street Auto, East', 'Main Street Auto, West'],
    'Main Street Auto',
  ],
  ['the id if the beginning is too short', ['A Garage', 'A Shop'], 'tenant 101'],
])('a business is called by %s', (_, shops, name) => {
  expect(namesOf({ 101: shops })).toEqual([name])
})

it('the configured name takes precedence, and two with the same name have their ids behind it', () => {
  expect(
    namesOf({ 101: ['Main Street Auto'], 102: ['Eastside'], 103: ['Eastside'] }, { 101: 'Main' }),
  ).toEqual([...['Main', 'Eastside (102)', 'Eastside (103)']])
})
