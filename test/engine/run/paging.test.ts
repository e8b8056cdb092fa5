/** The stories of paging.txt, and the page sizes that cut ties. */
import { expect, it } from 'vitest'
import { sizesUpTo } from '../../../src/engine/list/pagesize.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { timeOf } from '../../support/world/notes.js'

const words: Words = {
  'the 33rd record breaks all pages but its own': ({ list }) =>
    list.onList((_, page, perPage) => {
      const isThere = (page - 1) * perPage <= 32 && page * perPage > 32
      const when = { resource: 'notes', kind: 'list' } as const
      const breaks = { when, fault: { kind: 'status', status: 502 } } as const
      list.sandbox.script(isThere && perPage > 1 ? [breaks] : [])
    }),
  'records go and come between pages of 25': (story) => {
    let small = 0
    story.meanwhile((_, _page, perPage) => {
      if (perPage !== 25 || ++small > 40 || small % 7 !== 3) return
      story.list.put(1000 + small, timeOf(1000 + small))
      if (small % 2 === 0) story.list.remove(620 - small)
    })
  },
  'none moves any more': (story) => story.meanwhile(),
}

stories('test/engine/run/paging.txt', await sandboxOfFile(), { overlapMs: 0 }, words)

it('page sizes below the one that is served are coprime, descending, and none below half', () => {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
  for (let most = 1; most <= 100; most++) {
    const sizes = sizesUpTo(most)
    expect(sizes[0]).toBe(most)
    for (const [i, size] of sizes.entries()) {
      expect(size).toBeGreaterThanOrEqual(most / 2)
      for (const other of sizes.slice(i + 1)) {
        expect(other).toBeLessThan(size)
        expect(gcd(size, other)).toBe(1)
      }
    }
    if (most > 6) expect(sizes.length).toBeGreaterThanOrEqual(3)
  }
})
