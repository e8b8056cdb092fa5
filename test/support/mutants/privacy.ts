/* Whose data it is: what is hidden, and what readers see. See promise.ts. */
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import type { ReaderStore, RunStatement } from '../../../src/engine/warehouse/viewstore.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

/** A store of readers whose statements are changed. */
const withStatements = (change: (text: string) => string, of: keyof ReaderStore) =>
  breaking('engine/warehouse/postgres/readerviews', 'postgres').readerStore((sound, ...given) => {
    const whole = sound(...given)
    const changed =
      (run: RunStatement): RunStatement =>
      <T>(query: CompiledQuery<T>) =>
        run<T>({ ...query, sql: change(query.sql) })
    const method = whole[of] as (run: RunStatement, ...more: unknown[]) => unknown
    return { ...whole, [of]: (run: RunStatement, ...more: unknown[]) => method(changed(run), ...more) }
  })

export const privacy = mutants({
  'what privacy hides is nowhere': {
    'test/engine/warehouse/keptback.test.ts: on a table whose trigger raises keeps back its lists alone': {
      "stores rows of a table whose earlier rows can't be hidden": () =>
        breaking('engine/warehouse/interference').InterferedTables.refuseUnchanged(() => {}),
    },
    'test/engine/model/hiddenvalues.test.ts: of another tenant, another column or another key is another': {
      'makes equal pseudonyms in two tenants': () =>
        breaking('engine/model/privacy', 'daily').pseudonym((sound, how, _, ...text) =>
          sound(how, 0, ...text),
        ),
      'makes equal pseudonyms in two columns': () =>
        breaking('engine/model/privacy', 'daily').pseudonym((sound, how, tenant, _, text) =>
          sound(how, tenant, { domain: '' }, text),
        ),
    },
    'test/engine/warehouse/hiding.test.ts: what is read then contains no hidden text, and no command prints one':
      {
        'keeps whatever comes where a kept column was expected': () =>
          breaking('engine/model/privacy').HiddenPlaces.entry(function (sound, entry) {
            return this.hides(entry.path) ? sound(entry) : entry
          }),
      },
    'test/engine/warehouse/hiding.test.ts: what a version with a laxer rule left in quarantine and drift is hidden, once':
      {
        'leaves what an earlier rule kept': () =>
          breaking('engine/warehouse/privacystate').wantedOf((sound, hides) =>
            sound(hides).filter(({ table }) => table !== 'sync_quarantine'),
          ),
      },
    'test/engine/warehouse/hiddenrows.test.ts: killed at any statement and begun again, it ends as undisturbed':
      {
        'leaves nested lists as they were when privacy hides more': () =>
          breaking('engine/warehouse/hiding').hideTable(async (sound, work, first, ...more) =>
            first.table === 'customer_phones' ? 0 : sound(work, first, ...more),
          ),
        'leaves the history as it was when privacy hides more': () =>
          breaking('engine/warehouse/hiding').hideTable(async (sound, work, first, ...more) =>
            first.table.endsWith('_history') ? 0 : sound(work, first, ...more),
          ),
        'leaves quarantine and drift as they were when privacy hides more': () =>
          breaking('engine/warehouse/hiding').hideReports(async () => 0),
        'notes columns as hidden before their rows are': () =>
          breaking('engine/warehouse/privacystate').note((sound, db, all) =>
            sound(
              db,
              all.map((row) => ({ ...row, state: row.state === 'hiding' ? 'hidden' : row.state })),
            ),
          ),
        'begins from the first record again after a kill': () =>
          breaking('engine/warehouse/privacystate').recordIn(() => undefined),
      },
    'test/engine/warehouse/hiding.test.ts: traces that a reading program keeps in the files are told': {
      "doesn't erase what was left in the files": () =>
        breaking('engine/warehouse/hiding', 'sqlite').eraseTraces(async () => null),
    },
    'test/engine/warehouse/lease.test.ts: a program that goes on with the policy of before is refused by its next claim':
      {
        'lets a program go on that would store more': () =>
          breaking('engine/warehouse/privacystate').loosened(() => []),
      },
    'test/engine/warehouse/forms.test.ts: what the preset of an earlier version hid stays hidden until it is loosened':
      {
        'is stopped by its own default, which has become looser': () =>
          breaking('engine/warehouse/privacystate').heldColumns(() => new Set<string>()),
      },
    'test/engine/warehouse/forms.test.ts: another key under the same version, is refused': {
      'accepts another key under the same version': () =>
        breaking('engine/model/privacy').keyCheck(() => 'the same'),
    },
    'test/engine/warehouse/forms.test.ts: a new version replaces all pseudonyms': {
      'leaves pseudonyms of an earlier key': () =>
        breaking('engine/warehouse/privacystate').withoutOlder((sound, db, { table, column, ...row }) =>
          sound(db, { ...row, table, column, key_version: 1 }),
        ),
    },
  },
  'a reader sees its tenants, and nothing else': {
    'test/features/grants/attacks.test.ts: a cheap function that leaks its arguments is never called with rows of others':
      {
        'makes views without a barrier': () =>
          withStatements((text) => text.replaceAll('with (security_barrier) ', ''), 'make'),
      },
    'test/features/grants/grants.test.ts: sees the rows of its tenant in every view, and those of no other': {
      'makes views that need rights on the tables': () =>
        withStatements(
          (text) => text.replaceAll('(security_barrier)', '(security_barrier, security_invoker)'),
          'make',
        ),
      'leaves the tenant out of one view': () =>
        withStatements(
          (text) => text.replace(/(\."technician_hours") where tenant_id in \([\d, ]+\)/, '$1'),
          'make',
        ),
    },
    'test/features/grants/attacks.test.ts: a transaction that it keeps open does not keep its rights': {
      'changes views while their reader still has rights on them': () =>
        breaking('engine/warehouse/postgres/readerviews', 'postgres').readerStore((sound, ...given) => ({
          ...sound(...given),
          stop: async () => true,
        })),
    },
    'test/features/grants/attacks.test.ts: is taken away before its views can be changed': {
      'overlooks a personal column that is taken away': () =>
        breaking('engine/warehouse/postgres/readerviews', 'postgres').readerStore((sound, ...given) => ({
          ...sound(...given),
          hides: async () => false,
        })),
    },
    'test/features/grants/attacks.test.ts: does not keep a tenant or a personal column that is taken away': {
      "doesn't replace views in place": () =>
        withStatements((text) => text.replace('create or replace view', 'create view'), 'make'),
    },
    'test/features/grants/attacks.test.ts: a member of a member of a predefined role': {
      'looks at memberships of one step only': () =>
        withStatements(
          (text) =>
            text.replace(
              "pg_has_role(r.oid, m.oid, 'member')",
              '(m.oid = r.oid or exists (select from pg_auth_members o where o.member = r.oid and o.roleid = m.oid))',
            ),
          'obstacle',
        ),
    },
    'test/features/grants/attacks.test.ts: is refused, and named by check': {
      'knows predefined roles by name': () =>
        withStatements(
          (text) =>
            text.replace("starts_with(m.rolname, 'pg_')", "m.rolname ~ '^pg_(read_all_data|write|exec)'"),
          'obstacle',
        ),
    },
    'test/features/grants/attacks.test.ts: create where others look for names': {
      'overlooks where others look for functions': () =>
        withStatements((text) => text.replace("starts_with(setting, 'search_path=')", 'false'), 'obstacle'),
    },
    'test/features/grants/attacks.test.ts: and gave to a reader, is named by check': {
      'overlooks what others made of the data of all tenants': () =>
        breaking('engine/warehouse/postgres/readerviews', 'postgres').readerStore((sound, ...given) => ({
          ...sound(...given),
          exposure: async () => undefined,
        })),
    },
    'test/transcripts/transcripts.test.ts: test/transcripts/grants.txt': {
      'shows personal columns to every reader': () =>
        breaking('engine/warehouse/postgres/readerviews').readerStore((sound, ...given) => {
          const whole = sound(...given)
          return { ...whole, make: (run, to, views) => whole.make(run, { ...to, personal: true }, views) }
        }),
      "leaves readers' views as they are when ours change": () =>
        breaking('engine/warehouse/postgres/readerviews').readerStore((sound, ...given) => ({
          ...sound(...given),
          outdated: async () => [],
        })),
      "drops a schema that isn't ours": () =>
        breaking('engine/warehouse/postgres/readerviews').readerStore((sound, ...given) => ({
          ...sound(...given),
          drop: async (run, role) => {
            const all = sql.raw(`drop schema ${pg.escapeIdentifier(role)} cascade`)
            await run(all.compile(given[0]))
          },
        })),
    },
    'test/features/grants/grants.test.ts: if ours have other columns, those of each reader are dropped in a transaction of its own':
      {
        "drops all readers' views in one transaction": () =>
          breaking('engine/warehouse/postgres/readerviews', 'postgres').droppingByReader(() => []),
      },
    'test/features/grants/attacks.test.ts: read what everyone may of ours': {
      'overlooks what everyone may read': () =>
        withStatements((text) => text.replace('grantee = 0 or ', ''), 'obstacle'),
    },
  },
})
