import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digest, Sketch, type SketchEntry } from '../../support/harness/warehouse.js'

const id = fc.oneof(
  fc.integer({ min: 1, max: 2 ** 31 }),
  fc.maxSafeInteger(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
)
const version = digest('2026-01-01T00:00:00.000000Z')
const sketchOf = (ids: Iterable<number | bigint>): Sketch => {
  const sketch = new Sketch()
  for (const one of ids) sketch.add({ id: one, version })
  return sketch
}
const sorted = (ids: readonly (number | bigint)[]): string[] => ids.map(String).sort()
const idsOf = (rows: readonly SketchEntry[] = []) => sorted(rows.map(({ id }) => id))

describe('a sketch', () => {
  it('names the differences of two sets, whatever they share, in whatever order ids came and went, and as a text', () => {
    const ids = fc.uniqueArray(id, { maxLength: 300, selector: String })
    fc.assert(
      fc.property(ids, fc.nat(20), fc.nat(20), (ids, more, less) => {
        const here = sketchOf(ids.slice(less))
        const there = sketchOf([...ids].reverse())
        for (const one of ids.slice(less, less + more)) there.add({ id: one, version }, -1)
        const text = there.encode()
        expect(text).toBe(sketchOf([...ids.slice(0, less), ...ids.slice(less + more)]).encode())
        expect(text.length).toBeLessThan(1950)
        const difference = here.against(Sketch.decode(text))
        expect(idsOf(difference?.more)).toEqual(sorted(ids.slice(less, less + more)))
        expect(idsOf(difference?.less)).toEqual(sorted(ids.slice(0, less)))
      }),
    )
  })

  it('nearly always names up to 25 of a million, and never wrong ones', () => {
    const named = (count: number): number => {
      let whole = 0
      for (let seed = 0; seed < 100; seed++) {
        const lost = Array.from({ length: count }, (_, i) => (seed * 7919 + i * 104_729) % 1_000_003)
        const difference = sketchOf(lost).against(new Sketch())
        if (difference) expect(idsOf(difference.more)).toEqual(sorted(lost))
        if (difference) whole++
      }
      return whole
    }
    expect([named(2), named(25) > 97, named(500)]).toEqual([100, true, 0])
  })
})
