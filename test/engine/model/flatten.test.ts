/** What differential.test.ts, which compares whole pages with a plain reading of the same rules, does not look at. */
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

test('an unknown field is reported once per page, under its path and with an example', () => {
  const record = (id: number) => ({
    id,
    ...stamps,
    color: 'red',
    label: { text: 'a', foo: 1 },
    services: [{ id: id * 10, parts: [{ id: id * 100, warranty: { months: 12 } }], integrator_tags: [] }],
  })
  const { drift } = flattenOf('repair_orders')([record(1), record(2)], false)
  const found = { resource: 'repair_orders', kind: 'unknown_field', detail: '' }
  expect(drift).toEqual([
    { ...found, path: 'label.foo', example: '1' },
    { ...found, path: 'services[].parts[].warranty', example: '{"months":12}' },
    { ...found, path: 'color', example: '"red"' },
  ])
})

test('two unknown fields whose paths become the same name are both kept', () => {
  // A member with a dot in its name, and a member of an object. U+0000 becomes U+FFFD, which another name has already.
  const odd = { 'label.foo': 'of the order', 'no\ufffd': 'a mark', 'no\u0000': 'nothing' }
  const record = { id: 1, ...stamps, ...odd, label: { foo: 'of its label' } }
  const [row] = named('repair_orders', flattenOf('repair_orders')([record], true))
  expect(JSON.parse(String(row?._extra))).toEqual({
    'label.foo': 'of its label',
    "label.foo'": 'of the order',
    'no\ufffd': 'a mark',
    "no\ufffd'": 'nothing',
  })
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

test('a record without id or version is in quarantine under its id, or the same digest of it each time', () => {
  const idsOf = (...records: unknown[]): string[] =>
    flattenOf('notes')(records, false).quarantine.map(({ recordId }) => recordId)
  const ids = idsOf({ id: 3 }, { ...stamps, description: 'x' }, 7)
  const digest = expect.stringMatching(/^\?[0-9a-f]{16}$/)
  expect(ids).toEqual(['3', digest, digest])
  expect(idsOf({ ...stamps, description: 'x' })).toEqual([ids[1]])
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
