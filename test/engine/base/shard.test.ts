import { describe, expect, it } from 'vitest'
import { hasTenant, shardIndex, shardName } from '../../../src/engine/base/shard.js'

/** Tenants, and which shard of 2, 8 and 64 they belong to. Stored leases and rounds rest on these: they never change. */
const pinned = [
  [0, 0, 0, 0],
  [1, 1, 1, 1],
  [8, 0, 0, 8],
  [1008, 0, 0, 48],
  [1009, 0, 0, 0],
  [1010, 1, 1, 1],
  [-1, 0, 0, 48],
  [-2, 1, 7, 47],
  [-1009, 0, 0, 0],
  [-1010, 0, 0, 48],
  [1234567890123456789n, 0, 2, 2],
  [9223372036854775807n, 1, 7, 63],
  [-9223372036854775808n, 1, 1, 49],
] as const

describe('the shard of a tenant', () => {
  it.each(pinned)('%i is in shard %i of 2, %i of 8 and %i of 64', (id, of2, of8, of64) => {
    expect([2, 8, 64].map((of) => shardIndex(id, of))).toEqual([of2, of8, of64])
    expect(shardIndex(id, 1)).toBe(0)
    expect(hasTenant({ index: of8, of: 8 }, id)).toBe(true)
    expect(hasTenant({ index: (of8 + 1) % 8, of: 8 }, id)).toBe(false)
    expect(hasTenant(undefined, id)).toBe(true)
  })

  it('is named as people type it', () => {
    expect(shardName({ index: 3, of: 8 })).toBe('3/8')
  })
})
