/** Items without ids inside other items: their key names every owner, so positions under two owners don't collide. */
import { describe, expect, it } from 'vitest'
import { id, integer, many, one, scalars, text } from '../../../schema/resource.js'
import { tablesOf } from '../../../src/engine/model/table.js'
import { model } from '../../support/harness/model.js'
import { bothWarehouses, open, rowsOf } from '../../support/harness/warehouse.js'
import { box } from '../../support/world/boxes.js'

const slots = many({ table: 'slots', key: 'position', fields: { size: integer('Size.') } }, 'Slots.')
const tags = scalars({ table: 'tags', column: 'tag', key: 'position', of: text('Tag.') }, 'Tags.')
const marks = scalars({ table: 'marks', column: 'mark', key: 'value', of: text('Mark.') }, 'Marks.')
const trays = many(
  { table: 'trays', key: 'id', ownerColumn: 'tray_id', fields: { id: id('Id.'), slots, tags, marks } },
  'Trays.',
)
const known = model({ boxes: box({ trays }) })
const boxes = known.byName.get('boxes')!

interface Tray {
  readonly id: number
  readonly slots: readonly number[]
  readonly tags: readonly string[]
}
const record = (box: number, second: number, some: readonly Tray[]) => ({
  id: box,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: `2026-01-01T00:00:0${second}Z`,
  trays: some.map(({ id, slots, tags }) => ({
    id,
    slots: slots.map((size) => ({ size })),
    tags,
    marks: tags,
  })),
})

describe.each(bothWarehouses())('$name', (kind) => {
  it('stores them for each owner, and exactly those of the new version', async () => {
    const warehouse = await open(kind, known)
    const store = async (second: number, records: readonly unknown[]): Promise<void> => {
      await warehouse.apply({
        tenantId: 1,
        resource: 'boxes',
        page: warehouse.encode(boxes.flatten(1, records, false), { tenantId: 1, resource: 'boxes' }),
        syncedAt: `2026-02-01T00:00:0${second}.000000Z`,
        statements: [],
      })
    }
    const plain = async (table: string, value: string) =>
      (await rowsOf(warehouse, table)).map((row) => [row.box_id, row.tray_id, row.position, row[value]])

    await store(1, [
      record(1, 1, [
        { id: 11, slots: [3, 4], tags: ['a', 'b'] },
        { id: 12, slots: [5], tags: ['a'] },
      ]),
      record(2, 1, [{ id: 21, slots: [6], tags: [] }]),
    ])
    expect(await plain('box_slots', 'size')).toEqual([
      [1, 11, 0, 3],
      [1, 11, 1, 4],
      [1, 12, 0, 5],
      [2, 21, 0, 6],
    ])
    const words = [
      [1, 11, 0, 'a'],
      [1, 11, 1, 'b'],
      [1, 12, 0, 'a'],
    ]
    expect(await plain('box_tags', 'tag')).toEqual(words)
    expect(await plain('box_marks', 'mark')).toEqual(words)

    await store(2, [record(1, 2, [{ id: 12, slots: [7, 8], tags: ['c'] }])])
    expect(await plain('box_slots', 'size')).toEqual([
      [1, 12, 0, 7],
      [1, 12, 1, 8],
      [2, 21, 0, 6],
    ])
    expect(await plain('box_tags', 'tag')).toEqual([[1, 12, 0, 'c']])
    await warehouse.close()
  })
})

const without = many({ table: 'trays', key: 'id', fields: { id: id('Id.'), slots } }, 'Trays.')
const placed = many({ table: 'trays', key: 'position', ownerColumn: 'tray_id', fields: { slots } }, 'Trays.')
const single = one({ table: 'trays', key: 'id', fields: { id: id('Id.'), tags } }, 'Tray.')

it('rejects a declaration with items that nothing tells apart', () => {
  expect(() => tablesOf(box({ trays: without }))).toThrow(
    'boxes: the items of slots are told apart by their position',
  )
  expect(() => tablesOf(box({ trays: placed }))).toThrow('boxes: the items of trays have no id')
  // The only tray of a box needs no name.
  expect(tablesOf(box({ trays: single })).map(({ name, key }) => [name, key.slice(1)])).toEqual([
    ['boxes', ['id']],
    ['box_trays', ['box_id', 'id']],
    ['box_tags', ['box_id', 'position']],
  ])
})
