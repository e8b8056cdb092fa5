/** What the product reports about itself and its rows: one function that decides it is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const format = breaking(() => import('../../../src/engine/base/format.js'))
const verdict = breaking(() => import('../../../src/engine/list/verdict.js'))
const askshared = breaking(() => import('../../../src/engine/run/askshared.js'))
const interference = breaking(() => import('../../../src/engine/warehouse/interference.js'))
const dialect = breaking(() => import('../../../src/engine/warehouse/postgres/dialect.js'))
const versions = breaking(() => import('../../../src/engine/warehouse/versions.js'))
const versiontext = breaking(() => import('../../../src/engine/warehouse/versiontext.js'))
const upsert = breaking(() => import('../../../src/engine/warehouse/upsert.js'))
const figuresql = breaking(() => import('../../../src/features/analytics/figuresql.js'))
const openincidents = breaking(() => import('../../../src/features/health/openincidents.js'))
const fold = breaking(() => import('../../../src/features/report/read/fold.js'))

const history = 'every version in the history existed (`resources.NAME.history`)'
const observed = 'test/engine/warehouse/recordhistory.test.ts: contains what an observer has seen end'

export const claims = mutants([
  [
    history,
    'keeps nothing of what is replaced',
    versions.function('keepReplaced', () => async () => ({
      matching: new Map(),
      dropUnchanged: async () => {},
    })),
    observed,
  ],
  [
    history,
    'keeps nothing of what is deleted',
    versions.function('keepDeleted', () => async () => {}),
    observed,
  ],
  [
    history,
    'claims that a version ended that turned out to be unchanged',
    versions.function('keepReplaced', (sound) => async (keeping, replacing) => ({
      ...(await sound(keeping, replacing)),
      dropUnchanged: async () => {},
    })),
    observed,
  ],
  [
    history,
    'ends a version at another moment than that of the request',
    versions.function(
      'keepReplaced',
      (sound) => (keeping, replacing) =>
        sound(keeping, { ...replacing, syncedAt: '2026-01-01T00:00:05.000000Z' }),
    ),
    observed,
  ],
  [
    history,
    'leaves out the nested rows of a table',
    versiontext.function(
      'versionTexts',
      (sound) => (words, tables) =>
        sound(words, {
          ...tables,
          children: tables.children.filter(({ name }) => name !== 'repair_order_labors'),
        }),
    ),
    observed,
  ],
  [
    'a verdict is no better than its evidence',
    'forgets what it knows about a list',
    verdict.function('verdict', (sound) => (evidence) => sound(evidence)),
    'test/engine/list/verdict.test.ts: a place remembered',
    'daily',
  ],
  [
    'nothing reports that all is well while an incident is open',
    'finds no open incident',
    openincidents.function('openIncidents', () => async () => []),
    'test/features/alerts/greenisgreen.test.ts: all of them report an open incident',
  ],
  [
    'an unknown age never counts as fresh',
    'treats an instant in the future as now',
    format.function(
      'ageOf',
      (sound) =>
        (...given) =>
          sound(...given) ?? 0,
    ),
    'test/engine/run/wrongclock.test.ts: status calls stale what it cannot know the age of',
  ],
  [
    'a service that moved is in one order',
    'does not look for services that two orders show',
    askshared.function('withSharedLook', () => (_cursor, work) => work),
    'test/features/reconcile/shared.test.ts: requests the order that lost a service without a new stamp',
  ],
  [
    'a car or customer that came to several shops counts once',
    'counts distinct values by shop and adds them',
    figuresql.function('askFigures', (sound) => async (source, figures, question) => {
      if (question.by.join() !== 'tenant_id') return sound(source, figures, question)
      const rows = await sound(source, figures, { ...question, by: ['tenant_id', 'shop_key'] })
      return rows.map(({ keys, values }) => ({ keys: { tenant_id: keys.tenant_id ?? null }, values }))
    }),
    'test/features/report/comparedshops.test.ts: a car that came to two shops counts once',
  ],
  [
    'a month before the data begins has no figures, instead of zeros',
    'takes data to have begun long ago',
    fold.function('firstMonthOf', () => () => '0001-01'),
    'test/features/report/comparedshops.test.ts: have no numbers before their data begins',
  ],
  [
    'a page is stored even if nested rows exist without their records',
    "doesn't recognize the error for a row that already exists",
    dialect.function('postgresDialect', (sound) => (...given) => {
      const dialect = sound(...given)
      return { ...dialect, bulk: { ...dialect.bulk, isTaken: () => false } }
    }),
    'test/engine/warehouse/contract.test.ts: a record is stored whose nested rows are there without it',
    'postgres',
  ],
  [
    'lists that show the same rows do not fail each other',
    'blames the database for rows that another page wrote meanwhile',
    upsert.function(
      'settledSql',
      (sound) =>
        (...given) =>
          sound(...given).replace('s._synced_at <> v._synced_at', '1 = 0'),
    ),
    'test/laws/embedded.test.ts: no first load fails because several lists show the same tags',
    'postgres',
  ],
  [
    'lists that show the same rows do not fail each other',
    "doesn't look at what became of tags inside other records",
    interference.function(
      'checkStored',
      (sound) => async (work, table, rows, how) =>
        table.name === 'integrator_tags' && work.batch.resource !== 'integrator_tags'
          ? undefined
          : sound(work, table, rows, how),
    ),
    'test/laws/embedded.test.ts: a trigger that leaves out a tag is found by each list that shows it',
  ],
])
