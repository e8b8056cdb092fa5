/* What becomes of forgotten customers (docs/warehouse.md, Forgetting a customer). See promise.ts. */
import { sql } from 'kysely'
import type * as model from '../../../src/engine/model/forgotten.js'
import type * as fence from '../../../src/engine/warehouse/fence.js'
import type * as closure from '../../../src/engine/warehouse/forgottenclosure.js'
import type * as records from '../../../src/engine/warehouse/forgottenrecords.js'
import type * as rows from '../../../src/engine/warehouse/forgottenrows.js'
import type * as work from '../../../src/features/forget/customers.js'
import type * as missed from '../../../src/features/forget/notlookedat.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const led = {
  promise: 'every declared reference leads to a forgotten customer',
  test: 'test/features/forget/closure.test.ts',
  name: 'every declared reference leads to a customer, by any number of steps, and stops at others',
  on: both,
} as const

const ofModel = breaking<typeof model>('src/engine/model/forgotten.ts')
const ofRows = breaking<typeof rows>('src/engine/warehouse/forgottenrows.ts')
const ofRecords = breaking<typeof records>('src/engine/warehouse/forgottenrecords.ts')
const ofClosure = breaking<typeof closure>('src/engine/warehouse/forgottenclosure.ts')

const away = {
  promise: 'forgotten customers stay away',
  test: 'test/features/forget/customerlaws.test.ts',
  on: both,
} as const
const gone = {
  promise: 'nothing says anything about a forgotten customer',
  test: 'test/features/forget/customer.test.ts',
  name: 'leaves no byte about the customer, and the books as they were',
  on: both,
} as const

/** Leaves these tables as they are. */
const without = (isLeft: (table: string) => boolean) =>
  ofRows.method(
    'ForgetRows',
    'emptying',
    (sound) =>
      function* (...given) {
        for (const one of sound.apply(this, given)) if (!isLeft(one.table)) yield one
      },
  )

export const customers: readonly Promised[] = [
  {
    ...away,
    broken: 'takes customers for forgotten only when all of it is done',
    breakage: ofRecords.function('readForgottenRecords', (sound) => async (...given) => {
      await sound(...given)
      const [warehouse] = given
      const open = await warehouse.read((db) =>
        db
          .selectFrom('sync_forgotten_records')
          .select('record_id')
          .where('receipt', 'is not', null)
          .where(sql<boolean>`replace(cast(receipt as text), ' ', '') like '%"done_at":null%'`)
          .execute(),
      )
      if (open.length > 0) warehouse.model.forgotten.tenants.clear()
    }),
    name: 'from the first statement that empties a row on, nothing new comes, whatever becomes of the rest',
  },
  {
    ...away,
    broken: 'enters no new order',
    breakage: ofModel.function('compileForget', (sound) => (...given) => {
      const forget = sound(...given)
      return (page, set) => {
        const flat = forget(page, set)
        return { ...flat, forgotten: { ...flat.forgotten, entering: [] } }
      }
    }),
    name: 'a new order enters itself, and what came before it is emptied in its transaction',
  },
  {
    ...away,
    broken: 'stores a page that was prepared before a record was forgotten',
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'checkFence',
      (sound) => (dialect, session, held) => sound(dialect, session, held),
    ),
    name: 'one that was prepared before an entry is prepared again',
  },
  {
    ...away,
    broken: 'lets a customer back in without reading their lists again',
    breakage: ofRecords.method(
      'ForgottenEntries',
      'lift',
      (sound) =>
        function (session, ...given) {
          const run: typeof session.run = (query) =>
            query.sql.includes('sync_cursors')
              ? Promise.resolve({ rows: [], affected: 0 })
              : session.run(query)
          return sound.call(this, { run }, ...given)
        },
    ),
    name: 'after --lift, the next sync stores what the source has',
  },
  {
    ...gone,
    broken: "keeps a forgotten customer's tags",
    breakage: without((table) => table === 'integrator_tags'),
  },
  {
    ...gone,
    broken: 'keeps earlier versions of forgotten records',
    breakage: without((table) => table.endsWith('_history')),
  },
  {
    ...gone,
    broken: 'keeps what is in quarantine for forgotten records',
    breakage: without((table) => table === 'sync_quarantine'),
  },
  {
    ...gone,
    broken: 'empties a vehicle that another customer has too',
    breakage: ofClosure.method(
      'ForgottenClosure',
      'admitted',
      (sound) =>
        async function (...given) {
          const admitted = await sound.apply(this, given)
          return new Map([...admitted].map(([id, state]) => [id, state === 'kept' ? 'hidden' : state]))
        },
    ),
  },
  {
    ...led,
    broken: 'follows references only from what refers',
    breakage: ofClosure.method(
      'ForgottenClosure',
      'steps',
      (sound) =>
        async function* (session, name, ids) {
          const isBehind = new Set(this.plan(name).references.map(({ to }) => to))
          for await (const step of sound.call(this, session, name, ids))
            if (isBehind.has(step.resource)) yield step
        },
    ),
  },
  {
    ...led,
    broken: 'goes on through records that name other customers',
    breakage: ofClosure.method(
      'ForgottenClosure',
      'admitted',
      () => async (_session, _plan, ids) => new Map([...ids].map((id) => [id, 'hidden'])),
    ),
  },
  {
    ...led,
    broken: 'goes through shops, staff and statuses',
    breakage: ofModel.function(
      'forgetPlans',
      (sound) =>
        (declared, ...given) =>
          sound(
            declared.map((one) => ({ ...one, undeclared: { who: 'text', preset: 'drop' } })),
            ...given,
          ),
    ),
  },
  {
    ...led,
    broken: 'says nothing of what leads to nobody',
    breakage: breaking<typeof missed>('src/features/forget/notlookedat.ts').function(
      'notLookedAt',
      () => async () => [],
    ),
    name: ' is in the receipt',
  },
  {
    ...gone,
    broken: 'writes a name into the receipt',
    breakage: breaking<typeof work>('src/features/forget/customers.ts').function(
      'forgetPersons',
      (sound) => async (deps, persons) => {
        const named = await deps.warehouse.read((db) =>
          db
            .selectFrom('customers' as 'any root')
            .select(sql<string>`last_name`.as('name'))
            .where(
              'id',
              'in',
              persons.map(({ id }) => id),
            )
            .execute(),
        )
        return sound({ ...deps, record: (line) => deps.record?.(Object.assign({}, line, named[0])) }, persons)
      },
    ),
    name: 'writes a receipt for its owner, and none that names the customer; several share the work',
  },
]
