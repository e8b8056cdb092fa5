/* Whose data it is: what is hidden, and what readers see. See promise.ts. */
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type { ReaderStore, RunStatement } from '../../../src/engine/warehouse/viewstore.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const interference = breaking(() => import('../../../src/engine/warehouse/interference.js'))

const ofValues = breaking(() => import('../../../src/engine/model/privacy.js'))
const ofHiding = breaking(() => import('../../../src/engine/warehouse/hiding.js'))
const ofState = breaking(() => import('../../../src/engine/warehouse/privacystate.js'))
const ofStore = breaking(() => import('../../../src/engine/warehouse/postgres/readerviews.js'))

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

export const privacy = mutants([
  [
    'what privacy hides is nowhere',
    "stores rows of a table whose earlier rows can't be hidden",
    interference.method('InterferedTables', 'refuseUnchanged', () => () => {}),
    'test/engine/warehouse/keptback.test.ts: on a table whose trigger raises keeps back its lists alone',
  ],
  [
    'what privacy hides is nowhere',
    'makes equal pseudonyms in two tenants',
    ofValues.function(
      'pseudonym',
      (sound) =>
        (how, _, ...text) =>
          sound(how, 0, ...text),
    ),
    'test/engine/model/hiddenvalues.test.ts: of another tenant, another column or another key is another',
    'daily',
  ],
  [
    'what privacy hides is nowhere',
    'makes equal pseudonyms in two columns',
    ofValues.function(
      'pseudonym',
      (sound) => (how, tenant, _, text) => sound(how, tenant, { domain: '' }, text),
    ),
    'test/engine/model/hiddenvalues.test.ts: of another tenant, another column or another key is another',
    'daily',
  ],
  [
    'what privacy hides is nowhere',
    'keeps whatever comes where a kept column was expected',
    ofValues.method(
      'HiddenPlaces',
      'entry',
      (sound) =>
        function (entry) {
          return this.hides(entry.path) ? sound.call(this, entry) : entry
        },
    ),
    'test/engine/warehouse/hiding.test.ts: what is read then contains no hidden text, and no command prints one',
  ],
  [
    'what privacy hides is nowhere',
    'leaves what an earlier rule kept',
    ofState.function('wantedOf', (sound) => (hides) => {
      return sound(hides).filter(({ table }) => table !== 'sync_quarantine')
    }),
    'test/engine/warehouse/hiding.test.ts: what a version with a laxer rule left in quarantine and drift is hidden, once',
  ],
  [
    'what privacy hides is nowhere',
    'leaves nested lists as they were when privacy hides more',
    ofHiding.function(
      'hideTable',
      (sound) =>
        async (work, first, ...more) =>
          first.table === 'customer_phones' ? 0 : sound(work, first, ...more),
    ),
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed',
  ],
  [
    'what privacy hides is nowhere',
    'leaves the history as it was when privacy hides more',
    ofHiding.function(
      'hideTable',
      (sound) =>
        async (work, first, ...more) =>
          first.table.endsWith('_history') ? 0 : sound(work, first, ...more),
    ),
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed',
  ],
  [
    'what privacy hides is nowhere',
    'leaves quarantine and drift as they were when privacy hides more',
    ofHiding.function('hideReports', () => async () => 0),
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed',
  ],
  [
    'what privacy hides is nowhere',
    'notes columns as hidden before their rows are',
    ofState.function(
      'note',
      (sound) => (db, all) =>
        sound(
          db,
          all.map((row) => ({ ...row, state: row.state === 'hiding' ? 'hidden' : row.state })),
        ),
    ),
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed',
  ],
  [
    'what privacy hides is nowhere',
    'begins from the first record again after a kill',
    ofState.function('recordIn', () => () => undefined),
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed',
  ],
  [
    'what privacy hides is nowhere',
    "doesn't erase what was left in the files",
    ofHiding.function('eraseTraces', () => async () => null),
    'test/engine/warehouse/hiding.test.ts: traces that a reading program keeps in the files are told',
    'sqlite',
  ],
  [
    'what privacy hides is nowhere',
    'lets a program go on that would store more',
    ofState.function('loosened', () => () => []),
    'test/engine/warehouse/lease.test.ts: a program that goes on with the policy of before is refused by its next claim',
  ],
  [
    'what privacy hides is nowhere',
    'is stopped by its own default, which has become looser',
    ofState.function('heldColumns', () => () => new Set<string>()),
    'test/engine/warehouse/forms.test.ts: what the preset of an earlier version hid stays hidden until it is loosened',
  ],
  [
    'what privacy hides is nowhere',
    'accepts another key under the same version',
    ofValues.function('keyCheck', () => () => 'the same'),
    'test/engine/warehouse/forms.test.ts: another key under the same version, is refused',
  ],
  [
    'what privacy hides is nowhere',
    'leaves pseudonyms of an earlier key',
    ofState.function(
      'withoutOlder',
      (sound) =>
        (db, { table, column, ...row }) =>
          sound(db, { ...row, table, column, key_version: 1 }),
    ),
    'test/engine/warehouse/forms.test.ts: a new version replaces all pseudonyms',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'makes views without a barrier',
    withStatements((text) => text.replaceAll('with (security_barrier) ', ''), 'make'),
    'test/features/grants/attacks.test.ts: a cheap function that leaks its arguments is never called with rows of others',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'makes views that need rights on the tables',
    withStatements(
      (text) => text.replaceAll('(security_barrier)', '(security_barrier, security_invoker)'),
      'make',
    ),
    'test/features/grants/grants.test.ts: sees the rows of its tenant in every view, and those of no other',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'leaves the tenant out of one view',
    withStatements(
      (text) => text.replace(/(\."technician_hours") where tenant_id in \([\d, ]+\)/, '$1'),
      'make',
    ),
    'test/features/grants/grants.test.ts: sees the rows of its tenant in every view, and those of no other',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'changes views while their reader still has rights on them',
    ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      stop: async () => true,
    })),
    'test/features/grants/attacks.test.ts: a transaction that it keeps open does not keep its rights',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'overlooks a personal column that is taken away',
    ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      hides: async () => false,
    })),
    'test/features/grants/attacks.test.ts: is taken away before its views can be changed',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    "doesn't replace views in place",
    withStatements((text) => text.replace('create or replace view', 'create view'), 'make'),
    'test/features/grants/attacks.test.ts: does not keep a tenant or a personal column that is taken away',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'looks at memberships of one step only',
    withStatements(
      (text) =>
        text.replace(
          "pg_has_role(r.oid, m.oid, 'member')",
          '(m.oid = r.oid or exists (select from pg_auth_members o where o.member = r.oid and o.roleid = m.oid))',
        ),
      'obstacle',
    ),
    'test/features/grants/attacks.test.ts: a member of a member of a predefined role',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'knows predefined roles by name',
    withStatements(
      (text) => text.replace("starts_with(m.rolname, 'pg_')", "m.rolname ~ '^pg_(read_all_data|write|exec)'"),
      'obstacle',
    ),
    'test/features/grants/attacks.test.ts: is refused, and named by check',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'overlooks where others look for functions',
    withStatements((text) => text.replace("starts_with(setting, 'search_path=')", 'false'), 'obstacle'),
    'test/features/grants/attacks.test.ts: create where others look for names',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'overlooks what others made of the data of all tenants',
    ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      exposure: async () => undefined,
    })),
    'test/features/grants/attacks.test.ts: and gave to a reader, is named by check',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'shows personal columns to every reader',
    ofStore.function('readerStore', (sound) => (...given) => {
      const whole = sound(...given)
      return { ...whole, make: (run, to, views) => whole.make(run, { ...to, personal: true }, views) }
    }),
    'test/transcripts/transcripts.test.ts: test/transcripts/grants.txt',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    "leaves readers' views as they are when ours change",
    ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      outdated: async () => [],
    })),
    'test/transcripts/transcripts.test.ts: test/transcripts/grants.txt',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    "drops all readers' views in one transaction",
    ofStore.function('droppingByReader', () => () => []),
    'test/features/grants/grants.test.ts: if ours have other columns, those of each reader are dropped in a transaction of its own',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    "drops a schema that isn't ours",
    ofStore.function('readerStore', (sound) => (...given) => ({
      ...sound(...given),
      drop: async (run, role) => {
        const all = sql.raw(`drop schema ${pg.escapeIdentifier(role)} cascade`)
        await run(all.compile(given[0]))
      },
    })),
    'test/transcripts/transcripts.test.ts: test/transcripts/grants.txt',
    'postgres',
  ],
  [
    'a reader sees its tenants, and nothing else',
    'overlooks what everyone may read',
    withStatements((text) => text.replace('grantee = 0 or ', ''), 'obstacle'),
    'test/features/grants/attacks.test.ts: read what everyone may of ours',
    'postgres',
  ],
])
