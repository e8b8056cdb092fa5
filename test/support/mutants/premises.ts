/** What the program does if a premise of docs/guarantees.md breaks: one function of it is broken at a time. */

import { sql } from 'kysely'
import { judged } from '../../../src/engine/list/verdict.js'
import { readingById } from '../../../src/engine/run/byid.js'
import { wholeOutcome } from '../../../src/engine/run/cursorwork.js'
import type { Transport } from '../../../src/engine/source/http/transport.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

/** As thrown by code that knows nothing of error classes. */
const unclassed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export const premises = mutants({
  'what was committed stays': {
    'test/laws/wentback.test.ts: a lease of before means that the warehouse went back': {
      "doesn't check what its commits rest on": () =>
        breaking('engine/warehouse/fence').checkFence(async () => {}),
    },
    'test/laws/wentback.test.ts: a database that a copy of earlier in the same run has replaced': {
      "doesn't notice that the database is another one": () =>
        breaking('engine/warehouse/fence').checkFence((sound, dialect, session, given) =>
          sound({ ...dialect, server: sql<string>`${given?.server ?? ''}` }, session, given),
        ),
    },
    'test/features/listen/reopening.test.ts: listen goes on with a database of before': {
      'lets programs that stay up go on with what they remember of another database': () =>
        breaking('engine/warehouse/fence').isEarlier(() => false),
    },
    'test/laws/wentback.test.ts: so does a backup of before the run': {
      "doesn't notice that tables were dropped and made again from a dump": () =>
        breaking('engine/warehouse/fence', 'postgres').checkFence(async () => {}),
    },
  },
  'the file of the warehouse is the one that is open': {
    'test/features/listen/reopening.test.ts: is refused by': {
      'makes a new warehouse of an empty file in its place': () =>
        breaking('shell/stayup').Opening.warehouse(function (sound) {
          Object.defineProperty(this, 'isFirst', { value: true })
          return sound()
        }),
    },
    'test/laws/wentback.test.ts: the file is replaced by': {
      "doesn't look at the file": () =>
        breaking('engine/warehouse/sqlite/namedfile').NamedFile.isGone(() => false),
    },
    'test/features/listen/reopening.test.ts: goes on with a restored backup': {
      'lets programs that stay up go on without their file': () =>
        breaking('shell/replaced').ReplacementWatch.isReplaced(async () => false),
    },
  },
  'stamps are on record before rows have them': {
    'test/laws/lease.test.ts: stamps of a killed holder whose clock is off by': {
      'follows a clock that jumps': () => breaking('engine/base/clock').Stamps.hold(() => {}),
    },
    'test/laws/lease.test.ts: stamps follow a clock that leaps': {
      'leaves stamps behind a clock that leaped until the next heartbeat': () =>
        breaking('engine/base/clock').Stamps.hold((sound, until) => sound(until)),
    },
  },
  '`updated_at` is in the past': {
    'test/engine/run/stamps.test.ts: one record dated 2099 hides no later change': {
      'trusts the newest updated_at of a response, whatever the clocks show': () =>
        breaking('engine/list/clocks', 'daily').ceilingOf((sound, { observed }) => sound({ observed })),
    },
  },
  '`updated_at` is after 1970': {
    'test/engine/run/beginning.test.ts: a first load fetches them': {
      'requests whole lists from 1970 on': () =>
        breaking('engine/run/wholelists', 'daily').Beginning.ask((_sound, send) =>
          send('1970-01-01T00:00:00Z'),
        ),
    },
  },
  'a stored watermark is correct': {
    'test/engine/run/stamps.test.ts: a stored watermark ahead of both clocks is void': {
      'walks from the stored watermark, whatever the clocks show': () =>
        breaking('engine/run/stampsahead', 'daily').believedWatermark(
          async (_sound, _cursor, stored) => stored,
        ),
    },
    'test/engine/run/oddlists.test.ts: that is the only one leaves no watermark': {
      'takes the floor of a first load for a watermark': () =>
        breaking('engine/list/walkstate', 'daily').ceilingReached((_sound, ceiling) => ceiling),
    },
  },
  'records become visible within the overlap': {
    'test/engine/run/lateness.test.ts: a record that comes late is measured': {
      "leaves the walk's own late records out of complete_through": () =>
        breaking('engine/run/lateness', 'daily').completeThrough((sound, began, known) =>
          sound(began, known),
        ),
    },
  },
  'no late record in a zone of more than a page': {
    'test/engine/run/cost.test.ts: changed records cost': {
      'reads the late zone again in every walk': () =>
        breaking('engine/list/books').Book.needsZone(() => true),
    },
  },
  'the list of authorizations keeps its order': {
    'test/engine/run/grants.test.ts: authorizations in a changing order revoke nobody': {
      'treats a tenant that is missing from a short list as revoked': () =>
        breaking('engine/run/authorizations', 'daily').saysWhoIsGranted(() => true),
    },
  },
  "a tenant doesn't answer 404": {
    'test/engine/run/grants.test.ts: a resource that answered once and now returns 404 has failed': {
      "doesn't know which resources have ever answered": () =>
        breaking('engine/run/absence', 'daily').explainAbsence((sound, { tenant, resource }, error) =>
          sound({ tenant, resource, state: undefined }, error),
        ),
    },
    'test/features/targets/due.test.ts: not offered for longer than polling.atLeast': {
      "never takes a list's rest for over": () =>
        breaking('features/targets/restinglists').restingLists((sound, warehouse, nowMs, waits) =>
          sound(warehouse, nowMs, { ...waits, atLeast: Number.POSITIVE_INFINITY }),
        ),
    },
  },
  'at least one tenant has granted access': {
    'test/engine/run/grants.test.ts: without any grants, the run fails until': {
      'accepts that nothing is granted': () =>
        breaking('engine/run/askauthorizations', 'daily').firstAuthorizations(async (sound, ask) => ({
          ...(await sound(ask)),
          reason: null,
        })),
    },
  },
  'someone notices problems': {
    'test/transcripts/transcripts.test.ts: test/transcripts/sync.txt': {
      'prints nothing with --quiet, not even what needs attention': () =>
        breaking('shell/output').Output.complain(() => {}),
    },
  },
  'commands that only read create nothing': {
    'test/transcripts/transcripts.test.ts: test/transcripts/nowhere.txt': {
      'opens a warehouse for reading as if for writing': () =>
        breaking('shell/commandcontext').OpenContext.readingWarehouse(function () {
          return this.warehouse()
        }),
    },
  },
  'values in quarantine are counted once': {
    'test/features/quarantine/quarantine.test.ts: counts a value once, however many requests have shown it': {
      'counts what goes to quarantine again for every request': () =>
        breaking('engine/run/runend', 'daily').withQuarantine(async (_sound, _context, end) => end),
    },
  },
  'this warehouse belongs to this source': {
    'test/engine/run/sourceidentity.test.ts: belongs to the source of its first run': {
      'continues although the warehouse belongs to another source': () =>
        breaking('engine/warehouse/sourceidentity', 'daily').checkSourceIdentity((sound, warehouse, asked) =>
          sound(warehouse, asked).catch(() => undefined),
        ),
    },
  },
  "the source's behavior doesn't change": {
    'test/transcripts/transcripts.test.ts: test/transcripts/check.txt': {
      'never notices that the source behaves differently': () =>
        breaking('features/check/probe').changesBetween(() => []),
    },
  },
  "the session's time zone is UTC (Postgres)": {
    'test/engine/warehouse/sessiontime.test.ts: if a pooler drops what a transaction sets': {
      'works in any time zone': () => breaking('engine/warehouse/postgres/sessiontime').checkZone(() => {}),
    },
  },
  "a name means the server's own (Postgres)": {
    'test/laws/strangernames.test.ts: is called by no command and no view, through': {
      'leaves the search path to the role and the database': () =>
        breaking('engine/warehouse/postgres/connection').connecting((sound, ...given) => {
          const { config, ...more } = sound(...given)
          return { config: { ...config, options: '-c DateStyle=ISO' }, ...more }
        }),
      'sends statements that need no transaction without one, behind a pooler too': () =>
        breaking('engine/warehouse/postgres/connectionpool').settledPool((sound, of) => sound(of, false)),
    },
  },
  'nobody without rights holds up a command (Postgres)': {
    'test/engine/warehouse/deliveries.test.ts: that several make at the same moment is one, and one that is dropped while it is made is made again':
      {
        'fails where two make the same at the same moment, without a lock that others can take': () =>
          breaking('engine/warehouse/postgres/drivererrors').isMadeMeanwhile(() => false),
      },
  },
  'a lease expires on time, whatever the clocks show': {
    'test/laws/lease.test.ts: an expiry further away than a lease lasts': {
      'believes every expiry, however far away': () =>
        breaking('engine/warehouse/leaserows').isOver(
          (_sound, expiresAt, now) => expiresAt === null || expiresAt <= now,
        ),
    },
  },
  "this machine's clock is right": {
    'test/engine/run/wrongclock.test.ts: status calls stale what it cannot know the age of': {
      'treats anything in the future as fresh': () =>
        breaking('engine/base/format', 'daily').isOlderThan(
          (_sound, timestamp, nowMicros, milliseconds) =>
            Number(nowMicros) / 1000 - Date.parse(timestamp) > milliseconds,
        ),
    },
  },
  'responses end': {
    'test/engine/source/faults.test.ts: a response that sends a byte now and then of': {
      'waits for the end of a response as long as bytes come': () =>
        breaking('engine/source/http/transport').Transport.get(function (sound, ...given) {
          const its = this as unknown as {
            options: ConstructorParameters<typeof Transport>[0]
          }
          its.options = { ...its.options, timeouts: { ...its.options.timeouts, request: 2 ** 30 } }
          return sound(...given)
        }),
    },
  },
  'a table holds everything below its watermark': {
    'test/engine/warehouse/refill.test.ts: that was dropped is filled by the next run': {
      'reads no list completely for a missing table or column': () =>
        breaking('engine/warehouse/layout', 'daily').consequencesOf((sound, ...given) => ({
          ...sound(...given),
          refills: new Map(),
        })),
    },
  },
  'columns follow the configuration': {
    'test/engine/warehouse/forms.test.ts: a column is filled by reading its list again': {
      'reads no list again when a column left the configuration': () =>
        breaking('engine/warehouse/trackedcolumns').trackedChanges(() => []),
    },
    'test/engine/warehouse/forms.test.ts: what no list shows keeps its form': {
      'knows no column that an earlier configuration left': () =>
        breaking('engine/warehouse/trackedcolumns').leftColumns(() => ({})),
    },
  },
  'one configuration shapes the rows': {
    'test/engine/warehouse/lease.test.ts: an older process with other settings is refused': {
      'writes on with an older configuration': () =>
        breaking('engine/warehouse/oneconfiguration', 'daily').RowSettings.check(() => {}),
    },
    'test/engine/warehouse/lease.test.ts: is not brought back by a process that has changed it': {
      'forgets which configuration it has stored': () =>
        breaking('engine/warehouse/oneconfiguration', 'daily').RowSettings.stored(() => {}),
    },
    'test/engine/model/rowsettings.test.ts: includes ': {
      "doesn't compare the settings of features": () =>
        breaking('engine/model/rowsettings').rowSettingsText((sound, model) => sound(model, {})),
    },
    'test/features/listen/oneconfiguration.test.ts: listen reads a changed configuration again': {
      'never reads the configuration again': () =>
        breaking('shell/stayup').stayUp((sound, invocation, work) =>
          sound(invocation, (given, opening) =>
            work(given, opening).catch((error) => Promise.reject(new Error(String(error)))),
          ),
        ),
    },
  },
  'numbers are stored as sent': {
    'test/engine/source/json.test.ts: detects every number with many digits': {
      "doesn't notice numbers that a double rounds": () =>
        breaking('engine/source/http/longnumbers', 'daily').mayRound(() => false),
    },
    'test/engine/run/numbers.test.ts: in columns of numbers and of text': {
      'uses the nearest double for a number, however far off it is': () =>
        breaking('engine/base/numbertoken', 'sqlite').nearDouble((_sound, text) => Number(text)),
    },
  },
  'a problem with one table affects no other': {
    'test/engine/warehouse/trouble.test.ts: a unique index': {
      "can't tell an error of one table from other errors of Postgres": () =>
        breaking('engine/warehouse/postgres/drivererrors', 'postgres').classify((_sound, error) =>
          unclassed(error),
        ),
      "can't tell an error of one table from other errors of SQLite": () =>
        breaking('engine/warehouse/sqlite/drivererrors', 'sqlite').classify((_sound, error) =>
          unclassed(error),
        ),
    },
    'test/engine/warehouse/trouble.test.ts: a trigger that calls what is not there': {
      "doesn't know which table the statement was about that the database refused": () =>
        breaking('engine/warehouse/classify').ofStatement((_sound, error) => error),
    },
    'test/engine/warehouse/keptback.test.ts: on a table whose trigger raises keeps back its lists alone': {
      "lets a table that can't be changed end the run": () =>
        breaking('engine/warehouse/interference').refusalOf(() => undefined),
    },
    'test/engine/warehouse/runrole.test.ts: fails only the lists that a policy that errs concerns': {
      'ends the run if the zones of the shops cannot be read': () =>
        breaking('engine/warehouse/learnedrules', 'postgres').unreadableRules((_sound, error) => {
          throw error
        }),
    },
    'test/engine/warehouse/trouble.test.ts: a table that cannot be created': {
      "doesn't know which table a migration was changing": () =>
        breaking('engine/warehouse/classify', 'postgres').ofTable((_sound, error) => error),
    },
  },
  'the database stores rows as sent': {
    'test/engine/warehouse/trouble.test.ts: a trigger that stamps rows': {
      "doesn't read back what it wrote to a table that has a trigger": () =>
        breaking('engine/warehouse/interference').checkStored(async () => {}),
    },
    'test/engine/warehouse/trouble.test.ts: a trigger that leaves out a row': {
      "doesn't look for what was added to a table that it can't write": () =>
        breaking('engine/warehouse/interference').explained(async (_sound, error) => error),
    },
    'test/engine/warehouse/trouble.test.ts: a mark is undone': {
      'believes that a row is marked as deleted because it said so': () =>
        breaking('engine/run/tombstone').checkMarked(async () => {}),
    },
  },
  'what is compared can be seen': {
    'test/engine/warehouse/runrole.test.ts: compares nothing of which rows may be hidden': {
      "doesn't ask whether rows may be hidden": () =>
        breaking('engine/warehouse/interference', 'postgres').InterferedTables.refuseHidden(async () => {}),
    },
  },
  'the database can hold every value': {
    'test/engine/warehouse/trouble.test.ts: a database in another encoding than UTF8 is refused': {
      'goes on with a database in any encoding': () =>
        breaking('engine/warehouse/openwarehouse', 'postgres').refuseNarrow(
          async (_sound, warehouse) => warehouse,
        ),
    },
    'test/engine/warehouse/trouble.test.ts: a key that is too long goes to quarantine before it is sent': {
      'sends keys of any length': () => breaking('engine/model/flatten/slowpath').isKey(() => true),
    },
  },
  'Postgres responds': {
    'test/engine/warehouse/silence.test.ts: a silent connection is given up': {
      'waits forever on a connection that has gone silent': () =>
        breaking('engine/warehouse/postgres/connectionpool').endSilentConnections((sound, pool, options) =>
          sound(pool, options, 2 ** 30),
        ),
    },
  },
  'a run may end before its work is done': {
    'test/engine/run/timelimit.test.ts: ends cleanly': {
      'treats the end of the time limit as a signal': () =>
        breaking('engine/run/ending').endingOf((sound, signal) => sound(signal) && 'interrupted'),
    },
  },
  'waits are bounded': {
    'test/engine/run/wait.test.ts: ends only the cursor that was told to wait': {
      "doesn't report that it was told to wait too long": () =>
        breaking('engine/source/rate/wait').tooLong((sound, ...given) => {
          const skip = sound(...given)
          return Object.assign(skip, { details: { ...skip.details, code: undefined } })
        }),
    },
  },
  'erased data leaves no trace': {
    'test/features/forget/traces.test.ts: leaves no trace of an erased name': {
      'leaves deleted rows in the SQLite file, and reports that nothing is left': () =>
        breaking('engine/warehouse/sqlite/erase', 'sqlite').withoutTraces(() => ({
          left: null,
          elsewhere: 'nowhere',
        })),
    },
    'test/features/forget/traces.test.ts: removes the dead versions from the tables': {
      'leaves dead versions in the tables of Postgres, and reports that nothing is left': () =>
        breaking('engine/warehouse/postgres/erase', 'postgres').vacuum(async () => ({
          left: null,
          elsewhere: 'nowhere',
        })),
    },
    'test/features/forget/traces.test.ts: leaves no value in the statistics of a table that is empty afterwards':
      {
        "keeps the planner's statistics of a table that is empty afterwards": () =>
          breaking('engine/warehouse/postgres/erase', 'postgres').clearStatistics(async () => undefined),
      },
  },
  'forgotten tenants stay away': {
    'test/features/forget/tenant.test.ts: runs of every kind leave it out, and status counts it': {
      "doesn't know who was forgotten": () =>
        breaking('engine/warehouse/tenants', 'daily').readForgotten(async () => new Set()),
    },
  },
  'the list is newest first': {
    'test/engine/run/oddlists.test.ts: a list that is not newest first': {
      'treats every list as newest first': () =>
        breaking('engine/list/observed', 'daily').isOutOfOrder(() => false),
    },
  },
  'every record is listed once': {
    'test/engine/run/oddlists.test.ts: at two times: a second reading settles it': {
      'takes the second position of a record for that of another one, forever': () =>
        breaking('engine/list/evidence', 'daily').judgeReading((sound, ...given) => {
          const outcome = sound(...given)
          const isTwice = outcome.reason === 'listed_twice'
          return isTwice ? { ...outcome, verdict: 'unproven', reason: 'totals_disagree' } : outcome
        }),
    },
  },
  'every record that is counted is shown': {
    'test/engine/run/oddlists.test.ts: is searched for once; then runs cost': {
      'forgets how often it has searched for records that are counted but never shown': () =>
        breaking('engine/list/memory', 'daily').recalled((sound, ...given) => {
          const { outcome, memory: whole } = sound(...given)
          const { surplus: _, ...rest } = whole
          return { outcome, memory: rest }
        }),
    },
    'test/engine/run/oddlists.test.ts: because every page behind the first is empty': {
      'believes a list that hides half of its records once it was searched twice': () =>
        breaking('engine/list/verdict', 'daily').isSettledAsHidden((_sound, { searches }) => searches >= 2),
    },
  },
  'totals are correct': {
    'test/engine/run/totals.test.ts: a total that ends at 300': {
      'reads nothing beyond the end that the total gives': () =>
        breaking('engine/list/closebooks', 'daily').lookPast(async () => undefined),
    },
  },
  'a page shorter than requested is the last': {
    'test/engine/run/paging.test.ts: a page shorter than asked is not the last': {
      'takes a page that is shorter than requested for the last one': () =>
        breaking('engine/list/pagesize', 'daily').PageSize.isFull(
          (_sound, { records }, perPage) => records >= perPage,
        ),
    },
  },
  '`total_pages` is correct': {
    'test/engine/run/paging.test.ts: where it says that pages follow, a first load looks at the next': {
      'ignores the page that exists according to total_pages': () =>
        breaking('engine/list/pagesize', 'daily').PageSize.isFull((sound, { goesOn: _, ...page }, perPage) =>
          sound(page, perPage),
        ),
    },
  },
  'every page can be read': {
    'test/engine/run/oddlists.test.ts: : all others are stored, it is retried with two requests': {
      "gives up on a page that doesn't answer, with all its records": () =>
        breaking('engine/run/isolate', 'daily').isolate((_sound, _source, _request, failure) =>
          Promise.reject(failure),
        ),
    },
    'test/engine/run/oddlists.test.ts: within the overlap: the list is not read again for it': {
      'forgets that the list has to be read behind a page that answers again, if the walk is killed': () =>
        breaking('engine/run/retryhole', 'daily').retryHole(async (sound, ...given) => {
          const retried = await sound(...given)
          return { ...retried, toStore: retried.memory }
        }),
    },
  },
  'pages of every size can be read': {
    'test/engine/run/paging.test.ts: : the size is learned once, and costs nothing from then on': {
      'forgets the size of pages that arrive, so each run tries the larger ones again and again': () =>
        breaking('engine/run/retryhole', 'daily').withReadable(() => undefined),
    },
    'test/engine/run/paging.test.ts: a larger size is tried once a day': {
      'never tries a larger page again': () =>
        breaking('engine/run/retryhole', 'daily').tryLarger((_sound, _list, memory) =>
          Promise.resolve(memory),
        ),
    },
  },
  'versions never go back': {
    'test/features/reconcile/wentback.test.ts: is followed, of': {
      "doesn't follow a source that was restored from a backup": () =>
        breaking('engine/run/sourceregression', 'daily').askForRegressions(async (sound, ...given) => ({
          ...(await sound(...given)),
          older: [],
        })),
    },
  },
  'verify compares only what is claimed': {
    'test/features/reconcile/verify.test.ts: a version above complete_through is newer': {
      "counts what came after a cursor's claim as a difference": () =>
        breaking('features/reconcile/dryrun').DryRun.counts(async (sound, ...given) => {
          const { newer, ...tally } = await sound(...given)
          return { ...tally, missing: tally.missing + newer, newer: 0 }
        }),
    },
  },
  'a backfill claims only what it read': {
    'test/features/backfill/backfill.test.ts: reads a list of names whole': {
      'calls a list of names complete that it has not read': () =>
        breaking('engine/run/nameslist', 'daily').NamesSync.run(async function () {
          return { ...this.progress, outcome: wholeOutcome(0) }
        }),
    },
    'test/features/backfill/backfill.test.ts: 349 of 350 records': {
      'calls a range complete without comparing with its count': () =>
        breaking('engine/list/range', 'daily').RangeWalk.run(async (sound) => {
          const outcome = await sound()
          return judged({ basis: { by: 'page', missing: 0 } }, outcome)
        }),
    },
  },
  'mass deletions are an error': {
    'test/features/reconcile/oddlists.test.ts: tells the way out; reconcile --accept-deletes takes it': {
      'believes any number of deletions': () =>
        breaking('engine/run/deletionguard', 'daily').DeletionGuard.trips(() => false),
    },
  },
  'every record can be stored': {
    'test/features/quarantine/quarantine.test.ts: a record that could not be stored fails only the runs that see it':
      {
        'reports nothing about records that could not be stored': () =>
          breaking('engine/run/cursorwalk', 'daily').CursorWalk.run(async (sound) => ({
            ...(await sound()),
            unstorable: 0,
          })),
      },
  },
  'by id, the source answers with the record or says that it is gone': {
    'test/features/reconcile/byid.test.ts: for one record leaves its row, and the others are marked deleted':
      {
        "doesn't look at the id of an answer, or whether it is a record": () =>
          breaking('engine/run/answerbyid', 'daily').otherThan(() => undefined),
      },
    'test/features/reconcile/byid.test.ts: for every id: the second list decides': {
      'ends the cursor at the first refusal': () =>
        breaking('engine/run/answerbyid', 'daily').answerOfFailure((_sound, error) => {
          throw error
        }),
      "forgets that the source doesn't answer by id": () =>
        breaking('engine/run/byid', 'daily').byIdOf((_sound, cursor, list) => readingById(cursor, list)),
    },
  },
  "days follow the shop's time zone": {
    'test/features/analytics/days.test.ts: a shop has the configured zone': {
      'ignores the configured time zone': () =>
        breaking('features/analytics/zones').refreshZones((sound, warehouse, model, settings) =>
          sound(warehouse, model, { ...settings, shopTimeZones: {} }),
        ),
    },
  },
  'views belong to shopsync': {
    'test/features/analytics/makeviews.test.ts: view of the same name alone, and report it': {
      "doesn't check what is in the place of a view": () =>
        breaking('engine/warehouse/sqlite/viewstore', 'sqlite').viewStore((sound, ...given) => ({
          ...sound(...given),
          live: async () => new Map(),
        })),
    },
  },
  'old history is removed': {
    'test/engine/run/history.test.ts: runs, cursors and requests older than history.keep': {
      'removes nothing of the history of runs': () =>
        breaking('engine/run/prunehistory').pruneHistory(async () => {}),
    },
  },
})
