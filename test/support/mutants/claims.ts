/** What the product reports about itself and its rows: one function that decides it is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const claims = mutants({
  'every version in the history existed (`resources.NAME.history`)': {
    'test/engine/warehouse/recordhistory.test.ts: contains what an observer has seen end': {
      'keeps nothing of what is replaced': () =>
        breaking('engine/warehouse/versions').keepReplaced(async () => ({
          matching: new Map(),
          dropUnchanged: async () => {},
        })),
      'keeps nothing of what is deleted': () =>
        breaking('engine/warehouse/versions').keepDeleted(async () => {}),
      'claims that a version ended that turned out to be unchanged': () =>
        breaking('engine/warehouse/versions').keepReplaced(async (sound, keeping, replacing) => ({
          ...(await sound(keeping, replacing)),
          dropUnchanged: async () => {},
        })),
      'ends a version at another moment than that of the request': () =>
        breaking('engine/warehouse/versions').keepReplaced((sound, keeping, replacing) =>
          sound(keeping, { ...replacing, syncedAt: '2026-01-01T00:00:05.000000Z' }),
        ),
      'leaves out the nested rows of a table': () =>
        breaking('engine/warehouse/versiontext').versionTexts((sound, words, tables) =>
          sound(words, {
            ...tables,
            children: tables.children.filter(({ name }) => name !== 'repair_order_labors'),
          }),
        ),
    },
  },
  'a verdict is no better than its evidence': {
    'test/engine/list/verdict.test.ts: a place remembered': {
      'forgets what it knows about a list': () =>
        breaking('engine/list/verdict', 'daily').verdict((sound, evidence) => sound(evidence)),
    },
  },
  'nothing reports that all is well while an incident is open': {
    'test/features/health/faces.test.ts: a value in quarantine': {
      'finds no open incident': () => breaking('features/health/openincidents').openIncidents(async () => []),
    },
  },
  'an unknown age never counts as fresh': {
    'test/engine/run/wrongclock.test.ts: status calls stale what it cannot know the age of': {
      'treats an instant in the future as now': () =>
        breaking('engine/base/format').ageOf((sound, ...given) => sound(...given) ?? 0),
    },
  },
  'a service that moved is in one order': {
    'test/features/reconcile/shared.test.ts: requests the order that lost a service without a new stamp': {
      'does not look for services that two orders show': () =>
        breaking('engine/run/askshared').withSharedLook((_sound, _cursor, work) => work),
    },
  },
  'a car or customer that came to several shops counts once': {
    'test/features/report/comparedshops.test.ts: a car that came to two shops counts once': {
      'counts distinct values by shop and adds them': () =>
        breaking('features/analytics/figuresql').askFigures(async (sound, source, figures, question) => {
          if (question.by.join() !== 'tenant_id') return sound(source, figures, question)
          const rows = await sound(source, figures, { ...question, by: ['tenant_id', 'shop_key'] })
          return rows.map(({ keys, values }) => ({ keys: { tenant_id: keys.tenant_id ?? null }, values }))
        }),
    },
  },
  'a month before the data begins has no figures, instead of zeros': {
    'test/features/report/comparedshops.test.ts: have no numbers before their data begins': {
      'takes data to have begun long ago': () =>
        breaking('features/report/read/fold').firstMonthOf(() => '0001-01'),
    },
  },
  'a page is stored even if nested rows exist without their records': {
    'test/engine/warehouse/contract.test.ts: a record is stored whose nested rows are there without it': {
      "doesn't recognize the error for a row that already exists": () =>
        breaking('engine/warehouse/postgres/dialect', 'postgres').postgresDialect((sound, ...given) => {
          const dialect = sound(...given)
          return { ...dialect, bulk: { ...dialect.bulk, isTaken: () => false } }
        }),
    },
  },
  'lists that show the same rows do not fail each other': {
    'test/laws/embedded.test.ts: no first load fails because several lists show the same tags': {
      'blames the database for rows that another page wrote meanwhile': () =>
        breaking('engine/warehouse/upsert', 'postgres').settledSql((sound, ...given) =>
          sound(...given).replace('s._synced_at <> v._synced_at', '1 = 0'),
        ),
    },
    'test/laws/embedded.test.ts: a trigger that leaves out a tag is found by each list that shows it': {
      "doesn't look at what became of tags inside other records": () =>
        breaking('engine/warehouse/interference').checkStored(async (sound, work, table, rows, how) =>
          table.name === 'integrator_tags' && work.batch.resource !== 'integrator_tags'
            ? undefined
            : sound(work, table, rows, how),
        ),
    },
  },
})
