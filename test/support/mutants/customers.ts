/* What becomes of forgotten customers (docs/warehouse.md, Forgetting a customer). See promise.ts. */
import { sql } from 'kysely'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const fence = breaking(() => import('../../../src/engine/warehouse/fence.js'))
const customersFile = breaking(() => import('../../../src/features/forget/customers.js'))
const notlookedat = breaking(() => import('../../../src/features/forget/notlookedat.js'))

const ofModel = breaking(() => import('../../../src/engine/model/forgotten.js'))
const ofRows = breaking(() => import('../../../src/engine/warehouse/forgottenrows.js'))
const ofRecords = breaking(() => import('../../../src/engine/warehouse/forgottenrecords.js'))
const ofClosure = breaking(() => import('../../../src/engine/warehouse/forgottenclosure.js'))

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

export const customers = mutants([
  [
    'forgotten customers stay away',
    'takes customers for forgotten only when all of it is done',
    ofRecords.function('readForgottenRecords', (sound) => async (...given) => {
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
    'test/features/forget/customerlaws.test.ts: from the first statement that empties a row on, nothing new comes, whatever becomes of the rest',
    'daily',
  ],
  [
    'forgotten customers stay away',
    'enters no new order',
    ofModel.function('compileForget', (sound) => (...given) => {
      const forget = sound(...given)
      return (page, set) => {
        const flat = forget(page, set)
        return { ...flat, forgotten: { ...flat.forgotten, entering: [] } }
      }
    }),
    'test/features/forget/customerlaws.test.ts: a new order enters itself, and what came before it is emptied in its transaction',
    'daily',
  ],
  [
    'forgotten customers stay away',
    'stores a page that was prepared before a record was forgotten',
    fence.function('checkFence', (sound) => (dialect, session, held) => sound(dialect, session, held)),
    'test/features/forget/customerlaws.test.ts: one that was prepared before an entry is prepared again',
    'daily',
  ],
  [
    'forgotten customers stay away',
    'lets a customer back in without reading their lists again',
    ofRecords.method(
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
    'test/features/forget/customerlaws.test.ts: after --lift, the next sync stores what the source has',
    'daily',
  ],
  [
    'nothing says anything about a forgotten customer',
    "keeps a forgotten customer's tags",
    without((table) => table === 'integrator_tags'),
    'test/features/forget/customer.test.ts: leaves no byte about the customer, and the books as they were',
  ],
  [
    'nothing says anything about a forgotten customer',
    'keeps earlier versions of forgotten records',
    without((table) => table.endsWith('_history')),
    'test/features/forget/customer.test.ts: leaves no byte about the customer, and the books as they were',
  ],
  [
    'nothing says anything about a forgotten customer',
    'keeps what is in quarantine for forgotten records',
    without((table) => table === 'sync_quarantine'),
    'test/features/forget/customer.test.ts: leaves no byte about the customer, and the books as they were',
  ],
  [
    'nothing says anything about a forgotten customer',
    'empties a vehicle that another customer has too',
    ofClosure.method(
      'ForgottenClosure',
      'admitted',
      (sound) =>
        async function (...given) {
          const admitted = await sound.apply(this, given)
          return new Map([...admitted].map(([id, state]) => [id, state === 'kept' ? 'hidden' : state]))
        },
    ),
    'test/features/forget/customer.test.ts: leaves no byte about the customer, and the books as they were',
  ],
  [
    'every declared reference leads to a forgotten customer',
    'follows references only from what refers',
    ofClosure.method(
      'ForgottenClosure',
      'steps',
      (sound) =>
        async function* (session, name, ids) {
          const isBehind = new Set(this.plan(name).references.map(({ to }) => to))
          for await (const step of sound.call(this, session, name, ids))
            if (isBehind.has(step.resource)) yield step
        },
    ),
    'test/features/forget/closure.test.ts: every declared reference leads to a customer, by any number of steps, and stops at others',
  ],
  [
    'every declared reference leads to a forgotten customer',
    'goes on through records that name other customers',
    ofClosure.method(
      'ForgottenClosure',
      'admitted',
      () => async (_session, _plan, ids) => new Map([...ids].map((id) => [id, 'hidden'])),
    ),
    'test/features/forget/closure.test.ts: every declared reference leads to a customer, by any number of steps, and stops at others',
    'daily',
  ],
  [
    'every declared reference leads to a forgotten customer',
    'goes through shops, staff and statuses',
    ofModel.function(
      'forgetPlans',
      (sound) =>
        (declared, ...given) =>
          sound(
            declared.map((one) => ({ ...one, undeclared: { who: 'text', preset: 'drop' } })),
            ...given,
          ),
    ),
    'test/features/forget/closure.test.ts: every declared reference leads to a customer, by any number of steps, and stops at others',
  ],
  [
    'every declared reference leads to a forgotten customer',
    'says nothing of what leads to nobody',
    notlookedat.function('notLookedAt', () => async () => []),
    'test/features/forget/closure.test.ts:  is in the receipt',
  ],
  [
    'nothing says anything about a forgotten customer',
    'writes a name into the receipt',
    customersFile.function('forgetPersons', (sound) => async (deps, persons) => {
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
    }),
    'test/features/forget/customer.test.ts: writes a receipt for its owner, and none that names the customer; several share the work',
  ],
])
