import { describe, expect, test } from 'vitest'
import { resources } from '../../../schema/index.js'
import { id, integer, type Kind, many, one, scalars, text } from '../../../schema/resource.js'
import { Stop } from '../../../src/engine/base/errors.js'
import { compileFlatten } from '../../../src/engine/model/flatten/flatten.js'
import { withColumns } from '../../../src/engine/model/registry.js'
import { tablesOf } from '../../../src/engine/model/table.js'
import { model } from '../../support/harness/model.js'
import { box } from '../../support/world/boxes.js'

describe('promoted columns', () => {
  const vehicles = resources.vehicles!
  test('become real columns, before our own, and leave _extra', () => {
    const promoted: [string, Kind][] = [
      ['vin', 'text'],
      ['year', 'integer'],
      ['constructor', 'text'],
    ]
    const more = withColumns(vehicles, Object.fromEntries(promoted))
    const [names = []] = tablesOf(more).map(({ columns }) => columns.map(({ name }) => name))
    expect(names.join(' ')).toBe(
      'tenant_id id created_at updated_at vin year constructor _synced_at _deleted_at _unlisted_at _extra _name _year _make _model',
    )
    const record = { id: 1, updated_at: '2024-01-01T00:00:00Z', vin: 5, year: '2020', make: ' ', model: 911 }
    const [row = []] = compileFlatten(more)([record], false).rows.get('vehicles') ?? []
    const ofRecord = [1, null, '2024-01-01T00:00:00.000000Z', '5', 2020, null]
    expect(row).toEqual([...ofRecord, '{"make":" ","model":911}', null, 2020, null, '911'])
  })

  test.each([['id'], ['_extra'], ['tenant_id'], ['']])('reject the name %j', (name) => {
    expect(() => withColumns(vehicles, { [name]: 'text' })).toThrow(Stop)
  })

  test('reject a flattened name, a child array and an unknown kind, and tell you where to look', () => {
    const orders = resources.repair_orders!
    expect(() => withColumns(orders, { label_text: 'text' })).toThrow(/label_text already exists/)
    expect(() => withColumns(orders, { services: 'json' })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('shopsync dictionary') }),
    )
    expect(() => withColumns(orders, { vin: 'string' as 'text' })).toThrow(/known: id, integer/)
  })
})

describe('the model', () => {
  test('rejects settings of a resource that does not exist', () => {
    expect(() => model(resources, { vehicle: {} })).toThrow(/resources.vehicle is not a resource/)
  })

  test('embedded rows have the promoted columns of their own resource', () => {
    const { byName } = model(resources, { integrator_tags: { columns: { color: 'text' } } })
    const at = '2024-01-01T00:00:00Z'
    const page = [{ id: 1, updated_at: at, integrator_tags: [{ id: 2, updated_at: at, color: 'red' }] }]
    expect(byName.get('notes')?.flatten(1, page, false).rows.get('integrator_tags')?.[0]?.slice(-2)).toEqual([
      'red',
      null,
    ])
  })
})

describe('a declaration with items that nothing tells apart', () => {
  const slots = many({ table: 'slots', key: 'position', fields: { size: integer('Size.') } }, 'Slots.')
  const tags = scalars({ table: 'tags', column: 'tag', key: 'position', of: text('Tag.') }, 'Tags.')

  test('is rejected', () => {
    const without = many({ table: 'trays', key: 'id', fields: { id: id('Id.'), slots } }, 'Trays.')
    const owned = { table: 'trays', key: 'position', ownerColumn: 'tray_id', fields: { slots } } as const
    expect(() => tablesOf(box({ trays: without }))).toThrow(
      'boxes: the items of slots are told apart by their position',
    )
    expect(() => tablesOf(box({ trays: many(owned, 'Trays.') }))).toThrow(
      'boxes: the items of trays have no id',
    )
    // The only tray of a box needs no name.
    const single = one({ table: 'trays', key: 'id', fields: { id: id('Id.'), tags } }, 'Tray.')
    expect(tablesOf(box({ trays: single })).map(({ name, key }) => [name, key.slice(1)])).toEqual([
      ['boxes', ['id']],
      ['box_trays', ['box_id', 'id']],
      ['box_tags', ['box_id', 'position']],
    ])
  })
})
