/**
 * Law 9 on lists in memory: thousands of readings under creates, updates, deletes, bulk deletes, ties that are shuffled in
 * every response, pages that overlap in time, and oddities of every kind. The list knows the truth; no verdict must claim
 * more. The faults that break the law are pinned in test/laws/mutants.test.ts.
 */
import { describe, expect, it } from 'vitest'
import { Skip } from '../../../src/engine/base/errors.js'
import { type Finding, nothingFound } from '../../../src/engine/list/anomalies.js'
import { epoch, forever } from '../../../src/engine/list/cutpoint.js'
import { RangeWalk } from '../../../src/engine/list/range.js'
import type { WalkPage } from '../../../src/engine/list/types.js'
import { sized } from '../../support/harness/size.js'
import { type Live, Odd, pick, type Setting, text, timeOf, World } from '../../support/world/movinglist.js'
import { randomFrom } from '../../support/world/random.js'

type Next = () => number

/** WALKS_FROM=… plays other walks, WALKS=… so many. */
const firstSeed = Number(process.env.WALKS_FROM ?? 1)
const walks = Number(process.env.WALKS ?? sized(100, 10_000))
const readings = Number(process.env.WALKS ?? sized(200, 3000))
const pageSizes = [5, 4, 3, 7]

/**
 * How often a reading ended in which way: by a verdict, or `wrong`. `rare`: how many may be wrong, where no response can
 * show what is missing.
 */
async function endings(n: number, play: (seed: number, next: Next) => Promise<string>, rare = 0) {
  const counts = new Map<string, number>()
  const wrong: string[] = []
  for (let seed = firstSeed; seed < firstSeed + n; seed++) {
    const end = await play(seed, randomFrom(seed * 7919))
    const [kind = ''] = end.split(':')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    if (kind === 'wrong')
      wrong.push(
        `${end}; to play it again: WALKS_FROM=${seed} WALKS=1 npx vitest run test/engine/list/walk.test.ts`,
      )
  }
  expect(wrong.slice(rare)).toEqual([])
  return (...kinds: string[]): number => kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0)
}

/** Some records, of which half may share their times. */
const listOf = <W>(Kind: new (seed: number, count: number, ties: number) => W, seed: number, next: Next): W =>
  new Kind(seed, 5 + Math.floor(next() * 60), next() < 0.4 ? 0.5 : 0)

const settings =
  (motions: readonly number[], aheads: readonly number[]) =>
  (next: Next): Setting => ({ motion: pick(next, motions), ahead: pick(next, aheads), pageSizes })

/** A walk of a whole list or from the middle on, which `dies` once or not. */
const walkOf =
  (settingOf: (next: Next) => Setting, { dies = false, asked = (_: number): void => {} } = {}) =>
  async (seed: number, next: Next): Promise<string> => {
    const setting = settingOf(next)
    const world = listOf(World, seed, next)
    const middle = world.list(epoch)[Math.floor(world.live.size / 2)]
    const floor = next() < 0.5 || !middle ? epoch : text(middle.updated)
    // An incremental walk starts with what is below its floor, and an older state of some of what is above.
    for (const { id, updated } of world.live.values())
      if (text(updated) <= floor) world.stored.set(id, text(updated))
    const outcome = await world.walked(floor, setting, dies ? 6 : 0)
    asked(world.requests)
    const { verdict, ceiling } = outcome
    if (!world.moved && !world.shuffle && verdict !== 'proven' && !dies) return `wrong: still, yet ${verdict}`
    if (verdict === 'unproven' || world.missing(ceiling, floor) === 0) return verdict
    return `wrong: ${verdict}, ${JSON.stringify(outcome)}`
  }

describe('a walk of a list in memory never claims more than it has (law 9)', () => {
  it.each([
    ['one page after the other', 0],
    ['asking for the next page while one is stored', 1],
    ['several pages together', 4],
  ])('%s', async (_, ahead) => {
    let requests = 0
    const asked = (n: number): void => {
      requests += n
    }
    const ended = await endings(walks, walkOf(settings([0, 0.1, 0.3, 0.5], [ahead]), { asked }))
    expect(ended('proven')).toBeGreaterThan(walks / 10)
    expect(ended('repaired')).toBeGreaterThan(walks / 100)
    // A walk of such a list takes 25.
    expect(requests / walks).toBeLessThan(30)
  })

  it('when it was killed and resumed', async () => {
    const play = walkOf(settings([0, 0.1, 0.3], [0, 3]), { dies: true })
    await endings(walks, play)
    // The dead one met a tie, and the end of the list is read twice.
    expect(await play(8076, randomFrom(8076 * 7919))).toBe('repaired')
  })
})

/** Ids increase with time: a walk reads the last ones first. */
const some = (from: number, n: number, change: (id: number) => void): void => {
  for (let id = from; id < from + n; id++) change(id)
}
const created = (world: World): void =>
  some(0, 20, () => {
    world.time++
    world.create()
  })
const deleted = (from: number) => (world: World) => some(from, 12, (id) => world.live.delete(id))
const updated = (from: number) => (world: World) =>
  some(from, 12, (id) => {
    world.time++
    Object.assign(world.live.get(id) ?? {}, { updated: world.time })
  })

it.each<[meanwhile: string, changes: ((world: World) => void)[]]>([
  ['nothing', []],
  ['some records created', [created]],
  ['some of those read deleted', [deleted(105)]],
  ['some of those to come deleted', [deleted(10)]],
  ['some of those read updated', [updated(105)]],
  ['some of those to come updated', [updated(10)]],
  ['all of it', [created, deleted(90), deleted(2), updated(108), updated(15)]],
])('a walk that was killed anywhere stores at most two pages again, meanwhile %s', async (_, changes) => {
  for (let seed = 1; seed <= sized(20, 300); seed++) {
    const world = new World(seed, 120, seed % 5 === 0 ? 1 : 0)
    world.shuffle = false
    let [isResumed, isClosing, again] = [false, false, 0]
    const page = world.page.bind(world)
    world.page = (...asked) => {
      const shown = page(...asked)
      const [, number] = asked
      // In the end, its first page is checked once more.
      isClosing ||= isResumed && number === 1
      if (isResumed && !isClosing)
        again += shown.payload.filter((one) => world.stored.get(one.id) === text(one.updated)).length
      return shown
    }
    const meanwhile = (): void => {
      isResumed = true
      for (const change of changes) change(world)
    }
    const setting = { motion: 0, ahead: [0, 1, 4][seed % 3]!, pageSizes: [5], meanwhile }
    const { ceiling } = await world.walked(epoch, setting, 24)
    expect(again, `seed ${seed}`).toBeLessThanOrEqual(10)
    expect(world.missing(ceiling, epoch), `seed ${seed}`).toBe(0)
  }
})

it.each([
  ['which a source shows in one order, at once', false, 'proven'],
  ['which a source shuffles, by reading again', true, 'repaired'],
] as const)('a busy list closes over an old group with one time, %s', async (_, shuffle, verdict) => {
  for (let seed = 1; seed <= sized(15, 50); seed++) {
    const world = new World(seed, 40, 1)
    // Only new records, each well after the previous one.
    world.move = () => {
      world.time += 10
      world.create()
    }
    world.shuffle = shuffle
    world.move()
    const nextFloor = (ceiling: string): string => text(timeOf(ceiling) - 5)
    const outcome = await world.walked(epoch, { motion: 0.3, ahead: 0, pageSizes }, 0, { nextFloor })
    expect(outcome, `seed ${seed}`).toMatchObject({ verdict })
    expect(world.missing(outcome.ceiling, epoch)).toBe(0)
  }
})

/** What a reading claims. A refusal and `unproven` claim nothing; what nothing counts is `listed`, and may miss what moves. */
async function claimed<T extends { readonly verdict: string }>(
  reading: Promise<T>,
  missing: (ended: T) => number,
): Promise<string> {
  try {
    const ended = await reading
    const lacks = ['proven', 'repaired'].includes(ended.verdict) ? missing(ended) : 0
    return lacks > 0 ? `wrong: ${ended.verdict} without ${lacks} records` : ended.verdict
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    return 'refused'
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
  size: next() < 0.2 ? pick(next, [2, 3, 4]) : undefined,
})

/** A range that begins and ends somewhere in the list, with a count of what is newer that may be wrong by now. */
const rangeOf =
  (Kind: typeof World | typeof Odd, motion: number) =>
  (seed: number, next: Next): Promise<string> => {
    const world = listOf(Kind, seed, next)
    const times = world.list(epoch).map(({ updated }) => text(updated))
    const [high = forever, low = epoch] = [pick(next, times), pick(next, times)].sort().reverse()
    const until = next() < 0.4 ? forever : high
    const after = next() < 0.3 ? epoch : low
    const newer = times.filter((time) => time > until).length
    const store = {
      take: async (page: WalkPage<Live[]>) => void world.store(page.payload),
      reached: async () => {},
    }
    const total = next() < 0.5 ? times.filter((time) => time > after).length : undefined
    const given = {
      after,
      until,
      pageSizes,
      newer: Math.max(0, newer + (next() < 0.2 ? pick(next, [-2, 3]) : 0)),
      total,
    }
    const list = world.reached(after, { motion, ahead: pick(next, [0, 1, 4]), pageSizes })
    const end = until === forever ? (times[0] ?? epoch) : until
    return claimed(new RangeWalk(list, store, given).run(), () => world.missing(end, after))
  }

/**
 * What no response can show, alone or together with ties in any order, is rare: a deletion that a new record makes up for,
 * and an order that isn't newest first. Of new cases, as many may be wrong as chance makes of that.
 */
const expected = readings / 500
const isNew = process.env.WALKS_FROM !== undefined
const rare = isNew ? Math.floor(expected + 5 * Math.sqrt(expected)) : Math.ceil(expected)

describe('whatever is called complete is there (law 9)', () => {
  it.each([
    ['that stands still', 0, false],
    ['that moves', 0.1, false],
    ['of which something is known, rightly or not', 0, true],
    ['of which something is known, and that moves', 0.1, true],
  ] as const)('of an odd list %s', async (_, motion, isKnown) => {
    const play = (seed: number, next: Next): Promise<string> => {
      const world = listOf(Odd, seed, next)
      const known = isKnown ? { known: mayKnow(next), looksAgain: next() < 0.5 } : {}
      const setting = { motion, ahead: pick(next, [0, 1, 4]), pageSizes }
      return claimed(world.walked(epoch, setting, 0, known), ({ ceiling }) => world.missing(ceiling, epoch))
    }
    const ended = await endings(readings, play, rare)
    for (const verdict of ['proven', 'repaired', 'unproven'])
      expect(ended(verdict), verdict).toBeGreaterThan(0)
  })

  it.each([
    ['a list that stands still', World, 0, 0, 2],
    ['a list that moves', World, 0.2, rare, 20],
    ['a list that moves much', World, 0.5, rare, 20],
    ['an odd list', Odd, 0, rare, 20],
    ['an odd list that moves', Odd, 0.1, rare, 20],
  ] as const)('of a range of %s', async (_, Kind, motion, mayBeWrong, share) => {
    const ended = await endings(readings, rangeOf(Kind, motion), mayBeWrong)
    expect(ended('proven')).toBeGreaterThan(readings / share)
  })
})
