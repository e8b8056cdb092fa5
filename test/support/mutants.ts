import fc from 'fast-check'
import { Book } from '../../src/walk/books.js'
import type { BatchStamp } from '../../src/warehouse/batch.js'
import type { Mutant } from './motion.js'
import type { MotionScript } from './motionscript.js'
import { moving, resource } from './motionworld.js'
import { sessionOf, through } from './through.js'

/** Replaces a method or getter of the books until the returned function is called. */
function plant<K extends keyof Book>(name: K, descriptor: PropertyDescriptor): () => void {
  const original = Object.getOwnPropertyDescriptor(Book.prototype, name) ?? {}
  Object.defineProperty(Book.prototype, name, { configurable: true, ...descriptor })
  return () => void Object.defineProperty(Book.prototype, name, original)
}

/**
 * The scenario stamps records that the walk has read already with one updated_at, lets time pass and creates a record.
 * The source shows the stamped records in another order each time, so that the closing pages show some of them and not
 * others. Only then can the newest record of the last response mislead: the walk reads everything newer than its first
 * response down to what it saw, and only ties can hide a part of that. An overlap would hide this mistake too, so the
 * scenario has none.
 */
const tiedBehind: fc.Arbitrary<MotionScript> = fc
  .record({
    count: fc.integer({ min: 15, max: 30 }),
    touched: fc.integer({ min: 7, max: 14 }),
    touchAt: fc.integer({ min: 3, max: 5 }),
    createAt: fc.integer({ min: 4, max: 6 }),
    digits: fc.constantFrom(0, 3, 6),
    stepMs: fc.constantFrom(4, 40),
    pageSizes: fc.constantFrom([5, 4, 3], [4, 3, 5, 2]),
  })
  .map(({ count, touched, touchAt, createAt, digits, stepMs, pageSizes }) => ({
    digits,
    overlapMs: 0,
    pageSizes,
    readAhead: 0,
    stepMs,
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
 * The scenario deletes records that the walk has read already, so that the next page skips as many. Its records lie far
 * apart: the first response shows the whole late zone, and no second reading of the zone makes up for what slipped.
 */
const deletesBehind: fc.Arbitrary<MotionScript> = fc
  .record({
    count: fc.integer({ min: 20, max: 40 }),
    deleted: fc.integer({ min: 1, max: 2 }),
    deleteAt: fc.integer({ min: 2, max: 4 }),
    digits: fc.constantFrom(0, 3, 6),
    pageSizes: fc.constantFrom([5, 4, 3], [4, 3, 5, 2]),
  })
  .map(({ count, deleted, deleteAt, digits, pageSizes }) => ({
    digits,
    overlapMs: 0,
    pageSizes,
    readAhead: 0,
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

const { response, standing } = Book.prototype

/** Each mutant breaks one thing that the laws rest on. The suite must catch every mutant. */
export const mutants: readonly Mutant[] = [
  {
    name: 'no stepping back when the total falls',
    scripts: deletesBehind,
    plant: () =>
      plant('response', {
        value(this: Book, ...given: Parameters<Book['response']>) {
          return { ...response.apply(this, given), fell: 0 }
        },
      }),
  },
  {
    name: 'the watermark is the newest of the last response instead of the first',
    scripts: tiedBehind,
    afterRun: async ({ db }, { seen }) => {
      const newest = await db
        .selectFrom(resource)
        .select((eb) => eb.fn.max('updated_at').as('newest'))
        .where('tenant_id', '=', moving)
        .where('id', 'in', [-1, ...seen.keys()])
        .executeTakeFirst()
      await db
        .updateTable('sync_cursors')
        .set({ watermark: newest?.newest ?? null })
        .where('tenant_id', '=', moving)
        .where('watermark', 'is not', null)
        .execute()
    },
  },
  { name: 'no overlap', overlapMs: 0 },
  {
    name: 'what ties hide is not repaired',
    pageSizes: [5],
    plant: () => plant('isShort', { get: () => false }),
  },
  {
    name: 'an equal version is never overwritten',
    warehouse: (warehouse) =>
      through(warehouse, {
        transaction: (work) =>
          warehouse.dialect.transaction((session) =>
            work(
              sessionOf(session, {
                upsert: async (table, rows, shared: BatchStamp, differing) =>
                  table.role === 'root' && differing ? 0 : session.upsert(table, rows, shared, differing),
              }),
            ),
          ),
      }),
  },
  {
    name: 'the books close when at least as much was seen as there is',
    plant: () =>
      plant('standing', {
        value(this: Book) {
          const { last, distinct } = this.balance()
          return distinct >= last ? 'closed' : standing.apply(this)
        },
      }),
  },
]
