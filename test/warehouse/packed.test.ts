import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Tuple } from '../../src/derive/batch.js'
import { isPacked, pack, packEarly, packedRows, unpack } from '../../src/warehouse/packed.js'

const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.boolean(),
  fc.constant(null),
)
const table = fc
  .integer({ min: 1, max: 5 })
  .chain((width) => fc.array(fc.array(value, { minLength: width, maxLength: width }), { maxLength: 6 }))
const page = fc
  .uniqueArray(fc.string(), { maxLength: 5 })
  .chain((names) => fc.tuple(...names.map((name) => table.map((rows) => [name, rows] as [string, Tuple[]]))))
  .map((entries) => new Map(entries as [string, Tuple[]][]))

it('gives back every value of every table, whichever is asked for first', () => {
  fc.assert(
    fc.property(page, (rows) => {
      const read = unpack(pack(rows))
      for (const name of [...rows.keys()].reverse()) expect(read.get(name)).toEqual(rows.get(name))
      expect(read.get('no such table of it')).toBeUndefined()
    }),
  )
})

it('keeps what was packed early, and drops the tuples', () => {
  const rows = new Map<string, Tuple[]>([
    [
      'a',
      [
        [1, 'x'],
        [null, 'y'],
      ],
    ],
  ])
  packEarly(rows)
  expect(rows.size).toBe(0)
  expect(isPacked(rows)).toBe(true)
  expect(unpack(packedRows(rows)).get('a')).toEqual([
    [1, 'x'],
    [null, 'y'],
  ])
})
