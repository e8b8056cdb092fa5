import { expect, test } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Member, Shape } from '../../schema/resource.js'
import { datedColumn, tablesOf } from '../../src/engine/model/table.js'

const list = Object.values(resources)
const tables = list.flatMap((resource) => tablesOf(resource))

const documented = [
  'appointments',
  'assignments',
  'canned_jobs',
  'categories',
  'customer_payment_types',
  'customers',
  'gp_exceptions',
  'integrator_tags',
  'inventories',
  'notes',
  'past_recommendations',
  'payment_transactions',
  'payments',
  'purchase_records',
  'recommendations',
]
const byConvention = ['repair_orders', 'shops', 'staffs', 'statuses', 'vehicles', 'vendors']

/** The tables of the warehouse, written out: table, key after tenant_id, the columns that show whose rows they are. */
const children: readonly (readonly [table: string, key: string, first: string])[] = [
  ...['sublets', 'inspections', 'vehicles', 'hazmats', 'parts', 'labors'].map(
    (array) => [`canned_job_${array}`, 'canned_job_id id', 'canned_job_id position id'] as const,
  ),
  ['customer_shops', 'customer_id shop_id', 'customer_id position shop_id'],
  ['customer_phones', 'customer_id position', 'customer_id position number'],
  ['inventory_tags', 'inventory_id position', 'inventory_id position tag'],
  ['purchase_record_line_items', 'purchase_record_id position', 'purchase_record_id position inventory_id'],
  ['recommendation_services', 'recommendation_id id', 'recommendation_id position id'],
  ...['labors', 'parts', 'hazmats', 'sublets', 'inspections'].map(
    (array) =>
      [
        `recommendation_${array}`,
        'recommendation_id id',
        'recommendation_id service_id position id',
      ] as const,
  ),
  ['repair_order_services', 'repair_order_id id', 'repair_order_id position id'],
  ...['labors', 'parts', 'hazmats', 'sublets', 'inspections'].map(
    (array) =>
      [`repair_order_${array}`, 'repair_order_id id', 'repair_order_id service_id position id'] as const,
  ),
  ['repair_order_payments', 'repair_order_id position', 'repair_order_id position payment_type'],
]

/** Resources added later aren't part of this list. */
const promised = list.filter(({ name }) => [...documented, ...byConvention].includes(name))

test('the resources are those that people rely on', () => {
  expect(promised.filter((r) => r.documented).map((r) => r.name)).toEqual(documented)
  expect(promised.filter((r) => !r.documented).map((r) => r.name)).toEqual(byConvention)
  expect(resources.customer_payment_types).toMatchObject({
    path: 'payments/customer_payment_types',
    list: 'strings',
  })
})

test('the root tables and their keys are those that people rely on', () => {
  const roots = tables.filter((table) => table.role === 'root')
  expect(roots.map((table) => [table.name, table.key])).toEqual(
    list.map((r) => [r.name, ['tenant_id', r.list === 'strings' ? 'name' : 'id']]),
  )
  for (const { columns } of roots) {
    const names = columns.flatMap((column) => (column.computedBy === undefined ? [column.name] : []))
    const own = ['_synced_at', '_deleted_at', '_unlisted_at', '_extra']
    expect([names[0], ...names.slice(-4)]).toEqual(['tenant_id', ...own])
  }
})

test('the child tables, their keys and owners are those that people rely on', () => {
  const found = promised
    .flatMap((resource) => tablesOf(resource))
    .filter((table) => table.role === 'child')
    .map(({ name, key, columns }) => {
      const names = columns.map((column) => column.name)
      expect([names[0], names.at(-1)], name).toEqual(['tenant_id', '_synced_at'])
      const own = names.slice(1, names.indexOf('position') + 2)
      return [name, key.slice(1).join(' '), own.join(' ')]
    })
  const byName = (a: readonly (string | undefined)[], b: readonly (string | undefined)[]): number =>
    String(a[0]) < String(b[0]) ? -1 : 1
  expect(found.sort(byName)).toEqual([...children].sort(byName))
})

test('no two tables, and no two columns of a table, have the same name', () => {
  const names = tables.map((table) => table.name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, columns } of tables) {
    expect(new Set(columns.map((column) => column.name)).size, name).toBe(columns.length)
  }
})

test('nested objects are flattened with an underscore', () => {
  const columns = (name: string): string[] =>
    tables.find((table) => table.name === name)?.columns.map((column) => column.name) ?? []
  expect(columns('repair_orders')).toEqual(expect.arrayContaining(['label_text', 'label_color_code']))
  for (const name of ['payments', 'repair_order_payments']) {
    expect(columns(name)).toEqual(
      expect.arrayContaining(['payment_type_details_type', 'payment_type_details_name']),
    )
  }
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

test('everything is described, and no enumeration contains a value twice', () => {
  for (const resource of list) {
    const members = membersOf(resource.fields)
    for (const text of [resource.doc, resource.source, resource.grain, ...members.map((m) => m.doc)]) {
      expect(text).not.toBe('')
    }
    for (const member of members) {
      const values = member.type === 'field' ? (member.values ?? []) : []
      expect(new Set(values).size).toBe(values.length)
    }
  }
})

test('records of one resource can be inside all others, and it only has a table', () => {
  const embedded = list.filter((resource) => resource.embeddedAs !== undefined)
  expect(embedded.map((resource) => resource.name)).toEqual(['integrator_tags'])
  expect(embedded.flatMap((resource) => tablesOf(resource))).toHaveLength(1)
  for (const { fields } of list) expect(fields).not.toHaveProperty('integrator_tags')
})
