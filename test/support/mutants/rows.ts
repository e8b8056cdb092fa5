/** What the rows of a warehouse, its copies and its views are worth, and what is said about them. */
import { sql } from 'kysely'
import { rootOf } from '../../../src/engine/run/tenant.js'
import { rootTable } from '../../../src/engine/warehouse/database.js'
import { breaking, type Mutants } from './breakage.js'

const past = '2000-01-01T00:00:00.000000Z'

export const rows: Mutants = {
  'reports again what was already reported': () =>
    breaking('engine/warehouse/state/drift', 'daily').writeDrift(
      async (sound, db, session, stamps, entries) => {
        await sound(db, session, stamps, entries)
        return [...entries]
      },
    ),
  'continues a killed walk two pages too late': () =>
    breaking('engine/list/reading', 'daily').Reading.goTo((sound, next, last) =>
      sound(next > 2 ? next + 2 : next, last),
    ),
  'reads the whole list in each run': () => breaking('engine/list/memory').isSearchDue(async () => true),
  // Records that left their list, and those that it shows.
  'takes archived records for a list that keeps moving': () =>
    breaking('features/reconcile/leftthelist', 'daily').LeftRecords.among(async () => []),
  'never sees an archived record change': () =>
    breaking('features/reconcile/leftthelist', 'daily').LeftRecords.askAgain(async () => undefined),
  'forgets that a person has confirmed it': () =>
    breaking('features/reconcile/leftthelist', 'daily').leftStanding((sound, versions, _before, when) =>
      sound(versions, undefined, { ...when, isSearch: false }),
    ),
  'keeps the mark of a record that the list shows again': () =>
    breaking('engine/warehouse/store/unlisted', 'daily').clearUnlisted(() => []),
  'shows archived records in views that leave them out': () =>
    breaking('features/analytics/viewwords').withTables((sound, text, sql) =>
      sound(text, sql, { unlisted: 'keep' }),
    ),
  'lets rows and deletion marks from the future stand': () =>
    breaking('engine/warehouse/store/voidstamps', 'daily').storedVersions(
      async (_sound, _db, root, session, { page, tenantId }) => ({
        versions: await session.versions(
          root,
          tenantId,
          page.records.map(({ id }) => id),
        ),
        lowered: 0,
      }),
    ),
  'never marks a row from the future whose record is gone': () =>
    breaking('engine/warehouse/store/voidstamps').lowerVoidStamps((sound, db, root, rows) =>
      sound(db, root, { ...rows, tenantId: -1 }),
    ),
  'believes every stamp': () =>
    breaking('engine/warehouse/store/voidstamps', 'daily').stampsEnd((sound, eb) =>
      sound(eb).where('name', '=', 'nobody'),
    ),
  "doesn't compare what a list showed with the live rows": () =>
    breaking('features/reconcile/deciding', 'daily').Deciding.revive(async () => 0),

  // What is said about rows.
  'keeps nothing of what is replaced': () =>
    breaking('engine/warehouse/store/versions').keepReplaced(async () => async () => {}),
  'keeps nothing of what is deleted': () =>
    breaking('engine/warehouse/store/versions').keepDeleted(async () => {}),
  'claims that a version ended that turned out to be unchanged': () =>
    breaking('engine/warehouse/store/versions').keepReplaced(async (sound, keeping, replacing) => {
      await sound(keeping, replacing)
      return async () => {}
    }),
  'forgets what it knows about a list': () =>
    breaking('engine/list/verdict', 'daily').verdict((sound, evidence) => sound(evidence)),
  'finds no open incident': () => breaking('features/health/openincidents').openIncidents(async () => []),
  'treats an instant in the future as now': () =>
    breaking('engine/base/format').ageOf((sound, ...given) => sound(...given) ?? 0),
  'does not look for services that two orders show': () =>
    breaking('engine/run/askshared').withSharedLook((_sound, _cursor, work) => work),
  'counts distinct values by shop and adds them': () =>
    breaking('features/analytics/figuresql').askFigures(async (sound, source, figures, question) => {
      if (question.by.join() !== 'tenant_id') return sound(source, figures, question)
      const rows = await sound(source, figures, { ...question, by: ['tenant_id', 'shop_key'] })
      return rows.map(({ keys, values }) => ({ keys: { tenant_id: keys.tenant_id ?? null }, values }))
    }),
  'takes data to have begun long ago': () =>
    breaking('features/report/read/fold').firstMonthOf(() => '0001-01'),
  "doesn't recognize the error for a row that already exists": () =>
    breaking('engine/warehouse/postgres/dialect', 'postgres').postgresDialect((sound, ...given) => {
      const dialect = sound(...given)
      return { ...dialect, bulk: { ...dialect.bulk, isTaken: () => false } }
    }),
  'blames the database for rows that another page wrote meanwhile': () =>
    breaking('engine/warehouse/store/upsert', 'postgres').settledSql((sound, ...given) =>
      sound(...given).replace('s._synced_at <> v._synced_at', '1 = 0'),
    ),
  "doesn't look at what became of tags inside other records": () =>
    breaking('engine/warehouse/layout/interference').checkStored(async (sound, work, table, rows, how) =>
      table.name === 'integrator_tags' && work.batch.resource !== 'integrator_tags'
        ? undefined
        : sound(work, table, rows, how),
    ),

  // Copies (docs/warehouse.md, Moving a warehouse).

  "doesn't copy quarantine": () =>
    breaking('features/copy/copiedtables', 'daily').copiedTables(async (sound, ...given) => {
      const found = await sound(...given)
      return { ...found, tables: found.tables.filter(({ name }) => name !== 'sync_quarantine') }
    }),
  'compares the original with itself': () =>
    breaking('features/copy/copyrows', 'daily').compareTable(async (sound, ...given) => {
      const { source } = await sound(...given)
      return { source, target: source }
    }),
  'leaves every existing row as it is': () =>
    breaking('features/copy/stream', 'daily').changesOf((sound, sides) =>
      sound({ ...sides, isSame: () => true }),
    ),
  'copies into a warehouse that holds something else': () =>
    breaking('features/copy/copytarget', 'daily').checkTarget((sound, ...given) =>
      sound(...given).catch(() => ({ isBegun: false, hasTables: true })),
    ),
  'copies the rows of every tenant': () =>
    breaking('features/copy/copiedtables').isNotCopied((sound, table) => sound(table)),
  'copies what says something about a person': () =>
    breaking('features/copy/copiedtables').impersonalColumns(() => new Set<string>()),

  // What readers other than ours find.
  'replaces views before the calendar that they read is filled': () =>
    breaking('features/analytics/calendar').isOutdatedCalendar(async () => false),
  'takes names out of JSON when a view is read': () =>
    breaking('features/analytics/viewwords', 'sqlite').viewWords((sound, ...given) => ({
      ...sound(...given),
      name: (_, alias) => `(${alias}._extra ->> 'name')`,
    })),
  'leaves names as they were when report.names changes': () =>
    breaking('engine/warehouse/layout/recordnames').remakeNames(async () => 0),

  // Copies by docs/increments.md: the reader of the law has other rows than the warehouse.
  'takes the newest stamp for settled': () =>
    breaking('schema/through').through(() => '(select max(u.stamps_until) from {sync_lease} u)'),
  'leaves out holders whose lease has expired': () =>
    breaking('schema/through').through((sound, tenantId) =>
      sound(tenantId).replace(
        'owner is not null',
        `owner is not null and h.expires_at > '2021-01-01T00:00:00.000000Z'`,
      ),
    ),
  'takes no shard for the holder of its tenants': () =>
    breaking('schema/through', 'postgres').through((sound, tenantId) =>
      sound(tenantId).replace("|| '/' ||", "|| '|' ||"),
    ),
  'marks rows as deleted without a stamp': () =>
    breaking('engine/run/tombstone').markDeleted(async (sound, warehouse, task, gone) => {
      const marked = await sound(warehouse, task, gone)
      const unstamped = warehouse.db.updateTable(rootTable(rootOf(task.resource))).set({ _synced_at: past })
      await warehouse.write([unstamped.where('_deleted_at', 'is not', null).compile()])
      return marked
    }),
  'computes totals again without a stamp': () =>
    breaking('engine/warehouse/store/derived', 'sqlite').deriveStored(async (sound, records, ids) => {
      await sound(records, ids)
      const { dialect, session } = records
      const totals = dialect.db.updateTable('repair_order_totals').set({ _synced_at: past })
      await session.run(totals.where(sql<boolean>`1 = 1`).compile())
    }),
  'rewrites rows in place without saying so': () =>
    breaking('engine/warehouse/state/tenants', 'sqlite').demandRebuild((sound, db) => sound(db, [-1])),
}
