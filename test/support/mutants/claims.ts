/** What the product reports about itself and its rows: one function that decides it is broken at a time. */
import type * as format from '../../../src/engine/base/format.js'
import type * as verdict from '../../../src/engine/list/verdict.js'
import type * as askshared from '../../../src/engine/run/askshared.js'
import type * as interference from '../../../src/engine/warehouse/interference.js'
import type * as postgres from '../../../src/engine/warehouse/postgres/dialect.js'
import type * as upsert from '../../../src/engine/warehouse/upsert.js'
import type * as figuresql from '../../../src/features/analytics/figuresql.js'
import type * as openincidents from '../../../src/features/health/openincidents.js'
import type * as fold from '../../../src/features/report/read/fold.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

export const claims: readonly Promised[] = [
  {
    promise: 'a verdict is no better than its evidence',
    broken: 'forgets what it knows about a list',
    breakage: breaking<typeof verdict>('src/engine/list/verdict.ts').function(
      'verdict',
      (sound) => (evidence) => sound(evidence),
    ),
    test: 'test/engine/list/verdict.test.ts',
    name: 'a place remembered',
    on: [],
  },
  {
    promise: 'nothing reports that all is well while an incident is open',
    broken: 'finds no open incident',
    breakage: breaking<typeof openincidents>('src/features/health/openincidents.ts').function(
      'openIncidents',
      () => async () => [],
    ),
    test: 'test/features/alerts/greenisgreen.test.ts',
    name: 'all of them report an open incident',
    on: both,
  },
  {
    promise: 'an unknown age never counts as fresh',
    broken: 'treats an instant in the future as now',
    breakage: breaking<typeof format>('src/engine/base/format.ts').function(
      'ageOf',
      (sound) =>
        (...given) =>
          sound(...given) ?? 0,
    ),
    test: 'test/engine/run/wrongclock.test.ts',
    name: 'status calls stale what it cannot know the age of',
    on: both,
  },
  {
    promise: 'a service that moved is in one order',
    broken: 'does not look for services that two orders show',
    breakage: breaking<typeof askshared>('src/engine/run/askshared.ts').function(
      'withSharedLook',
      () => (_cursor, work) => work,
    ),
    test: 'test/features/reconcile/shared.test.ts',
    name: 'requests the order that lost a service without a new stamp',
    on: both,
  },
  {
    promise: 'a car or customer that came to several shops counts once',
    broken: 'counts distinct values by shop and adds them',
    breakage: breaking<typeof figuresql>('src/features/analytics/figuresql.ts').function(
      'askFigures',
      (sound) => async (source, figures, question) => {
        if (question.by.join() !== 'tenant_id') return sound(source, figures, question)
        const rows = await sound(source, figures, { ...question, by: ['tenant_id', 'shop_key'] })
        return rows.map(({ keys, values }) => ({ keys: { tenant_id: keys.tenant_id ?? null }, values }))
      },
    ),
    test: 'test/features/report/comparedshops.test.ts',
    name: 'a car that came to two shops counts once',
    on: both,
  },
  {
    promise: 'a month before the data begins has no figures, instead of zeros',
    broken: 'takes data to have begun long ago',
    breakage: breaking<typeof fold>('src/features/report/read/fold.ts').function(
      'firstMonthOf',
      () => () => '0001-01',
    ),
    test: 'test/features/report/comparedshops.test.ts',
    name: 'have no numbers before their data begins',
    on: both,
  },
  {
    promise: 'a page is stored even if nested rows exist without their records',
    broken: "doesn't recognize the error for a row that already exists",
    breakage: breaking<typeof postgres>('src/engine/warehouse/postgres/dialect.ts').function(
      'postgresDialect',
      (sound) =>
        (...given) => {
          const dialect = sound(...given)
          return { ...dialect, bulk: { ...dialect.bulk, isTaken: () => false } }
        },
    ),
    test: 'test/engine/warehouse/contract.test.ts',
    name: 'a record is stored whose nested rows are there without it',
    on: ['postgres'],
  },
  {
    promise: 'lists that show the same rows do not fail each other',
    broken: 'blames the database for rows that another page wrote meanwhile',
    breakage: breaking<typeof upsert>('src/engine/warehouse/upsert.ts').function(
      'settledSql',
      (sound) =>
        (...given) =>
          sound(...given).replace('s._synced_at <> v._synced_at', '1 = 0'),
    ),
    test: 'test/laws/embedded.test.ts',
    name: 'no first load fails because several lists show the same tags',
    on: ['postgres'],
  },
  {
    promise: 'lists that show the same rows do not fail each other',
    broken: "doesn't look at what became of tags inside other records",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').function(
      'checkStored',
      (sound) => async (work, table, rows, how) =>
        table.name === 'integrator_tags' && work.batch.resource !== 'integrator_tags'
          ? undefined
          : sound(work, table, rows, how),
    ),
    test: 'test/laws/embedded.test.ts',
    name: 'a trigger that leaves out a tag is found by each list that shows it',
    on: both,
  },
]
