import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Tuple } from '../../src/model/flatten/batch.js'
import { release } from '../../src/warehouse/sqlite/encode.js'
import { type SqliteRows, TupleRows } from '../../src/warehouse/sqlite/rows.js'
import { type Packed, pack } from '../../src/warehouse/sqlite/thread/pack.js'
import { packedRows } from '../../src/warehouse/sqlite/thread/unpack.js'

const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('é', 'ÿ', '“', '😀', ''),
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

/** Rows one by one, as statements are given them. */
function read(rows: SqliteRows | undefined): unknown[][] | undefined {
  const reader = rows?.read()
  return rows?.owners.map(() => {
    const row: unknown[] = []
    reader?.next(row)
    return row
  })
}

const stored = (packed: Packed, name: string) => read(packedRows(packed, name, 0))

it('gives back every value of every table, whichever is asked for first', () => {
  fc.assert(
    fc.property(page, (rows) => {
      const packed = pack(rows)
      for (const [name, tuples] of [...rows].reverse())
        expect(stored(packed, name)).toEqual(read(new TupleRows(tuples, 0)))
      expect(stored(packed, 'no such table of it')).toBeUndefined()
    }),
  )
})

it('gives the rows of some owners only, as if the others had never been there', () => {
  const kept = fc.func(fc.boolean())
  fc.assert(
    fc.property(page, fc.nat({ max: 4 }), kept, kept, (rows, place, first, second) => {
      // An id is no boolean.
      for (const tuple of [...rows.values()].flat())
        if (typeof tuple[place] === 'boolean') tuple[place] = Number(tuple[place])
      const packed = pack(rows)
      for (const [name, tuples] of rows) {
        const expected = new TupleRows(tuples, place)
        const found = packedRows(packed, name, place)
        expect(found?.owners).toEqual(expected.owners)
        expect(read(found?.pick(first))).toEqual(read(expected.pick(first)))
        expect(read(found?.pick(first).pick(second))).toEqual(read(expected.pick(first).pick(second)))
      }
    }),
  )
})

it('gives the memory of a stored page to a later one, and to one only', () => {
  const rows = (text: string) => new Map<string, Tuple[]>([['a', [[1, text]]]])
  const first = pack(rows('first'))
  release({ packed: first })
  const [second, third] = [pack(rows('second')), pack(rows('third'))]
  expect(second.memory).toBe(first.memory)
  expect(stored(second, 'a')).toEqual([[1, 'second']])
  expect(stored(third, 'a')).toEqual([[1, 'third']])
})
