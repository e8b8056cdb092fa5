/**
 * Law 9 on odd lists in memory, and for ranges: what is read in a wrong order, twice or not at all, with totals that jump, or
 * with places that can't be read, while it moves. Whatever is called complete is there.
 */
import { describe, expect, it } from 'vitest'
import { Skip } from '../../../src/engine/base/errors.js'
import { type Finding, nothingFound } from '../../../src/engine/list/anomalies.js'
import { epoch, forever } from '../../../src/engine/list/cutpoint.js'
import { RangeWalk } from '../../../src/engine/list/range.js'
import type { List, WalkPage } from '../../../src/engine/list/types.js'
import { walk } from '../../../src/engine/list/walk.js'
import { sized } from '../../support/harness/size.js'
import { type Live, text, World } from '../../support/world/movinglist.js'
import { randomFrom } from '../../support/world/random.js'

type Next = () => number

const pick = <T>(next: Next, some: readonly T[]): T => some[Math.floor(next() * some.length)] as T

class Odd extends World {
  readonly #order: 'newest' | 'oldest' | 'id'
  readonly #twice: number
  readonly #hidden: number
  readonly #jumps: boolean
  readonly #readable: number
  readonly #hole: number

  constructor(seed: number, count: number, ties: number) {
    super(seed, count, ties)
    this.shuffle = this.next() < 0.2
    this.#order = pick(this.next, ['newest', 'newest', 'newest', 'oldest', 'id'])
    this.#twice = this.next() < 0.4 ? 1 + Math.floor(this.next() * 9) : 0
    this.#hidden = this.next() < 0.4 ? 1 + Math.floor(this.next() * 3) : 0
    this.#jumps = this.next() < 0.15
    this.#readable = this.next() < 0.15 ? 3 : 100
    this.#hole = this.next() < 0.15 ? 1 + Math.floor(this.next() * 20) : 0
  }

  override list(floor: string): Live[] {
    const all = super.list(floor)
    if (this.#order === 'oldest') all.reverse()
    if (this.#order === 'id') all.sort((a, b) => ((a.id * 7) % 23) - ((b.id * 7) % 23) || a.id - b.id)
    const again = all[this.#twice]
    return this.#twice > 0 && again ? [...all.slice(0, -1), again, ...all.slice(-1)] : all
  }

  override page(floor: string, page: number, perPage: number): WalkPage<Live[]> {
    const shown = super.page(floor, page, perPage)
    const total = shown.total + this.#hidden + (this.#jumps && this.next() < 0.5 ? 2 : 0)
    const holes = shown.observed
      .filter(({ id }) => id === this.#hole)
      .map(({ updatedAt }) => ({ after: updatedAt, until: updatedAt, records: 1 }))
    return {
      ...shown,
      total,
      observed: shown.observed.map((one) =>
        one.id === this.#hole ? { ...one, id: `~${one.updatedAt} 0`, createdAt: null } : one,
      ),
      totalPages: Math.ceil(total / perPage),
      ...(this.next() < 0.05 && { goesOn: true }),
      ...(holes.length > 0 && { holes }),
      ...(perPage > this.#readable && { readable: this.#readable }),
    }
  }
}

/** A list of the source as a reader reaches it, with whatever moves before each response. */
function listed(world: World, next: Next, floor: string, motion: number): List<Live[]> {
  const ahead = pick(next, [0, 1, 4])
  const look = async <T>(see: () => T): Promise<T> => {
    for (let ticks = Math.floor(world.next() * 6); ticks > 0; ticks--) await Promise.resolve()
    while (world.next() < motion) world.move()
    world.look()
    return see()
  }
  return {
    fetch: (page, perPage) => look(() => world.page(floor, page, perPage)),
    countAfter: (t) => look(() => world.list(t < floor ? floor : t).length),
    readAhead: () => ahead,
    note: () => {},
  }
}

/** Earlier walks have found something, or believe so. */
const mayKnow = (next: Next): Finding => ({
  ...nothingFound,
  hidden: pick(next, [0, 0, 1, 2]),
  twice: pick(next, [0, 0, 1]),
  isUnordered: next() < 0.1,
  isUncounted: next() < 0.1,
  isUnsteady: next() < 0.1,
  ...(next() < 0.2 && { size: pick(next, [2, 3, 4]) }),
})

const sizes = [5, 4, 3, 7]

/** A refusal claims nothing. */
const verdictOf = (reading: Promise<{ readonly verdict: string }>): Promise<string> =>
  reading.then(
    ({ verdict }) => verdict,
    (error: unknown) => {
      if (!(error instanceof Skip)) throw error
      return 'refused'
    },
  )

/** `unproven` claims nothing; what nothing counts is `listed`, which may miss what moves. */
const claims = (verdict: string, missing: number): string =>
  missing > 0 && ['proven', 'repaired'].includes(verdict) ? `${verdict} without ${missing} records` : verdict

const readings = sized(200, 3000)

/** How a reading ends, or what of its claim is not there. */
type Ending = (seed: number) => Promise<string>

/** A range that begins and ends somewhere in the list, with a count of what is newer that may be wrong by now. */
const range =
  (Kind: typeof World, motion: number): Ending =>
  async (seed) => {
    const next = randomFrom(seed * 7919)
    const world = new Kind(seed, 5 + Math.floor(next() * 60), next() < 0.4 ? 0.5 : 0)
    const times = world.list(epoch).map(({ updated }) => text(updated))
    const [high = forever, low = epoch] = [pick(next, times), pick(next, times)].sort().reverse()
    const until = next() < 0.4 ? forever : high
    const after = next() < 0.3 ? epoch : low
    const newer = times.filter((time) => time > until).length
    const store = {
      take: async (page: WalkPage<Live[]>) => void world.store(page.payload),
      reached: async () => {},
    }
    const given = {
      after,
      until,
      pageSizes: sizes,
      newer: Math.max(0, newer + (next() < 0.2 ? pick(next, [-2, 3]) : 0)),
      ...(next() < 0.5 && { total: times.filter((time) => time > after).length }),
    }
    const verdict = await verdictOf(new RangeWalk(listed(world, next, after, motion), store, given).run())
    const end = until === forever ? (times[0] ?? epoch) : until
    return claims(verdict, world.missing(end, after))
  }

/** A walk of the whole list. */
const walked =
  (motion: number, isKnown: boolean): Ending =>
  async (seed) => {
    const next = randomFrom(seed * 7919)
    const world = new Odd(seed, 5 + Math.floor(next() * 60), next() < 0.4 ? 0.5 : 0)
    const store = async (page: WalkPage<Live[]>) => world.store(page.payload)
    let ceiling: string | null = null
    const reading = walk(listed(world, next, epoch, motion), store, {
      floor: epoch,
      nextFloor: world.nextFloor,
      pageSizes: sizes,
      ...(isKnown && { known: mayKnow(next), looksAgain: next() < 0.5 }),
    })
    const verdict = await verdictOf(
      reading.then((outcome) => {
        ceiling = outcome.ceiling
        return outcome
      }),
    )
    return claims(verdict, world.missing(ceiling, epoch))
  }

/**
 * How often each ending came. What no response can show, alone or together with ties in any order, is rare: a deletion that a
 * new record makes up for, and an order that isn't newest first.
 */
async function counted(ending: Ending, beyond = Math.ceil(readings / 500)): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const wrong: string[] = []
  for (let seed = 1; seed <= readings; seed++) {
    const end = await ending(seed)
    if (end.includes('without')) wrong.push(`seed ${seed}: ${end}`)
    counts.set(end, (counts.get(end) ?? 0) + 1)
  }
  expect(wrong.slice(beyond)).toEqual([])
  return counts
}

describe('whatever is called complete is there (law 9)', () => {
  it.each([
    ['that stands still', 0, false],
    ['that moves', 0.1, false],
    ['of which something is known, rightly or not', 0, true],
    ['of which something is known, and that moves', 0.1, true],
  ] as const)('of an odd list %s', async (_, motion, isKnown) => {
    const ends = await counted(walked(motion, isKnown))
    for (const verdict of ['proven', 'repaired', 'unproven'])
      expect(ends.get(verdict), verdict).toBeGreaterThan(0)
  })

  it('of a range of a list that stands still', async () => {
    expect((await counted(range(World, 0), 0)).get('proven')).toBeGreaterThan(readings / 2)
  })

  it.each([
    ['a list that moves', World, 0.2],
    ['a list that moves much', World, 0.5],
    ['an odd list', Odd, 0],
    ['an odd list that moves', Odd, 0.1],
  ] as const)('of a range of %s', async (_, Kind, motion) => {
    expect((await counted(range(Kind, motion))).get('proven')).toBeGreaterThan(readings / 20)
  })
})
