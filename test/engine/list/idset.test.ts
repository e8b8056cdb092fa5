/**
 * The set of ids that a walk has seen is a set, however the ids are distributed, and its text form restores what was
 * put in. Without `expect` for each id: a hundred thousand of them would take ten seconds.
 */
import { strictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Int64 } from '../../../schema/resource.js'
import { decodeIds, encodeIds, IdSet } from '../../../src/engine/list/idset.js'

const safe = 9007199254740991n
const exact = (value: bigint): Int64 => (value >= -safe && value <= safe ? Number(value) : value)

const ids: fc.Arbitrary<Int64> = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.integer({ min: 65_400, max: 65_700 }),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(exact),
  fc.bigInt({ min: safe - 100n, max: safe + 100n }).map(exact),
  fc.bigInt({ min: -safe - 100n, max: -safe + 100n }).map(exact),
)

describe('IdSet', () => {
  it('agrees with a Set, whatever is added in whatever order', () => {
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 300 }), fc.array(ids, { maxLength: 50 }), (added, asked) => {
        const [set, model] = [new IdSet(), new Set<string>()]
        for (const id of added) {
          strictEqual(set.add(id), !model.has(String(id)))
          model.add(String(id))
          strictEqual(set.size, model.size)
        }
        for (const id of [...added, ...asked]) strictEqual(set.has(id), model.has(String(id)))
      }),
      { numRuns: 500 },
    )
  })

  it('agrees with a Set when containers turn from lists into bitmaps', () => {
    const runs = fc.record({
      from: fc.constantFrom(0, 60_000, -70_000, 2 ** 40, Number(safe) - 70_000),
      step: fc.integer({ min: 1, max: 17 }),
      count: fc.integer({ min: 3000, max: 9000 }),
      backwards: fc.boolean(),
    })
    fc.assert(
      fc.property(runs, ({ from, step, count, backwards }) => {
        const [set, model] = [new IdSet(), new Set<number>()]
        for (let i = 0; i < count; i++) {
          const id = Math.min(from + (backwards ? count - i : i) * step, Number(safe))
          strictEqual(set.add(id), !model.has(id))
          model.add(id)
        }
        strictEqual(set.size, model.size)
        for (let id = from - 3; id < from + 2000; id++) strictEqual(set.has(id), model.has(id))
      }),
      { numRuns: 20 },
    )
  })

  it('restores from its text what was put in', () => {
    fc.assert(
      fc.property(fc.uniqueArray(ids, { selector: String }), (some) => {
        const sorted = [...some].sort((a, b) => (a < b ? -1 : 1))
        expect(decodeIds(encodeIds(some))).toEqual(sorted)
      }),
    )
    expect(decodeIds('')).toEqual([])
  })
})
