import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digest, Sketch, type SketchEntry } from '../../../src/engine/warehouse/register/sketch.js'

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
  it('names the differences of two sets, whatever they share', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(id, { maxLength: 300, selector: String }),
        fc.nat(20),
        fc.nat(20),
        (ids, more, less) => {
          const here = sketchOf(ids.slice(less))
          const there = sketchOf([...ids.slice(0, less), ...ids.slice(less + more)])
          const difference = here.against(there)
          expect(idsOf(difference?.more)).toEqual(sorted(ids.slice(less, less + more)))
          expect(idsOf(difference?.less)).toEqual(sorted(ids.slice(0, less)))
        },
      ),
    )
  })

  it('is the same in whatever order ids were added and removed, and as a text', () => {
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 200, selector: String }), fc.nat(50), (ids, gone) => {
        const sketch = sketchOf(ids)
        for (const one of ids.slice(0, gone)) sketch.add({ id: one, version }, -1)
        const text = sketch.encode()
        expect(text).toBe(sketchOf(ids.slice(gone).reverse()).encode())
        expect(Sketch.decode(text).encode()).toBe(text)
        expect(text.length).toBeLessThan(1950)
      }),
    )
  })

  it('nearly always names up to 25 of a million, and never wrong ones', () => {
    const named = (count: number): number => {
      let whole = 0
      for (let seed = 0; seed < 200; seed++) {
        const lost = Array.from({ length: count }, (_, i) => (seed * 7919 + i * 104_729) % 1_000_003)
        const difference = sketchOf(lost).against(new Sketch())
        if (difference) expect(idsOf(difference.more)).toEqual(sorted(lost))
        if (difference) whole++
      }
      return whole
    }
    expect(named(2)).toBe(200)
    expect(named(25)).toBeGreaterThan(196)
    expect(named(500)).toBe(0)
  })
})
