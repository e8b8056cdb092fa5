/* Whose data it is: what is hidden, and what readers see. See promise.ts. */
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type * as values from '../../../src/engine/model/privacy.js'
import type * as hiding from '../../../src/engine/warehouse/hiding.js'
import type * as interference from '../../../src/engine/warehouse/interference.js'
import type * as store from '../../../src/engine/warehouse/postgres/readerviews.js'
import type * as state from '../../../src/engine/warehouse/privacystate.js'
import type { ReaderStore, RunStatement } from '../../../src/engine/warehouse/viewstore.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const hidden = 'what privacy hides is nowhere'
const reader = 'a reader sees its tenants, and nothing else'

const ofValues = breaking<typeof values>('src/engine/model/privacy.ts')
const ofHiding = breaking<typeof hiding>('src/engine/warehouse/hiding.ts')
const ofState = breaking<typeof state>('src/engine/warehouse/privacystate.ts')
const ofStore = breaking<typeof store>('src/engine/warehouse/postgres/readerviews.ts')

const rewriting = {
  promise: hidden,
  test: 'test/engine/warehouse/hiddenrows.test.ts',
  name: 'killed at any statement and begun again, it ends as undisturbed',
  on: both,
} as const
const pseudonyms = { ...rewriting, test: 'test/engine/model/hiddenvalues.test.ts', on: [] } as const
const keys = { ...rewriting, test: 'test/engine/warehouse/hiding.test.ts' } as const

/** A store of readers whose statements are changed. */
const withStatements = (change: (text: string) => string, of: keyof ReaderStore) =>
  ofStore.function('readerStore', (sound) => (...given) => {
    const whole = sound(...given)
    const changed =
      (run: RunStatement): RunStatement =>
      <T>(query: CompiledQuery<T>) =>
        run<T>({ ...query, sql: change(query.sql) })
    const method = whole[of] as (run: RunStatement, ...more: unknown[]) => unknown
    return { ...whole, [of]: (run: RunStatement, ...more: unknown[]) => method(changed(run), ...more) }
  })
const seeing = {
  promise: reader,
  test: 'test/features/grants/grants.test.ts',
  on: ['postgres'],
} as const

export const privacy: readonly Promised[] = [
  {
    promise: hidden,
    broken: "stores rows of a table whose earlier rows can't be hidden",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').method(
      'InterferedTables',
      'refuseUnchanged',
      () => () => {},
    ),
    test: 'test/engine/warehouse/keptback.test.ts',
    name: 'on a table whose trigger raises keeps back its lists alone',
    on: both,
  },
  {
    ...pseudonyms,
    broken: 'makes equal pseudonyms in two tenants',
    breakage: ofValues.function(
      'pseudonym',
      (sound) =>
        (how, _, ...text) =>
          sound(how, 0, ...text),
    ),
    name: 'of another tenant, another column or another key is another',
  },
  {
    ...pseudonyms,
    broken: 'makes equal pseudonyms in two columns',
    breakage: ofValues.function(
      'pseudonym',
      (sound) => (how, tenant, _, text) => sound(how, tenant, { domain: '' }, text),
    ),
    name: 'of another tenant, another column or another key is another',
  },
  {
    ...keys,
    broken: 'keeps whatever comes where a kept column was expected',
    breakage: ofValues.method(
      'HiddenPlaces',
      'entry',
      (sound) =>
        function (entry) {
          return this.hides(entry.path) ? sound.call(this, entry) : entry
        },
    ),
    name: 'a warehouse loaded with the preset contains no hidden text, verifies, and no command prints one',
  },
  {
    ...keys,
    broken: 'leaves what an earlier rule kept',
    breakage: ofState.function('wantedOf', (sound) => (hides) => {
      return sound(hides).filter(({ table }) => table !== 'sync_quarantine')
    }),
    name: 'what a version with a laxer rule left in quarantine and drift is hidden, once',
  },
  {
    ...rewriting,
    broken: 'leaves nested lists as they were when privacy hides more',
    breakage: ofHiding.function(
      'hideTable',
      (sound) =>
        async (work, first, ...more) =>
          first.table === 'customer_phones' ? 0 : sound(work, first, ...more),
    ),
  },
  {
    ...rewriting,
    broken: 'leaves the history as it was when privacy hides more',
    breakage: ofHiding.function(
      'hideTable',
      (sound) =>
        async (work, first, ...more) =>
          first.table.endsWith('_history') ? 0 : sound(work, first, ...more),
    ),
  },
  {
    ...rewriting,
    broken: 'leaves quarantine and drift as they were when privacy hides more',
    breakage: ofHiding.function('hideReports', () => async () => 0),
  },
  {
    ...rewriting,
    broken: 'notes columns as hidden before their rows are',
    breakage: ofState.function(
      'note',
      (sound) => (db, all) =>
        sound(
          db,
          all.map((row) => ({ ...row, state: row.state === 'hiding' ? 'hidden' : row.state })),
        ),
    ),
  },
  {
    ...rewriting,
    broken: 'begins from the first record again after a kill',
    breakage: ofState.function('recordIn', () => () => undefined),
  },
  {
    ...rewriting,
    broken: "doesn't erase what was left in the files",
    breakage: ofHiding.function('eraseTraces', () => async () => null),
    test: 'test/engine/warehouse/hidingagain.test.ts',
    name: 'traces that a reading program keeps in the files are told',
    on: ['sqlite'],
  },
  {
    ...keys,
    broken: 'lets a program go on that would store more',
    breakage: ofState.function('loosened', () => () => []),
    test: 'test/engine/warehouse/hidingagain.test.ts',
    name: 'a program that goes on with the policy of before is refused by its next claim',
  },
  {
    ...keys,
    broken: 'is stopped by its own default, which has become looser',
    breakage: ofState.function('heldColumns', () => () => new Set<string>()),
    test: 'test/engine/warehouse/hidingagain.test.ts',
    name: 'what the preset of an earlier version hid stays hidden until it is loosened, and the preset keeps it from then on',
  },
  {
    ...keys,
    broken: 'accepts another key under the same version',
    breakage: ofValues.function('keyCheck', () => () => 'the same'),
    name: 'another key is refused under the same version',
  },
  {
    ...keys,
    broken: 'leaves pseudonyms of an earlier key',
    breakage: ofState.function(
      'withoutOlder',
      (sound) =>
        (db, { table, column, ...row }) =>
          sound(db, { ...row, table, column, key_version: 1 }),
    ),
    name: 'another key is refused under the same version, and replaces all pseudonyms under the next',
  },
  {
    ...seeing,
    broken: 'makes views without a barrier',
    breakage: withStatements((text) => text.replaceAll('with (security_barrier) ', ''), 'make'),
    test: 'test/features/grants/attacks.test.ts',
    name: 'a cheap function that leaks its arguments is never called with rows of others',
  },
  {
    ...seeing,
    broken: 'makes views that need rights on the tables',
    breakage: withStatements(
      (text) => text.replaceAll('(security_barrier)', '(security_barrier, security_invoker)'),
      'make',
    ),
    name: 'sees the rows of its tenant in every view, and those of no other',
  },
  {
    ...seeing,
    broken: 'leaves the tenant out of one view',
    breakage: withStatements(
      (text) => text.replace(/(\."technician_hours") where tenant_id in \([\d, ]+\)/, '$1'),
      'make',
    ),
    name: 'sees the rows of its tenant in every view, and those of no other',
  },
  {
    ...seeing,
    broken: 'changes views while their reader still has rights on them',
    breakage: ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      stop: async () => true,
    })),
    test: 'test/features/grants/attacks.test.ts',
    name: 'a transaction that it keeps open does not keep its rights',
  },
  {
    ...seeing,
    broken: 'overlooks a personal column that is taken away',
    breakage: ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      hides: async () => false,
    })),
    test: 'test/features/grants/attacks.test.ts',
    name: 'is taken away before its views can be changed',
  },
  {
    ...seeing,
    broken: "doesn't replace views in place",
    breakage: withStatements((text) => text.replace('create or replace view', 'create view'), 'make'),
    test: 'test/features/grants/attacks.test.ts',
    name: 'does not keep a tenant or a personal column that is taken away',
  },
  {
    ...seeing,
    broken: 'looks at memberships of one step only',
    breakage: withStatements(
      (text) =>
        text.replace(
          "pg_has_role(r.oid, m.oid, 'member')",
          '(m.oid = r.oid or exists (select from pg_auth_members o where o.member = r.oid and o.roleid = m.oid))',
        ),
      'obstacle',
    ),
    test: 'test/features/grants/attacks.test.ts',
    name: 'is a member of a member of a predefined role',
  },
  {
    ...seeing,
    broken: 'knows predefined roles by name',
    breakage: withStatements(
      (text) => text.replace("starts_with(m.rolname, 'pg_')", "m.rolname ~ '^pg_(read_all_data|write|exec)'"),
      'obstacle',
    ),
    test: 'test/features/grants/attacks.test.ts',
    name: 'is refused, and named by check',
  },
  {
    ...seeing,
    broken: 'overlooks where others look for functions',
    breakage: withStatements(
      (text) => text.replace("starts_with(setting, 'search_path=')", 'false'),
      'obstacle',
    ),
    test: 'test/features/grants/attacks.test.ts',
    name: 'may create where the database looks for names',
  },
  {
    ...seeing,
    broken: 'overlooks what others made of the data of all tenants',
    breakage: ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      exposure: async () => undefined,
    })),
    test: 'test/features/grants/attacks.test.ts',
    name: 'that somebody gave to a reader is named by check',
  },
  {
    ...seeing,
    broken: 'shows personal columns to every reader',
    breakage: ofStore.function('readerStore', (sound) => (...given) => {
      const whole = sound(...given)
      return { ...whole, make: (run, to, views) => whole.make(run, { ...to, personal: true }, views) }
    }),
    name: 'sees no name of a person without --personal, and dashboards keep working',
  },
  {
    ...seeing,
    broken: "leaves readers' views as they are when ours change",
    breakage: ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      outdated: async () => [],
    })),
    name: 'its views are made again with ours',
  },
  {
    ...seeing,
    broken: "drops all readers' views in one transaction",
    breakage: ofStore.function('droppingByReader', () => () => []),
    name: 'if ours have other columns, those of each reader are dropped in a transaction of its own',
  },
  {
    ...seeing,
    broken: "drops a schema that isn't ours",
    breakage: ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      drop: async (run, role) => {
        const all = sql.raw(`drop schema ${pg.escapeIdentifier(role)} cascade`)
        await run(all.compile(given[0]))
      },
    })),
    name: 'a schema that somebody put in the place of ours is left alone',
  },
  {
    ...seeing,
    broken: 'overlooks what everyone may read',
    breakage: withStatements((text) => text.replace('grantee = 0 or ', ''), 'obstacle'),
    name: 'a role that sees everything by other means is refused, with what to revoke',
  },
]
