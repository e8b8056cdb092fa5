/* What becomes of forgotten customers (docs/warehouse.md, Forgetting a customer). See promise.ts. */
import { sql } from 'kysely'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

/** Leaves these tables as they are. */
const without = (isLeft: (table: string) => boolean) =>
  breaking('engine/warehouse/forgottenrows').ForgetRows.emptying(function* (sound, ...given) {
    for (const one of sound(...given)) if (!isLeft(one.table)) yield one
  })

export const customers = mutants({
  'forgotten customers stay away': {
    'test/features/forget/customerlaws.test.ts: from the first statement that empties a row on, nothing new comes, whatever becomes of the rest':
      {
        'takes customers for forgotten only when all of it is done': () =>
          breaking('engine/warehouse/forgottenrecords', 'daily').readForgottenRecords(
            async (sound, ...given) => {
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
            },
          ),
      },
    'test/features/forget/closure.test.ts: , whatever they refer to, exactly those are emptied that lead to a customer':
      {
        'enters no new order': () =>
          breaking('engine/model/forgotten').compileForget((sound, ...given) => {
            const forget = sound(...given)
            return (page, set) => {
              const flat = forget(page, set)
              return { ...flat, forgotten: { ...flat.forgotten, entering: [] } }
            }
          }),
      },
    'test/features/forget/customerlaws.test.ts: one that was prepared before an entry is prepared again': {
      'stores a page that was prepared before a record was forgotten': () =>
        breaking('engine/warehouse/fence', 'daily').checkFence((sound, dialect, session, held) =>
          sound(dialect, session, held),
        ),
    },
    'test/features/forget/customerlaws.test.ts: after --lift, the next sync stores what the source has': {
      'lets a customer back in without reading their lists again': () =>
        breaking('engine/warehouse/forgottenrecords', 'daily').ForgottenEntries.lift(
          (sound, session, ...given) => {
            const run: typeof session.run = (query) =>
              query.sql.includes('sync_cursors')
                ? Promise.resolve({ rows: [], affected: 0 })
                : session.run(query)
            return sound({ run }, ...given)
          },
        ),
    },
  },
  'nothing says anything about a forgotten customer': {
    'test/features/forget/customer.test.ts: leaves no byte about the customer, and the books as they were': {
      "keeps a forgotten customer's tags": () => without((table) => table === 'integrator_tags'),
      'keeps earlier versions of forgotten records': () => without((table) => table.endsWith('_history')),
      'keeps what is in quarantine for forgotten records': () =>
        without((table) => table === 'sync_quarantine'),
      'empties a vehicle that another customer has too': () =>
        breaking('engine/warehouse/forgottenclosure').ForgottenClosure.admitted(async (sound, ...given) => {
          const admitted = await sound(...given)
          return new Map([...admitted].map(([id, state]) => [id, state === 'kept' ? 'hidden' : state]))
        }),
    },
    'test/features/forget/customer.test.ts: writes a receipt for its owner, and none that names the customer; several share the work':
      {
        'writes a name into the receipt': () =>
          breaking('features/forget/customers').forgetPersons(async (sound, deps, persons) => {
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
            return sound(
              { ...deps, record: (line) => deps.record?.(Object.assign({}, line, named[0])) },
              persons,
            )
          }),
      },
  },
  'every declared reference leads to a forgotten customer': {
    'test/features/forget/closure.test.ts: every declared reference leads to a customer, by any number of steps, and stops at others':
      {
        'follows references only from what refers': () =>
          breaking('engine/warehouse/forgottenclosure').ForgottenClosure.steps(
            async function* (sound, session, name, ids) {
              const isBehind = new Set(this.plan(name).references.map(({ to }) => to))
              for await (const step of sound(session, name, ids)) if (isBehind.has(step.resource)) yield step
            },
          ),
        'goes on through records that name other customers': () =>
          breaking('engine/warehouse/forgottenclosure', 'daily').ForgottenClosure.admitted(
            async (_sound, _session, _plan, ids) => new Map([...ids].map((id) => [id, 'hidden'])),
          ),
        'goes through shops, staff and statuses': () =>
          breaking('engine/model/forgotten').forgetPlans((sound, declared, ...given) =>
            sound(
              declared.map((one) => ({ ...one, undeclared: { who: 'text', preset: 'drop' } })),
              ...given,
            ),
          ),
      },
    'test/features/forget/closure.test.ts:  is in the receipt': {
      'says nothing of what leads to nobody': () =>
        breaking('features/forget/notlookedat').notLookedAt(async () => []),
    },
  },
})
