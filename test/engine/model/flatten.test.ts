import { expect, test } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { FlatPage, Flatten } from '../../../src/engine/model/flatten/batch.js'
import { compileFlatten } from '../../../src/engine/model/flatten/flatten.js'
import { tablesOf, tupleColumns } from '../../../src/engine/model/table.js'

const embedded = Object.values(resources).find((resource) => resource.embeddedAs !== undefined)!
const flattenOf = (name: string): Flatten => compileFlatten(resources[name]!, { embedded })

/** Rows of a table with their column names. */
function named(name: string, flat: FlatPage, table = name): Record<string, unknown>[] {
  const declared = [...tablesOf(resources[name]!), ...tablesOf(embedded)].find((t) => t.name === table)!
  const columns = tupleColumns(declared)
  return (flat.rows.get(table) ?? []).map((tuple) =>
    Object.fromEntries(columns.map((column, i) => [column.name, tuple[i]])),
  )
}

const stamps = { created_at: '2024-01-01T00:00:00Z', updated_at: '2024-01-02T00:00:00Z' }
const later = '2024-01-03T00:00:00Z'

test('an unknown field is in _extra under its path, and reported once per page', () => {
  const record = (id: number) => ({
    id,
    ...stamps,
    color: 'red',
    label: { text: 'a', foo: 1 },
    services: [{ id: id * 10, parts: [{ id: id * 100, warranty: { months: 12 } }], integrator_tags: [] }],
    integrator_tags: [],
  })
  const flat = flattenOf('repair_orders')([record(1), record(2)], false)
  const extra = { color: 'red', 'label.foo': 1, 'services[0].parts[0].warranty': { months: 12 } }
  for (const row of named('repair_orders', flat)) expect(JSON.parse(String(row._extra))).toEqual(extra)
  expect(flat.drift).toEqual(
    [
      ['label.foo', '1'],
      ['services[].parts[].warranty', '{"months":12}'],
      ['color', '"red"'],
    ].map(([path, example]) => ({
      resource: 'repair_orders',
      path,
      kind: 'unknown_field',
      detail: '',
      example,
    })),
  )
  expect(flat.quarantine).toEqual([])
})

test('the order in which members are sent makes no difference, even if it varies from record to record', () => {
  const record = (id: number) => ({
    id,
    ...stamps,
    detail: 'noise',
    odometer: id,
    color: 'red',
    label: { text: 'waiting', color_code: '#fff' },
    services: [{ id: id * 10, title: 'brakes', completed: true }],
  })
  const turned = (value: unknown): unknown =>
    Array.isArray(value) || typeof value !== 'object' || value === null
      ? value
      : Object.fromEntries(Object.entries(value).toReversed())
  const records = [record(1), record(2), record(3), record(4)]
  const mixed = records.map((r, i) =>
    i % 2 === 0 ? r : turned({ ...r, label: turned(r.label), services: r.services.map(turned) }),
  )
  const flatten = flattenOf('repair_orders')
  expect(flatten(mixed, false)).toEqual(flatten(records, false))
})

test('an unknown enumeration value is stored, and reported with the value', () => {
  const flat = flattenOf('repair_orders')([{ id: 1, ...stamps, state: 'archived' }], false)
  expect(named('repair_orders', flat)[0]).toMatchObject({ state: 'archived' })
  expect(flat.drift).toMatchObject([{ path: 'state', kind: 'unknown_value', detail: 'archived' }])
})

test('an empty text is not an unknown value of an enumeration', () => {
  const flat = flattenOf('customers')([{ id: 1, ...stamps, state: '' }], false)
  expect(named('customers', flat)[0]).toMatchObject({ state: '' })
  expect(flat.drift).toEqual([])
})

test('a bad value loses one column and a bad item one row, but neither loses the record', () => {
  const record = {
    id: 1,
    ...stamps,
    odometer: 12.5,
    label: 'urgent',
    payments: 'none',
    services: [{ id: 5, title: {} }, null, { title: 'no id' }, { id: '6' }],
  }
  const flat = flattenOf('repair_orders')([record], false)
  expect(named('repair_orders', flat)).toMatchObject([{ id: 1, odometer: null, label_text: null }])
  const services = named('repair_orders', flat, 'repair_order_services')
  expect(services.map((row) => [row.position, row.id, row.title])).toEqual([
    [0, 5, null],
    [3, 6, null],
  ])
  expect(flat.unstorable).toBe(0)
  expect(flat.quarantine.map((entry) => [entry.recordId, entry.path, entry.value])).toEqual([
    ['1', 'odometer', '12.5'],
    ['1', 'label', '"urgent"'],
    ['1', 'payments', '"none"'],
    ['1', 'services[0].title', '{}'],
    ['1', 'services[1]', 'null'],
    ['1', 'services[2]', '{"title":"no id"}'],
  ])
})

test('a record without id or version is quarantined as a whole, under its id or a digest of it', () => {
  const flat = flattenOf('notes')([{ id: 3 }, { ...stamps, description: 'x' }, 7], false)
  expect(flat.records).toEqual([])
  expect(flat.unstorable).toBe(3)
  const ids = flat.quarantine.map((entry) => entry.recordId)
  expect(ids).toEqual([
    '3',
    expect.stringMatching(/^\?[0-9a-f]{16}$/),
    expect.stringMatching(/^\?[0-9a-f]{16}$/),
  ])
  const again = flattenOf('notes')([{ ...stamps, description: 'x' }], false)
  expect(again.quarantine[0]?.recordId).toBe(ids[1])
})

test('a page that contains a record twice yields only its newest version, or the first one on a tie', () => {
  const service = (id: number) => ({ id, title: `service ${id}` })
  const flat = flattenOf('repair_orders')(
    [
      { id: 1, ...stamps, detail: 'old', services: [service(1), service(2)] },
      { id: 2, ...stamps, detail: 'first' },
      { id: 1, ...stamps, updated_at: later, detail: 'new', services: [service(3)] },
      { id: 2, ...stamps, updated_at: '2024-01-02T01:00:00+01:00', detail: 'second' },
    ],
    false,
  )
  expect(flat.records.map((record) => record.id).sort()).toEqual([1, 2])
  expect(
    named('repair_orders', flat)
      .map((row) => row.detail)
      .sort(),
  ).toEqual(['first', 'new'])
  expect(named('repair_orders', flat, 'repair_order_services').map((row) => row.id)).toEqual([3])
  expect(flat.quarantine).toEqual([])
})

test('no two rows of a table have the same key: each record keeps its children, and of two with one id in a record, the first stays', () => {
  const flat = flattenOf('repair_orders')(
    [
      { id: 1, ...stamps, services: [{ id: 7, title: 'older' }] },
      {
        id: 2,
        ...stamps,
        updated_at: later,
        services: [
          { id: 7, title: 'first' },
          { id: 7, title: 'again' },
        ],
      },
    ],
    false,
  )
  expect(named('repair_orders', flat, 'repair_order_services')).toMatchObject([
    { repair_order_id: 2, title: 'first' },
    { repair_order_id: 1, title: 'older' },
  ])
  expect(flat.quarantine.map((entry) => [entry.recordId, entry.path])).toEqual([['2', 'services[1]']])
  expect(flat.quarantine[0]?.reason).toContain('duplicate')
})

test('an id that appears twice in one record is one row if the rows are equal, including everything below it', () => {
  const services = [
    { id: 7, title: 'one', labors: [{ id: 1, hours: 2 }] },
    {
      id: 7,
      title: 'one',
      labors: [
        { id: 1, hours: 2 },
        { id: 2, hours: 3 },
      ],
    },
    // The same labor under another service, and another labor under the same id.
    { id: 8, title: 'two', labors: [{ id: 1, hours: 2 }] },
    { id: 7, title: 'another', labors: [{ id: 3, hours: 4 }] },
  ]
  const flat = flattenOf('repair_orders')([{ id: 1, ...stamps, services }], false)
  expect(named('repair_orders', flat, 'repair_order_services')).toMatchObject([
    { id: 7, title: 'one', position: 0 },
    { id: 8, title: 'two', position: 2 },
  ])
  expect(named('repair_orders', flat, 'repair_order_labors')).toMatchObject([
    { id: 1, service_id: 7, hours: 2 },
    { id: 2, service_id: 7, hours: 3 },
  ])
  expect(flat.quarantine.map((entry) => entry.path)).toEqual(['services[2].labors[0]', 'services[3]'])
})

test.each([false, true])(
  'a value that appears twice in a set is one row, and nothing is odd about it',
  (plain) => {
    const flat = flattenOf('customers')([{ id: 1, ...stamps, shop_ids: [4, '4', null, 5, 4] }], plain)
    expect(flat.rows.get('customer_shops')).toEqual([
      [1, 0, 4],
      [1, 3, 5],
    ])
    expect(flat.quarantine.map((entry) => entry.path)).toEqual(['shop_ids[2]'])
  },
)

test('tags inside any record are rows of their own table, each in its newest version', () => {
  const tag = (id: number, value: string, updated_at: string) => ({
    ...stamps,
    id,
    updated_at,
    name: 'n',
    value,
  })
  const flat = flattenOf('vehicles')(
    [
      {
        id: 1,
        ...stamps,
        integrator_tags: [tag(1, 'tie: first', later), tag(2, 'old', stamps.updated_at), 5],
      },
      {
        id: 2,
        ...stamps,
        integrator_tags: [tag(1, 'tie: second', later), { ...tag(2, 'new', later), zip: 1 }],
      },
      { id: 3, ...stamps, integrator_tags: 'none' },
    ],
    false,
  )
  expect(named('vehicles', flat, 'integrator_tags')).toMatchObject([
    { id: 1, value: 'tie: first', _extra: null },
    { id: 2, value: 'new', _extra: '{"zip":1}' },
  ])
  expect(named('vehicles', flat).map((row) => row._extra)).toEqual([null, null, null])
  expect(flat.quarantine.map((entry) => [entry.recordId, entry.path])).toEqual([
    ['1', 'integrator_tags[2]'],
    ['3', 'integrator_tags'],
  ])
  expect([...flat.rows.keys()]).toEqual(['vehicles', 'integrator_tags'])
})

test("a tag inside a tag yields to the page's own, or replaces it", () => {
  const tag = (id: number, value: string, updated_at: string, inside: unknown[] = []) => ({
    ...stamps,
    id,
    updated_at,
    value,
    integrator_tags: inside,
  })
  const inside = [tag(1, 'newer', later), tag(2, 'other', later)]
  const flat = flattenOf('integrator_tags')([tag(1, 'own', stamps.updated_at, inside)], false)
  expect(named('integrator_tags', flat).map((row) => row.value)).toEqual(['newer', 'other'])
  expect(flat.records).toMatchObject([{ id: 1, updatedAt: '2024-01-03T00:00:00.000000Z' }])
})

test('a quick recommendation has no service row', () => {
  const records = [{}, null, undefined, { id: 9, labors: [{ id: 1 }] }].map((service, id) => ({
    id,
    ...stamps,
    service,
  }))
  const flat = flattenOf('recommendations')(records, false)
  expect(named('recommendations', flat, 'recommendation_services')).toMatchObject([
    { recommendation_id: 3, position: 0, id: 9 },
  ])
  expect(named('recommendations', flat, 'recommendation_labors')).toMatchObject([
    { recommendation_id: 3, service_id: 9, id: 1 },
  ])
  expect(flat.quarantine).toEqual([])
})

test('a list of strings has one row for each distinct string', () => {
  const flat = flattenOf('customer_payment_types')(['Zelle', 'Venmo', 'Zelle', 5, null, {}], true)
  expect(flat.rows.get('customer_payment_types')).toEqual([
    ['Zelle', null],
    ['Venmo', null],
    ['5', null],
  ])
  expect(flat.unstorable).toBe(2)
  expect(flat.quarantine.map((entry) => entry.value)).toEqual(['null', '{}'])
})

test('quarantined values and examples are shortened, but never in the middle of a character', () => {
  const long = { text: '🚗'.repeat(5000) }
  const flat = flattenOf('notes')([{ id: 1, ...stamps, description: long, more: long }], false)
  expect(flat.quarantine[0]?.value?.length).toBeLessThanOrEqual(4096)
  expect(flat.quarantine[0]?.value).not.toMatch(/\p{Surrogate}/u)
  expect(flat.drift[0]?.example?.length).toBeLessThanOrEqual(200)
})

test('values nested too deep for a warehouse are quarantined, and the rest of _extra stays', () => {
  const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown
  const flat = flattenOf('vehicles')([{ id: 1, ...stamps, vin: 'X', deep }], false)
  expect(named('vehicles', flat)[0]?._extra).toBe('{"vin":"X"}')
  expect(flat.quarantine).toMatchObject([{ recordId: '1', reason: 'nested too deeply: deep' }])
})
