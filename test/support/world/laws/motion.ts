/**
 * Laws 5 (watermark), 6 (motion) and 9 (books): whatever happens at the source between any two requests, once it stops changing, a
 * sync leaves every record of it in the warehouse in its newest version; no version is ever rolled back, and no walk
 * ever claims more than it has; no record that is there is ever marked as deleted, and where a sync can't find what has
 * happened, a reconcile does. ../motion.ts plays one scenario; this file has the sources on which it is played, and
 * kinds of scenarios that reveal particular mistakes.
 */
import fc from 'fast-check'
import type { Address } from '../../harness/place.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { type Hears, Play, type Tally } from '../motion.js'
import { comparisons, exchange, histories, type MotionScript, type Step, scripts } from '../motionscript.js'
import { type MotionSource, MotionWorld, motionSource } from '../motionworld.js'
import { type Law, warehouseAt } from './law.js'

const from = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max })

interface Scene extends Pick<MotionScript, 'initial'> {
  readonly steps: readonly Step[]
}

/** A first load during which some steps happen, without an overlap and in single pages unless it says otherwise. */
const firstLoad = <T>(
  drawn: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
  sceneOf: (drawn: T) => Scene & Partial<MotionScript>,
): fc.Arbitrary<MotionScript> =>
  fc
    .record({
      digits: fc.constantFrom(0 as const, 3 as const, 6 as const),
      pageSizes: fc.constantFrom([5, 4, 3], [4, 3, 5, 2]),
      stepMs: fc.constantFrom(4, 40),
      drawn: fc.record(drawn) as fc.Arbitrary<T>,
    })
    .map(({ drawn, ...rest }) => {
      const { steps, ...scene } = sceneOf(drawn)
      const runs = [{ mode: 'sync', death: null, steps } as const]
      return { overlapMs: 0, readAhead: 0, shuffle: true, ...rest, ...scene, runs }
    })

/**
 * A group with the same updated_at in any order, a few records since, and nothing but exchanges of seen for late
 * records.
 */
const exchanges = fc.constantFrom(5000, 300_000).chain((overlapMs) =>
  firstLoad(
    {
      tied: from(8, 30),
      since: from(0, 4),
      gapMs: fc.constantFrom(0.001, 10, 1000),
      some: fc.array(exchange(overlapMs), { minLength: 1, maxLength: 5 }),
    },
    ({ tied, since, gapMs, some }) => ({
      overlapMs,
      initial: [
        { n: tied, tied: true, gapMs: 0 },
        { n: since, tied: false, gapMs },
      ],
      steps: some.flat(),
    }),
  ),
)

/**
 * A late zone of more than a page, and before it an old group with the same updated_at in any order. Deleted records of
 * the zone, which the walk has counted, make up for those that the ties hide.
 */
const wideZone = firstLoad(
  {
    tied: from(8, 20),
    since: from(6, 12),
    deleteAt: from(2, 7),
    offset: from(0, 3),
    deleted: from(1, 5),
    createAt: from(2, 7),
  },
  ({ tied, since, deleteAt, offset, deleted, createAt }) => ({
    overlapMs: 300_000,
    stepMs: 4,
    initial: [
      { n: tied, tied: true, gapMs: 0 },
      { n: 1, tied: true, gapMs: 3_600_000 },
      { n: since, tied: false, gapMs: 10 },
    ],
    steps: [
      { at: deleteAt, kind: 'delete', where: { from: 'front', offset, n: deleted } },
      { at: createAt, kind: 'create', n: 1 },
    ],
  }),
)

export const cases = {
  any: scripts,
  exchanges,
  wideZone,
  comparisons,
  histories,
}

export class Motion implements Law<MotionScript> {
  readonly tally: Tally = new Map()

  private constructor(
    private readonly warehouse: Warehouse,
    private readonly address: Address,
    private readonly sources: ReadonlyMap<number, MotionSource>,
  ) {}

  static async open(addresses: readonly Address[]): Promise<Motion> {
    const sources = new Map<number, MotionSource>()
    for (const digits of [0, 3, 6] as const) sources.set(digits, await motionSource(digits))
    return new Motion(await warehouseAt(addresses), addresses[0]!, sources)
  }

  play(
    script: MotionScript,
    hearing?: (world: MotionWorld, warehouse: Warehouse, script: MotionScript) => Hears,
  ): Promise<void> {
    const { warehouse, address, sources, tally } = this
    const world = new MotionWorld(sources.get(script.digits)!, script)
    const hears = hearing?.(world, warehouse, script)
    return new Play({ world, warehouse, address, tally, hears }, script).run()
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    for (const { sandbox } of this.sources.values()) await sandbox.close()
    if ((this.tally.get('scenarios') ?? 0) > 1)
      console.log(`motion: ${JSON.stringify(Object.fromEntries(this.tally))}`)
  }
}

export const open = Motion.open
