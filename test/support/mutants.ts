import { Book } from '../../src/api/books.js'
import type { Tuple } from '../../src/derive/batch.js'
import type { Shared } from '../../src/warehouse/dialect.js'
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
 * Twelve records that were read already get one updated_at, a minute passes, one is created: of the twelve, which the
 * source shows in another order each time, the closing pages show some and not others.
 */
const tiedBehind: MotionScript = {
  digits: 6,
  overlapMs: 0,
  pageSizes: [5, 4, 3],
  readAhead: 0,
  stepMs: 4,
  shuffle: true,
  initial: [{ n: 20, tied: false, gapMs: 1000 }],
  runs: [
    {
      mode: 'sync',
      death: null,
      steps: [
        { at: 4, kind: 'touch', where: { from: 'front', offset: 0, n: 12 } },
        { at: 5, kind: 'pause', ms: 60_000 },
        { at: 5, kind: 'create', n: 1 },
      ],
    },
  ],
}

const { response, standing } = Book.prototype

/** Each breaks one thing that the laws rest on. The suite must bring every one of them to light. */
export const mutants: readonly Mutant[] = [
  {
    name: 'no stepping back when the total falls',
    plant: () =>
      plant('response', {
        value(this: Book, ...given: Parameters<Book['response']>) {
          return { ...response.apply(this, given), fell: 0 }
        },
      }),
  },
  {
    name: 'the watermark is the newest of the last response instead of the first',
    script: tiedBehind,
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
      through(warehouse, (work) =>
        warehouse.dialect.transaction((session) =>
          work(
            sessionOf(session, {
              upsert: async (table, tuples: readonly Tuple[], shared: Shared, differing) =>
                table.role === 'root' && differing ? 0 : session.upsert(table, tuples, shared, differing),
            }),
          ),
        ),
      ),
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
