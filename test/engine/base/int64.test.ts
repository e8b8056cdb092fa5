import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exact, parseId, parseInt64 } from '../../../src/engine/base/int64.js'

const near = fc
  .tuple(
    fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n, -(2n ** 63n), 10n ** 19n),
    fc.integer({ min: -3, max: 3 }),
  )
  .map(([center, delta]) => center + BigInt(delta))

describe('a 64-bit integer', () => {
  it('is a number while that is safe, a bigint beyond that, and undefined beyond 64 bits', () => {
    fc.assert(
      fc.property(fc.oneof(near, fc.bigInt()), (value) => {
        const narrow = exact(value)
        expect(typeof narrow).toBe(value > -(2n ** 53n) && value < 2n ** 53n ? 'number' : 'bigint')
        expect(BigInt(narrow)).toBe(value)
        const fits = BigInt.asIntN(64, value) === value
        expect(parseInt64(String(value))).toBe(fits ? narrow : undefined)
        const id = fits && value > 0n ? narrow : undefined
        expect([parseId(value), parseId(String(value))]).toEqual([id, id])
      }),
    )
  })

  it.each(['', ' 1', '1.0', '1e3', '0x10', '+-1', '12a'])("isn't written as %j", (text) => {
    expect(parseInt64(text)).toBeUndefined()
  })

  it('may have a sign and leading zeros, while an id may not have a sign', () => {
    expect([parseInt64('+007'), parseInt64('-0'), parseId('007')]).toEqual([7, 0, 7])
    expect([parseId('+7'), parseId(7.5), parseId(2 ** 53), parseId(null)]).toEqual(Array(4).fill(undefined))
  })
})
