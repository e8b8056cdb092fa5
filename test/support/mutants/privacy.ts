/** Whose data it is: what is hidden, what readers see, and what becomes of forgotten customers (docs/warehouse.md). */
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type { ReaderStore, RunStatement } from '../../../src/engine/warehouse/views/viewstore.js'
import { breaking, type How, type Mutants } from './breakage.js'

/** A store of readers that does some things in another way. */
const readers = (changed: (sound: ReaderStore) => Partial<ReaderStore>, ...how: readonly How[]) =>
  breaking('engine/warehouse/postgres/views/readerviews', ...how).readerStore((sound, ...given) => {
    const store = sound(...given)
    return { ...store, ...changed(store) }
  })

/** One in whose statements something is replaced. */
const replacing = (of: 'make' | 'obstacle', text: string | RegExp, other: string) =>
  readers((sound) => {
    const changed =
      (run: RunStatement): RunStatement =>
      <T>(query: CompiledQuery<T>) =>
        run<T>({ ...query, sql: query.sql.replaceAll(text, other) })
    const method = sound[of] as (run: RunStatement, ...more: unknown[]) => unknown
    return { [of]: (run: RunStatement, ...more: unknown[]) => method(changed(run), ...more) }
  }, 'postgres')

/** Leaves these tables as they are. */
const without = (isLeft: (table: string) => boolean) =>
  breaking('engine/warehouse/hiding/forgottenclosure').ForgetRows.emptying(function* (sound, ...given) {
    for (const one of sound(...given)) if (!isLeft(one.table)) yield one
  })

export const privacy: Mutants = {
  "stores rows of a table whose earlier rows can't be hidden": () =>
    breaking('engine/warehouse/layout/interference').InterferedTables.refuseUnchanged(() => {}),
  'makes equal pseudonyms in two tenants': () =>
    breaking('engine/model/privacy', 'daily').pseudonym((sound, how, _, ...text) => sound(how, 0, ...text)),
  'makes equal pseudonyms in two columns': () =>
    breaking('engine/model/privacy', 'daily').pseudonym((sound, how, tenant, _, text) =>
      sound(how, tenant, { domain: '' }, text),
    ),
  'keeps whatever comes where a kept column was expected': () =>
    breaking('engine/model/privacy').HiddenPlaces.entry(function (sound, entry) {
      return this.hides(entry.path) ? sound(entry) : entry
    }),
  'leaves what an earlier rule kept': () =>
    breaking('engine/warehouse/hiding/privacystate').wantedOf((sound, hides) =>
      sound(hides).filter(({ table }) => table !== 'sync_quarantine'),
    ),
  'leaves nested lists as they were when privacy hides more': () =>
    breaking('engine/warehouse/hiding/hiding').hideTable(async (sound, work, first, ...more) =>
      first.table === 'customer_phones' ? 0 : sound(work, first, ...more),
    ),
  'leaves the history as it was when privacy hides more': () =>
    breaking('engine/warehouse/hiding/hiding').hideTable(async (sound, work, first, ...more) =>
      first.table.endsWith('_history') ? 0 : sound(work, first, ...more),
    ),
  'leaves quarantine and drift as they were when privacy hides more': () =>
    breaking('engine/warehouse/hiding/hiding').hideReports(async () => 0),
  'notes columns as hidden before their rows are': () =>
    breaking('engine/warehouse/hiding/privacystate').note((sound, db, all) =>
      sound(
        db,
        all.map((row) => ({ ...row, state: row.state === 'hiding' ? 'hidden' : row.state })),
      ),
    ),
  "doesn't erase what was left in the files": () =>
    breaking('engine/warehouse/hiding/hiding', 'sqlite').eraseTraces(async () => null),
  'lets a program go on that would store more': () =>
    breaking('engine/warehouse/hiding/privacystate').loosened(() => []),
  'is stopped by its own default, which has become looser': () =>
    breaking('engine/warehouse/hiding/privacystate').heldColumns(() => new Set<string>()),
  'accepts another key under the same version': () =>
    breaking('engine/model/privacy').keyCheck(() => 'the same'),
  'leaves pseudonyms of an earlier key': () =>
    breaking('engine/warehouse/hiding/privacystate').withoutOlder((sound, db, { table, column, ...row }) =>
      sound(db, { ...row, table, column, key_version: 1 }),
    ),
  'makes views without a barrier': () => replacing('make', 'with (security_barrier) ', ''),
  'makes views that need rights on the tables': () =>
    replacing('make', '(security_barrier)', '(security_barrier, security_invoker)'),
  'leaves the tenant out of one view': () =>
    replacing('make', /(?<=\."technician_hours") where tenant_id in \([\d, ]+\)/g, ''),
  'changes views while their reader still has rights on them': () =>
    readers(() => ({ stop: async () => true }), 'postgres'),
  'overlooks a personal column that is taken away': () =>
    readers(() => ({ hides: async () => false }), 'postgres'),
  "doesn't replace views in place": () => replacing('make', 'create or replace view', 'create view'),
  'looks at memberships of one step only': () =>
    replacing(
      'obstacle',
      "pg_has_role(r.oid, m.oid, 'member')",
      '(m.oid = r.oid or exists (select from pg_auth_members o where o.member = r.oid and o.roleid = m.oid))',
    ),
  'knows predefined roles by name': () =>
    replacing('obstacle', "starts_with(m.rolname, 'pg_')", "m.rolname ~ '^pg_(read_all_data|write|exec)'"),
  'overlooks where others look for functions': () =>
    replacing('obstacle', "starts_with(setting, 'search_path=')", 'false'),
  'overlooks what others made of the data of all tenants': () =>
    readers(() => ({ exposure: async () => undefined }), 'postgres'),
  'shows personal columns to every reader': () =>
    readers(({ make }) => ({ make: (run, to, views) => make(run, { ...to, personal: true }, views) })),
  "drops a schema that isn't ours": () =>
    breaking('engine/warehouse/postgres/views/readerviews').readerStore((sound, ...given) => ({
      ...sound(...given),
      drop: async (run, role) => {
        const all = sql.raw(`drop schema ${pg.escapeIdentifier(role)} cascade`)
        await run(all.compile(given[0]))
      },
    })),
  "drops all readers' views in one transaction": () =>
    breaking('engine/warehouse/postgres/views/readerviews', 'postgres').droppingByReader(() => []),
  'overlooks what everyone may read': () => replacing('obstacle', 'grantee = 0 or ', ''),

  // docs/warehouse.md, Forgetting a customer.
  'takes customers for forgotten only when all of it is done': () =>
    breaking('engine/warehouse/hiding/forgottenrecords', 'daily').readForgottenRecords(
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
  'enters no new order': () =>
    breaking('engine/model/forgotten').compileForget((sound, ...given) => {
      const forget = sound(...given)
      return (page, set) => {
        const flat = forget(page, set)
        return { ...flat, forgotten: { ...flat.forgotten, entering: [] } }
      }
    }),
  'stores a page that was prepared before a record was forgotten': () =>
    breaking('engine/warehouse/lease/fence', 'daily').checkFence((sound, dialect, session, held) =>
      sound(dialect, session, held),
    ),
  'lets a customer back in without reading their lists again': () =>
    breaking('engine/warehouse/hiding/forgottenrecords', 'daily').ForgottenEntries.lift(
      (sound, session, ...given) => {
        const run: typeof session.run = (query) =>
          query.sql.includes('sync_cursors') ? Promise.resolve({ rows: [], affected: 0 }) : session.run(query)
        return sound({ run }, ...given)
      },
    ),
  "keeps a forgotten customer's tags": () => without((table) => table === 'integrator_tags'),
  'keeps earlier versions of forgotten records': () => without((table) => table.endsWith('_history')),
  'keeps what is in quarantine for forgotten records': () => without((table) => table === 'sync_quarantine'),
  'empties a vehicle that another customer has too': () =>
    breaking('engine/warehouse/hiding/forgottenclosure').ForgottenClosure.admitted(
      async (sound, ...given) => {
        const admitted = await sound(...given)
        return new Map([...admitted].map(([id, state]) => [id, state === 'kept' ? 'hidden' : state]))
      },
    ),
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
      return sound({ ...deps, record: (line) => deps.record?.(Object.assign({}, line, named[0])) }, persons)
    }),
  'follows references only from what refers': () =>
    breaking('engine/warehouse/hiding/forgottenclosure').ForgottenClosure.steps(
      async function* (sound, session, name, ids) {
        const isBehind = new Set(this.plan(name).references.map(({ to }) => to))
        for await (const step of sound(session, name, ids)) if (isBehind.has(step.resource)) yield step
      },
    ),
  'goes through shops, staff and statuses': () =>
    breaking('engine/model/forgotten').forgetPlans((sound, declared, ...given) =>
      sound(
        declared.map((one) => ({ ...one, undeclared: { who: 'text', preset: 'drop' } })),
        ...given,
      ),
    ),
  'says nothing of what leads to nobody': () =>
    breaking('features/forget/notlookedat').notLookedAt(async () => []),
}
