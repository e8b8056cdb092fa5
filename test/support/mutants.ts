import { Book } from '../../src/api/books.js'
import type { Tuple } from '../../src/derive/batch.js'
import type { Session, Shared } from '../../src/warehouse/dialect.js'
import { Warehouse } from '../../src/warehouse/warehouse.js'
import { known } from './lawrun.js'
import type { Mutant } from './motion.js'
import { moving, resource } from './motionworld.js'

/** Replaces a method or getter of the books until the returned function is called. */
function plant<K extends keyof Book>(name: K, descriptor: PropertyDescriptor): () => void {
  const original = Object.getOwnPropertyDescriptor(Book.prototype, name) ?? {}
  Object.defineProperty(Book.prototype, name, { configurable: true, ...descriptor })
  return () => void Object.defineProperty(Book.prototype, name, original)
}

/** A session whose calls may be replaced one by one. */
export function sessionOf(session: Session, instead: Partial<Session>): Session {
  return {
    run: (query) => session.run(query),
    versions: (...given) => session.versions(...given),
    upsert: (...given) => session.upsert(...given),
    confirm: (...given) => session.confirm(...given),
    prune: (...given) => session.prune(...given),
    ...instead,
  }
}

/** The same warehouse, with something else in the place of its sessions. */
export function warehouseThrough(warehouse: Warehouse, change: (session: Session) => Session): Warehouse {
  const { dialect } = warehouse
  return new Warehouse({
    dialect: { ...dialect, transaction: (work) => dialect.transaction((session) => work(change(session))) },
    model: known,
  })
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
      warehouseThrough(warehouse, (session) =>
        sessionOf(session, {
          upsert: async (table, tuples: readonly Tuple[], shared: Shared, differing) =>
            table.role === 'root' && differing ? 0 : session.upsert(table, tuples, shared, differing),
        }),
      ),
  },
  {
    name: 'the books close when at least as much was seen as there is',
    plant: () =>
      plant('standing', {
        value(this: Book) {
          const { first, entered, last, distinct } = this.balance()
          return first + entered === last && distinct >= last ? 'closed' : standing.apply(this)
        },
      }),
  },
]
