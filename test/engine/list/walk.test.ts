/**
 * Law 9 on a list in memory: thousands of walks under creates, updates, deletes, bulk deletes, ties that are shuffled
 * in every response, and pages that overlap in time. The list knows the truth; the walk must not claim more. The faults
 * that break the law are pinned in test/laws/mutants.test.ts.
 */
import { describe, expect, it } from 'vitest'
import { epoch } from '../../../src/engine/list/cutpoint.js'
import type { List, Store, WalkOutcome } from '../../../src/engine/list/types.js'
import { walk as readWalk } from '../../../src/engine/list/walk.js'
import { sized } from '../../support/harness/size.js'
import { Exchange, Kept, type Live, Paged, Steady, text, World } from '../../support/world/movinglist.js'
import { randomFrom } from '../../support/world/random.js'

interface Setting {
  readonly motion: number
  readonly ahead: number
  readonly pageSizes: readonly number[]
}

const dies = new Error('the process dies')

/** A list and a store of it. `diesAt` ends it at that request, leaving the committed progress. */
function port(
  world: World,
  floor: string,
  setting: Setting,
  kept: Kept,
  diesAt: number,
): [List<Live[]>, Store<Live[]>] {
  let requests = 0
  const look = async <T>(see: () => T): Promise<T> => {
    world.requests++
    if (++requests === diesAt) throw dies
    for (let ticks = Math.floor(world.next() * 6); ticks > 0; ticks--) await Promise.resolve()
    while (world.next() < setting.motion) world.move()
    world.look()
    return see()
  }
  const list: List<Live[]> = {
    fetch: (page, perPage) => look(() => world.page(floor, page, perPage)),
    countAfter: (t) => look(() => world.list(t < floor ? floor : t).length),
    readAhead: () => setting.ahead,
    note: () => {},
  }
  const store: Store<Live[]> = async (page, mark) => {
    await Promise.resolve()
    kept.keep(mark)
    return world.store(page.payload)
  }
  return [list, store]
}

async function walk(
  world: World,
  floor: string,
  setting: Setting,
  die: boolean,
  within = 6,
): Promise<WalkOutcome> {
  const kept = new Kept()
  let diesAt = die ? 2 + Math.floor(world.next() * within) : 0
  for (;;) {
    try {
      return await readWalk(...port(world, floor, setting, kept, diesAt), {
        floor,
        nextFloor: world.nextFloor,
        pageSizes: setting.pageSizes,
        ...kept.resume,
      })
    } catch (error) {
      if (error !== dies) throw error
      diesAt = 0
      while (world.next() < setting.motion) world.move()
    }
  }
}

interface Tally {
  proven: number
  repaired: number
  listed: number
  unproven: number
  /** Wrong if a record came back from deletion, which counting can't detect (docs/guarantees.md). */
  beyond: number
  /** A swap in the late zone left no trace in any response; the next walk reads the zone again. */
  traceless: number
  requests: number
  wrong: string[]
}

/**
 * A deletion that no total shows, plus a record that came back from deletion and looks like an update; or the deletion was
 * offset by a late record, and ties hide what is missing.
 */
function isBeyond(world: World, { ceiling, verdict }: WalkOutcome, floor: string): boolean {
  if (world.masked > 0 && world.returned > 0) return true
  return verdict === 'repaired' && world.exchanged > 0 && world.mayBeHidden(ceiling, floor)
}

/** Whether it was a swap in a wide zone, and the next walk of the unchanged source fetches what was missed. */
async function isHealed(world: World, { ceiling, verdict }: WalkOutcome, setting: Setting): Promise<boolean> {
  if (ceiling === null || verdict !== 'proven' || world.masked === 0 || !world.wide.has(ceiling)) return false
  const floor = world.nextFloor(ceiling)
  const next = await walk(world, floor, { ...setting, motion: 0 }, false)
  return next.verdict !== 'unproven' && world.missing(next.ceiling, epoch) === 0
}

/** WALKS_FROM=… plays other walks. */
const firstSeed = Number(process.env.WALKS_FROM ?? 1)

/** How to play the walks again, that one first. */
const again = (seed: number): string => `WALKS_FROM=${seed} npx vitest run test/engine/list/walk.test.ts`

async function campaign(
  walks: number,
  settingOf: (next: () => number) => Setting,
  {
    die = false,
    overlaps = [0],
    Kind = World,
  }: {
    die?: boolean
    overlaps?: readonly number[]
    Kind?: typeof World
  } = {},
): Promise<Tally> {
  const tally: Tally = {
    proven: 0,
    repaired: 0,
    listed: 0,
    unproven: 0,
    beyond: 0,
    traceless: 0,
    requests: 0,
    wrong: [],
  }
  for (let seed = firstSeed; seed < firstSeed + walks; seed++) {
    const next = randomFrom(seed * 7919)
    const setting = settingOf(next)
    const overlap = overlaps[Math.floor(next() * overlaps.length)] ?? 0
    const world = new Kind(seed, 5 + Math.floor(next() * 60), next() < 0.4 ? 0.5 : 0, overlap)
    const isFirst = next() < 0.5
    const middle = world.list(epoch)[Math.floor(world.live.size / 2)]
    const floor = isFirst || !middle ? epoch : text(middle.updated)
    // An incremental walk starts with what is below its floor, and an older state of some of what is above.
    if (!isFirst)
      for (const record of world.live.values())
        if (text(record.updated) <= floor) world.stored.set(record.id, text(record.updated))
    const outcome = await walk(world, floor, setting, die)
    tally[outcome.verdict]++
    tally.requests += world.requests
    const isWrong = outcome.verdict !== 'unproven' && world.missing(outcome.ceiling, floor) > 0
    if (isWrong && isBeyond(world, outcome, floor)) tally.beyond++
    else if (isWrong && (await isHealed(world, outcome, setting))) tally.traceless++
    else if (isWrong) tally.wrong.push(`${again(seed)}: ${outcome.verdict}, ${JSON.stringify(outcome)}`)
    if (!world.moved && !world.shuffle && outcome.verdict !== 'proven' && !die)
      tally.wrong.push(`${again(seed)}: still, yet ${outcome.verdict}`)
  }
  return tally
}

const sizes = [5, 4, 3, 7]
const walks = Number(process.env.WALKS ?? sized(100, 10_000))

describe('a walk of a list in memory', () => {
  it.each([
    ['one page after the other', 0],
    ['asking for the next page while one is stored', 1],
    ['several pages together', 4],
  ])('never claims more than it has, %s (law 9)', async (_, ahead) => {
    const tally = await campaign(walks, (next) => ({
      motion: [0, 0.1, 0.3, 0.5][Math.floor(next() * 4)] ?? 0,
      ahead,
      pageSizes: sizes,
    }))
    expect(tally.wrong).toEqual([])
    expect(tally.proven).toBeGreaterThan(walks / 10)
    expect(tally.repaired).toBeGreaterThan(walks / 100)
    // A walk of such a list takes 25.
    expect(tally.requests / walks).toBeLessThan(30)
  })

  it('never claims more than it has when it was killed and resumed', async () => {
    const tally = await campaign(
      walks,
      (next) => ({
        motion: [0, 0.1, 0.3][Math.floor(next() * 3)] ?? 0,
        ahead: next() < 0.5 ? 0 : 3,
        pageSizes: sizes,
      }),
      { die: true },
    )
    expect(tally.wrong).toEqual([])
  })

  it.each([0, 1, 4])(
    'that was killed anywhere stores at most two pages again, reading %i ahead',
    async (ahead) => {
      for (let seed = 1; seed <= sized(20, 300); seed++) {
        const world = new World(seed, 120, 0)
        world.shuffle = false
        let stored = 0
        const store = world.store.bind(world)
        world.store = (part) => {
          stored += part.length
          return store(part)
        }
        await walk(world, epoch, { motion: 0, ahead, pageSizes: [5] }, true, 24)
        expect(stored - world.live.size, `seed ${seed}`).toBeLessThanOrEqual(10)
      }
    },
  )

  const late = { overlaps: [2, 5, 12, 40] }
  const settings = (next: () => number): Setting => ({
    motion: [0.1, 0.3, 0.5][Math.floor(next() * 3)] ?? 0,
    ahead: [0, 0, 1, 4][Math.floor(next() * 4)] ?? 0,
    pageSizes: sizes,
  })

  it.each([
    ['', false, World],
    [', killed and resumed', true, World],
    [', each for one that was seen', false, Exchange],
  ])('never claims more than it has when records come late or come back%s', async (_, die, Kind) => {
    // Those in exchange take ten times as long.
    const played = Kind === Exchange ? Math.ceil(walks / sized(3, 1)) : walks
    const tally = await campaign(played, settings, { ...late, die, Kind })
    const { proven, repaired, unproven, beyond, traceless } = tally
    console.log(
      `late: ${proven} proven, ${repaired} repaired, ${unproven} unproven; ${tally.wrong.length} wrong, ${beyond} beyond counting, ${traceless} without a trace`,
    )
    expect(tally.wrong).toEqual([])
    // Some walks that were never played before, chosen at random.
    expect(traceless).toBeLessThanOrEqual(Math.ceil(played / 1000) + (process.env.WALKS_FROM ? 3 : 0))
    expect(proven + repaired).toBeGreaterThan(played / 5)
  })

  it.each([
    ['that stands still', 0, 0],
    ['that moves', 0.2, 0],
    ['that moves, several pages together', 0.2, 4],
  ] as const)(
    'never claims more of a list with short pages and wrong totals %s',
    async (_, motion, ahead) => {
      const tally: Record<string, number> = {}
      const wrong: string[] = []
      for (let seed = 1; seed <= walks; seed++) {
        const world = new Paged(seed, 5 + (seed % 60), seed % 3 === 0 ? 0.5 : 0, 0)
        // No response shows whether an estimate, or a refusal, is due to the list's motion.
        if (motion > 0 && (world.count === 'low' || world.beyond === 'refused')) continue
        const outcome = await walk(world, epoch, { motion, ahead, pageSizes: sizes }, false)
        const missing = world.missing(outcome.ceiling, epoch)
        const key = `${world.count} ${outcome.verdict}`
        tally[key] = (tally[key] ?? 0) + 1
        // If nothing counts, a deletion may pull a record past the walk, and ties may hide one: it isn't called proven.
        const mayMiss = outcome.verdict === 'listed' && (motion > 0 || world.shuffle)
        const isWrong = outcome.verdict !== 'unproven' && missing > 0 && !mayMiss
        if (isWrong && !isBeyond(world, outcome, epoch) && !world.isHopeless)
          wrong.push(`seed ${seed}: ${key}, ${JSON.stringify(outcome)}`)
      }
      console.log(`paged: ${JSON.stringify(tally)}`)
      expect(wrong).toEqual([])
      expect(tally['true proven']).toBeGreaterThan(walks / 40)
      expect(tally['none listed']).toBeGreaterThan(walks / 20)
    },
  )

  it.each([
    ['which a source shows in one order, at once', false, 'proven'],
    ['which a source shuffles, by reading again', true, 'repaired'],
  ] as const)('a busy list closes over an old group with one time, %s', async (_, shuffle, verdict) => {
    for (let seed = 1; seed <= sized(15, 50); seed++) {
      const world = new Steady(seed, 40, 1, 5)
      world.shuffle = shuffle
      world.move()
      const outcome = await walk(world, epoch, { motion: 0.3, ahead: 0, pageSizes: sizes }, false)
      expect(outcome, `seed ${seed}`).toMatchObject({ verdict })
      expect(world.missing(outcome.ceiling, epoch)).toBe(0)
    }
  })
})
