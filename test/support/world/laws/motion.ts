/**
 * Laws 6 (motion) and 9 (books): whatever happens at the source between any two requests, once it stops changing, a
 * sync leaves every record of it in the warehouse in its newest version; no version is ever rolled back, and no walk
 * ever claims more than it has; no record that is there is ever marked as deleted, and where a sync can't find what has
 * happened, a reconcile does. ../motion.ts plays one scenario; this file has the sources on which it is played, and
 * kinds of scenarios that reveal particular mistakes.
 */
import fc from 'fast-check'
import type { Address } from '../../harness/place.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { type Hears, Play, Tally, type Told } from '../motion.js'
import { comparisons, exchange, type MotionScript, scripts } from '../motionscript.js'
import { MotionWorld } from '../motionworld.js'
import { type Law, warehouseAt } from './law.js'

/** What all these scenarios share. */
const plain = { overlapMs: 0, readAhead: 0 } as const
const pageSizes = fc.constantFrom([5, 4, 3], [4, 3, 5, 2])
const digits = fc.constantFrom(0 as const, 3 as const, 6 as const)

/**
 * Stamps records that the walk has already read with the same updated_at, lets time pass and creates a record. The
 * source shows the stamped records in a different order each time, so the closing pages show some of them and not
 * others. Only then can the newest record of the last response mislead: the walk reads everything newer than its first
 * response down to what it saw, and only ties can hide a part of that. An overlap would hide this mistake too, so there
 * is none.
 */
const tiedBehind: fc.Arbitrary<MotionScript> = fc
  .record({
    count: fc.integer({ min: 15, max: 30 }),
    touched: fc.integer({ min: 7, max: 14 }),
    touchAt: fc.integer({ min: 3, max: 5 }),
    createAt: fc.integer({ min: 4, max: 6 }),
    digits,
    stepMs: fc.constantFrom(4, 40),
    pageSizes,
  })
  .map(({ count, touched, touchAt, createAt, ...rest }) => ({
    ...plain,
    ...rest,
    shuffle: true,
    initial: [{ n: count, tied: false, gapMs: 1000 }],
    runs: [
      {
        mode: 'sync',
        death: null,
        steps: [
          { at: touchAt, kind: 'touch', where: { from: 'front', offset: 0, n: touched } },
          { at: createAt, kind: 'pause', ms: 60_000 },
          { at: createAt, kind: 'create', n: 1 },
        ],
      },
    ],
  }))

/**
 * Deletes records that the walk has already read, so that the next page skips as many. The records are far apart in
 * time: the first response shows the whole late zone, and no second reading of the zone makes up for what slipped.
 */
const deletesBehind: fc.Arbitrary<MotionScript> = fc
  .record({
    count: fc.integer({ min: 20, max: 40 }),
    deleted: fc.integer({ min: 1, max: 2 }),
    deleteAt: fc.integer({ min: 2, max: 4 }),
    digits,
    pageSizes,
  })
  .map(({ count, deleted, deleteAt, ...rest }) => ({
    ...plain,
    ...rest,
    stepMs: 4,
    shuffle: false,
    initial: [{ n: count, tied: false, gapMs: 10_000 }],
    runs: [
      {
        mode: 'sync',
        death: null,
        steps: [{ at: deleteAt, kind: 'delete', where: { from: 'front', offset: 0, n: deleted } }],
      },
    ],
  }))

/** Ties in any order, and one page size: what a reading hides, only another reading of the same pages can show. */
const shuffledTies: fc.Arbitrary<MotionScript> = scripts.map((script) => ({
  ...script,
  pageSizes: [5],
  shuffle: true,
  initial: script.initial.map((part) => ({ ...part, tied: true })),
}))

/**
 * A group with the same updated_at in any order, a few records since, and nothing but exchanges of seen for late
 * records.
 */
const exchanges: fc.Arbitrary<MotionScript> = fc.constantFrom(5000, 300_000).chain((overlapMs) =>
  fc
    .record({
      digits,
      pageSizes,
      stepMs: fc.constantFrom(0, 4, 40),
      tied: fc.integer({ min: 8, max: 30 }),
      since: fc.integer({ min: 0, max: 4 }),
      gapMs: fc.constantFrom(0.001, 10, 1000),
      some: fc.array(exchange(overlapMs), { minLength: 1, maxLength: 5 }),
    })
    .map(({ tied, since, gapMs, some, ...rest }) => ({
      ...plain,
      ...rest,
      overlapMs,
      shuffle: true,
      initial: [
        { n: tied, tied: true, gapMs: 0 },
        { n: since, tied: false, gapMs },
      ],
      runs: [{ mode: 'sync', death: null, steps: some.flat() }],
    })),
)

/**
 * A late zone of more than a page, and before it an old group with the same updated_at in any order. Deleted records of
 * the zone, which the walk has counted, make up for those that the ties hide.
 */
const wideZone: fc.Arbitrary<MotionScript> = fc
  .record({
    digits,
    pageSizes,
    tied: fc.integer({ min: 8, max: 20 }),
    since: fc.integer({ min: 6, max: 12 }),
    deleteAt: fc.integer({ min: 2, max: 7 }),
    offset: fc.integer({ min: 0, max: 3 }),
    deleted: fc.integer({ min: 1, max: 5 }),
    createAt: fc.integer({ min: 2, max: 7 }),
  })
  .map(({ tied, since, deleteAt, offset, deleted, createAt, ...rest }) => ({
    ...plain,
    ...rest,
    overlapMs: 300_000,
    stepMs: 4,
    shuffle: true,
    initial: [
      { n: tied, tied: true, gapMs: 0 },
      { n: 1, tied: true, gapMs: 3_600_000 },
      { n: since, tied: false, gapMs: 10 },
    ],
    runs: [
      {
        mode: 'sync',
        death: null,
        steps: [
          { at: deleteAt, kind: 'delete', where: { from: 'front', offset, n: deleted } },
          { at: createAt, kind: 'create', n: 1 },
        ],
      },
    ],
  }))

export const cases = {
  any: scripts,
  tiedBehind,
  deletesBehind,
  shuffledTies,
  exchanges,
  wideZone,
  comparisons,
}

export class Motion implements Law<MotionScript> {
  readonly tally = new Tally()

  private constructor(
    private readonly warehouse: Warehouse,
    private readonly worlds: ReadonlyMap<number, MotionWorld>,
  ) {}

  static async open(addresses: readonly Address[]): Promise<Motion> {
    const worlds = new Map<number, MotionWorld>()
    for (const n of [0, 3, 6] as const) worlds.set(n, await MotionWorld.open(n))
    return new Motion(await warehouseAt(addresses), worlds)
  }

  async play(script: MotionScript): Promise<void> {
    await this.told(script)
  }

  /** What each run of the scenario has reported. */
  async told(
    script: MotionScript,
    hearing?: (world: MotionWorld, warehouse: Warehouse, script: MotionScript) => Hears,
  ): Promise<readonly Told[]> {
    const { warehouse, worlds, tally } = this
    const world = worlds.get(script.digits)!
    const play = new Play({ world, warehouse, tally, hears: hearing?.(world, warehouse, script) }, script)
    await play.run()
    return play.told
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    for (const { sandbox } of this.worlds.values()) await sandbox.close()
  }
}

export const open = Motion.open
