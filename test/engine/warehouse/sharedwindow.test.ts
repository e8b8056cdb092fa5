/** The laws of the row by which processes share a rate-limit window (docs/scale.md, One rate window). */
import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SharedWindow, WindowClaim } from '../../../src/engine/base/windowclaim.js'
import {
  bothWarehouses,
  kept,
  reopen,
  sharedWindow,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { SharedRow } from '../../support/world/sharedrow.js'

const limit = 40
/** The end of the first window; each lasts a minute. */
const start = 1_700_000_040

/** What a window is called before a response has said when it ends. */
const unsaidName = (minute: number): number => start + (minute - 1) * 60 + 2

/** A claim to the window that ends so many minutes later, as a response has said it, or before any has. */
function claimTo(
  minute: number,
  more: Partial<WindowClaim> & { readonly jitter?: number } = {},
): WindowClaim {
  const { jitter = 0, isSaid = true, ...given } = more
  const resetsAt = isSaid ? start + minute * 60 + jitter : unsaidName(minute)
  const [from, to] = isSaid ? [resetsAt - 1, resetsAt + 1] : [resetsAt, resetsAt]
  return {
    rule: 'p',
    limit,
    count: 4,
    most: limit,
    resetsAt,
    isSaid,
    from,
    to,
    was: resetsAt,
    used: 0,
    owed: 0,
    ...given,
  }
}

const claims = fc
  .record({
    minute: fc.nat(3),
    jitter: fc.nat(1),
    isSaid: fc.boolean(),
    count: fc.nat(6),
    used: fc.oneof(fc.constant(0), fc.nat(limit)),
    owed: fc.nat(2),
    wasEarlier: fc.boolean(),
  })
  .map(({ minute, isSaid, used, wasEarlier, ...more }) => ({
    minute,
    ...claimTo(minute, { ...more, isSaid, used: isSaid ? used : 0 }),
    // What the same process called the window before a response had said its end.
    ...(isSaid && wasEarlier && { was: unsaidName(minute) }),
  }))

describe.each(bothWarehouses())('$name: the row of a shared window', (kind) => {
  const place = kept(kind)
  let other: Warehouse
  let opened: Warehouse[]
  let rows: SharedWindow[]
  beforeAll(async () => {
    other = await reopen(place.address)
  })
  beforeEach(async () => {
    opened = [await place.open(), other]
    rows = opened.map(sharedWindow)
  })

  it('does what the specification says, claim by claim', async () => {
    let rule = 0
    await fc.assert(
      fc.asyncProperty(fc.array(claims, { minLength: 1, maxLength: 8 }), async (asked) => {
        const model = new SharedRow()
        rule++
        for (const [i, { minute: _, ...claim }] of asked.entries()) {
          const mine = { ...claim, rule: String(rule) }
          expect(await rows[i % 2]?.take(mine)).toEqual(model.take(mine))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('never grants more than the bound, in whatever order processes ask, and never goes back', async () => {
    let rule = 0
    await fc.assert(
      fc.asyncProperty(fc.array(claims, { minLength: 10, maxLength: 20 }), async (asked) => {
        rule++
        const granted = new Map<number, number>()
        let newest = 0
        const ask = async (process: number): Promise<void> => {
          for (const { minute, ...claim } of asked
            .filter((_, i) => i % 3 === process)
            .toSorted((a, b) => a.minute - b.minute)) {
            const answer = await rows[process % 2]?.take({
              ...claim,
              rule: String(rule),
              most: limit - 4,
              was: unsaidName(minute),
            })
            const { resetsAt = 0, taken = 0, granted: got = 0 } = answer ?? {}
            if (got === 0) continue
            const window = Math.ceil((resetsAt - 1 - start) / 60)
            granted.set(window, (granted.get(window) ?? 0) + got)
            expect(taken).toBeLessThanOrEqual(limit - 4)
            newest = Math.max(newest, resetsAt)
          }
        }
        await Promise.all([ask(0), ask(1), ask(2)])
        for (const sum of granted.values()) expect(sum).toBeLessThanOrEqual(limit - 4)
        expect((await rows[0]?.find(String(rule))) ?? 0).toBeGreaterThanOrEqual(newest)
      }),
      { numRuns: 25 },
    )
  })
})
