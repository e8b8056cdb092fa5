/** What the program does if a premise of docs/guarantees.md breaks: one function of it is broken at a time. */

import { sql } from 'kysely'
import { judged } from '../../../src/engine/list/verdict.js'
import { readingById } from '../../../src/engine/run/byid.js'
import { wholeOutcome } from '../../../src/engine/run/cursorwork.js'
import type { Transport } from '../../../src/engine/source/http/transport.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const clock = breaking(() => import('../../../src/engine/base/clock.js'))
const format = breaking(() => import('../../../src/engine/base/format.js'))
const numbertoken = breaking(() => import('../../../src/engine/base/numbertoken.js'))
const books = breaking(() => import('../../../src/engine/list/books.js'))
const clocks = breaking(() => import('../../../src/engine/list/clocks.js'))
const closebooks = breaking(() => import('../../../src/engine/list/closebooks.js'))
const evidence = breaking(() => import('../../../src/engine/list/evidence.js'))
const memory = breaking(() => import('../../../src/engine/list/memory.js'))
const observed = breaking(() => import('../../../src/engine/list/observed.js'))
const pagesize = breaking(() => import('../../../src/engine/list/pagesize.js'))
const range = breaking(() => import('../../../src/engine/list/range.js'))
const verdict = breaking(() => import('../../../src/engine/list/verdict.js'))
const walkstate = breaking(() => import('../../../src/engine/list/walkstate.js'))
const slowpath = breaking(() => import('../../../src/engine/model/flatten/slowpath.js'))
const rowsettings = breaking(() => import('../../../src/engine/model/rowsettings.js'))
const absence = breaking(() => import('../../../src/engine/run/absence.js'))
const answerbyid = breaking(() => import('../../../src/engine/run/answerbyid.js'))
const askauthorizations = breaking(() => import('../../../src/engine/run/askauthorizations.js'))
const authorizations = breaking(() => import('../../../src/engine/run/authorizations.js'))
const byid = breaking(() => import('../../../src/engine/run/byid.js'))
const cursorwalk = breaking(() => import('../../../src/engine/run/cursorwalk.js'))
const deletionguard = breaking(() => import('../../../src/engine/run/deletionguard.js'))
const ending = breaking(() => import('../../../src/engine/run/ending.js'))
const isolate = breaking(() => import('../../../src/engine/run/isolate.js'))
const lateness = breaking(() => import('../../../src/engine/run/lateness.js'))
const nameslist = breaking(() => import('../../../src/engine/run/nameslist.js'))
const prunehistory = breaking(() => import('../../../src/engine/run/prunehistory.js'))
const retryhole = breaking(() => import('../../../src/engine/run/retryhole.js'))
const runend = breaking(() => import('../../../src/engine/run/runend.js'))
const sourceregression = breaking(() => import('../../../src/engine/run/sourceregression.js'))
const stampsahead = breaking(() => import('../../../src/engine/run/stampsahead.js'))
const tombstone = breaking(() => import('../../../src/engine/run/tombstone.js'))
const wholelists = breaking(() => import('../../../src/engine/run/wholelists.js'))
const longnumbers = breaking(() => import('../../../src/engine/source/http/longnumbers.js'))
const transport = breaking(() => import('../../../src/engine/source/http/transport.js'))
const wait = breaking(() => import('../../../src/engine/source/rate/wait.js'))
const classify = breaking(() => import('../../../src/engine/warehouse/classify.js'))
const fence = breaking(() => import('../../../src/engine/warehouse/fence.js'))
const interference = breaking(() => import('../../../src/engine/warehouse/interference.js'))
const layout = breaking(() => import('../../../src/engine/warehouse/layout.js'))
const learnedrules = breaking(() => import('../../../src/engine/warehouse/learnedrules.js'))
const leaserows = breaking(() => import('../../../src/engine/warehouse/leaserows.js'))
const oneconfiguration = breaking(() => import('../../../src/engine/warehouse/oneconfiguration.js'))
const openwarehouse = breaking(() => import('../../../src/engine/warehouse/openwarehouse.js'))
const connection = breaking(() => import('../../../src/engine/warehouse/postgres/connection.js'))
const connectionpool = breaking(() => import('../../../src/engine/warehouse/postgres/connectionpool.js'))
const drivererrors = breaking(() => import('../../../src/engine/warehouse/postgres/drivererrors.js'))
const postgresErase = breaking(() => import('../../../src/engine/warehouse/postgres/erase.js'))
const sessiontime = breaking(() => import('../../../src/engine/warehouse/postgres/sessiontime.js'))
const sourceidentity = breaking(() => import('../../../src/engine/warehouse/sourceidentity.js'))
const sqliteErrors = breaking(() => import('../../../src/engine/warehouse/sqlite/drivererrors.js'))
const erase = breaking(() => import('../../../src/engine/warehouse/sqlite/erase.js'))
const namedfile = breaking(() => import('../../../src/engine/warehouse/sqlite/namedfile.js'))
const viewstore = breaking(() => import('../../../src/engine/warehouse/sqlite/viewstore.js'))
const tenants = breaking(() => import('../../../src/engine/warehouse/tenants.js'))
const trackedcolumns = breaking(() => import('../../../src/engine/warehouse/trackedcolumns.js'))
const zones = breaking(() => import('../../../src/features/analytics/zones.js'))
const probe = breaking(() => import('../../../src/features/check/probe.js'))
const dryrun = breaking(() => import('../../../src/features/reconcile/dryrun.js'))
const restinglists = breaking(() => import('../../../src/features/targets/restinglists.js'))
const commandcontext = breaking(() => import('../../../src/shell/commandcontext.js'))
const output = breaking(() => import('../../../src/shell/output.js'))
const replaced = breaking(() => import('../../../src/shell/replaced.js'))
const stayup = breaking(() => import('../../../src/shell/stayup.js'))

/** As thrown by code that knows nothing of error classes. */
const unclassed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export const premises = mutants([
  [
    'what was committed stays',
    "doesn't check what its commits rest on",
    fence.function('checkFence', () => async () => {}),
    'test/laws/wentback.test.ts: a lease of before means that the warehouse went back',
  ],
  [
    'what was committed stays',
    "doesn't notice that the database is another one",
    fence.function(
      'checkFence',
      (sound) => (dialect, session, given) =>
        sound({ ...dialect, server: sql<string>`${given?.server ?? ''}` }, session, given),
    ),
    'test/laws/wentback.test.ts: a database that a copy of earlier in the same run has replaced',
  ],
  [
    'what was committed stays',
    'lets programs that stay up go on with what they remember of another database',
    fence.function('isEarlier', () => () => false),
    'test/features/listen/reopening.test.ts: listen goes on with a database of before',
  ],
  [
    'what was committed stays',
    "doesn't notice that tables were dropped and made again from a dump",
    fence.function('checkFence', () => async () => {}),
    'test/laws/wentback.test.ts: so does a backup of before the run',
    'postgres',
  ],
  [
    'the file of the warehouse is the one that is open',
    'makes a new warehouse of an empty file in its place',
    stayup.method(
      'Opening',
      'warehouse',
      (sound) =>
        function () {
          return sound.call(Object.defineProperty(Object.create(this), 'isFirst', { value: true }))
        },
    ),
    'test/features/listen/reopening.test.ts: is refused by',
  ],
  [
    'the file of the warehouse is the one that is open',
    "doesn't look at the file",
    namedfile.method('NamedFile', 'isGone', () => () => false),
    'test/laws/wentback.test.ts: the file is replaced by',
  ],
  [
    'the file of the warehouse is the one that is open',
    'lets programs that stay up go on without their file',
    replaced.method('ReplacementWatch', 'isReplaced', () => async () => false),
    'test/features/listen/reopening.test.ts: goes on with a restored backup',
  ],
  [
    'stamps are on record before rows have them',
    'follows a clock that jumps',
    clock.method('Stamps', 'hold', () => () => {}),
    'test/laws/lease.test.ts: stamps of a killed holder whose clock is off by',
  ],
  [
    'stamps are on record before rows have them',
    'leaves stamps behind a clock that leaped until the next heartbeat',
    clock.method(
      'Stamps',
      'hold',
      (sound) =>
        function (until) {
          return sound.call(this, until)
        },
    ),
    'test/laws/lease.test.ts: stamps follow a clock that leaps',
  ],
  [
    '`updated_at` is in the past',
    'trusts the newest updated_at of a response, whatever the clocks show',
    clocks.function(
      'ceilingOf',
      (sound) =>
        ({ observed }) =>
          sound({ observed }),
    ),
    'test/engine/run/stamps.test.ts: one record dated 2099 hides no later change',
    'daily',
  ],
  [
    '`updated_at` is after 1970',
    'requests whole lists from 1970 on',
    wholelists.method('Beginning', 'ask', () => (send) => send('1970-01-01T00:00:00Z')),
    'test/engine/run/beginning.test.ts: a first load fetches them',
    'daily',
  ],
  [
    'a stored watermark is correct',
    'walks from the stored watermark, whatever the clocks show',
    stampsahead.function('believedWatermark', () => async (_cursor, stored) => stored),
    'test/engine/run/stamps.test.ts: a stored watermark ahead of both clocks is void',
    'daily',
  ],
  [
    'records become visible within the overlap',
    "leaves the walk's own late records out of complete_through",
    lateness.function('completeThrough', (sound) => (began, known) => sound(began, known)),
    'test/engine/run/lateness.test.ts: a record that comes late is measured',
    'daily',
  ],
  [
    'no late record in a zone of more than a page',
    'reads the late zone again in every walk',
    books.getter('Book', 'needsZone', () => () => true),
    'test/engine/run/cost.test.ts: changed records cost',
  ],
  [
    'the list of authorizations keeps its order',
    'treats a tenant that is missing from a short list as revoked',
    authorizations.function('saysWhoIsGranted', () => () => true),
    'test/engine/run/grants.test.ts: authorizations in a changing order revoke nobody',
    'daily',
  ],
  [
    "a tenant doesn't answer 404",
    "doesn't know which resources have ever answered",
    absence.function(
      'explainAbsence',
      (sound) =>
        ({ tenant, resource }, error) =>
          sound({ tenant, resource, state: undefined }, error),
    ),
    'test/engine/run/grants.test.ts: a resource that answered once and now returns 404 has failed',
    'daily',
  ],
  [
    'at least one tenant has granted access',
    'accepts that nothing is granted',
    askauthorizations.function('firstAuthorizations', (sound) => async (ask) => ({
      ...(await sound(ask)),
      reason: null,
    })),
    'test/engine/run/grants.test.ts: without any grants, the run fails until',
    'daily',
  ],
  [
    'someone notices problems',
    'prints nothing with --quiet, not even what needs attention',
    output.method('Output', 'complain', () => () => {}),
    'test/transcripts/transcripts.test.ts: test/transcripts/sync.txt',
  ],
  [
    'commands that only read create nothing',
    'opens a warehouse for reading as if for writing',
    commandcontext.method(
      'OpenContext',
      'readingWarehouse',
      () =>
        function () {
          return this.warehouse()
        },
    ),
    'test/transcripts/transcripts.test.ts: test/transcripts/nowhere.txt',
  ],
  [
    'values in quarantine are counted once',
    'counts what goes to quarantine again for every request',
    runend.function('withQuarantine', () => async (_context, end) => end),
    'test/features/quarantine/quarantine.test.ts: counts a value once, however many requests have shown it',
    'daily',
  ],
  [
    'this warehouse belongs to this source',
    'continues although the warehouse belongs to another source',
    sourceidentity.function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    'test/engine/run/sourceidentity.test.ts: belongs to the source of its first run',
    'daily',
  ],
  [
    "the source's behavior doesn't change",
    'never notices that the source behaves differently',
    probe.function('changesBetween', () => () => []),
    'test/features/check/probe.test.ts: finds a list in a different order',
  ],
  [
    "the session's time zone is UTC (Postgres)",
    'works in any time zone',
    sessiontime.function('checkZone', () => () => {}),
    'test/engine/warehouse/sessiontime.test.ts: if a pooler drops what a transaction sets',
  ],
  [
    "a name means the server's own (Postgres)",
    'leaves the search path to the role and the database',
    connection.function('connecting', (sound) => (...given) => {
      const { config, ...more } = sound(...given)
      return { config: { ...config, options: '-c DateStyle=ISO' }, ...more }
    }),
    'test/laws/strangernames.test.ts: is called by no command and no view, through',
  ],
  [
    "a name means the server's own (Postgres)",
    'sends statements that need no transaction without one, behind a pooler too',
    connectionpool.function('settledPool', (sound) => (of) => sound(of, false)),
    'test/laws/strangernames.test.ts: is called by no command and no view, through',
  ],
  [
    'nobody without rights holds up a command (Postgres)',
    'fails where two make the same at the same moment, without a lock that others can take',
    drivererrors.function('isMadeMeanwhile', () => () => false),
    'test/engine/warehouse/deliveries.test.ts: that several make at the same moment is one, and one that is dropped while it is made is made again',
  ],
  [
    'a lease expires on time, whatever the clocks show',
    'believes every expiry, however far away',
    leaserows.function('isOver', () => (expiresAt, now) => expiresAt === null || expiresAt <= now),
    'test/laws/lease.test.ts: an expiry further away than a lease lasts',
  ],
  [
    "this machine's clock is right",
    'treats anything in the future as fresh',
    format.function(
      'isOlderThan',
      () => (timestamp, nowMicros, milliseconds) =>
        Number(nowMicros) / 1000 - Date.parse(timestamp) > milliseconds,
    ),
    'test/engine/run/wrongclock.test.ts: status calls stale what it cannot know the age of',
    'daily',
  ],
  [
    'responses end',
    'waits for the end of a response as long as bytes come',
    transport.method(
      'Transport',
      'get',
      (sound) =>
        function (...given) {
          const its = this as unknown as {
            options: ConstructorParameters<typeof Transport>[0]
          }
          its.options = { ...its.options, timeouts: { ...its.options.timeouts, request: 2 ** 30 } }
          return sound.apply(this, given)
        },
    ),
    'test/engine/source/faults.test.ts: a response that sends a byte now and then of',
  ],
  [
    'a table holds everything below its watermark',
    'reads no list completely for a missing table or column',
    layout.function('consequencesOf', (sound) => (...given) => ({ ...sound(...given), refills: new Map() })),
    'test/engine/warehouse/refill.test.ts: that was dropped is filled by the next run',
    'daily',
  ],
  [
    'columns follow the configuration',
    'reads no list again when a column left the configuration',
    trackedcolumns.function('trackedChanges', () => () => []),
    'test/engine/warehouse/forms.test.ts: a column is filled by reading its list again',
  ],
  [
    'columns follow the configuration',
    'knows no column that an earlier configuration left',
    trackedcolumns.function('leftColumns', () => () => ({})),
    'test/engine/warehouse/forms.test.ts: what no list shows keeps its form',
  ],
  [
    'one configuration shapes the rows',
    'writes on with an older configuration',
    oneconfiguration.method('RowSettings', 'check', () => () => {}),
    'test/engine/warehouse/lease.test.ts: an older process with other settings is refused',
    'daily',
  ],
  [
    'one configuration shapes the rows',
    'forgets which configuration it has stored',
    oneconfiguration.method('RowSettings', 'stored', () => () => {}),
    'test/engine/warehouse/lease.test.ts: is not brought back by a process that has changed it',
    'daily',
  ],
  [
    'one configuration shapes the rows',
    "doesn't compare the settings of features",
    rowsettings.function('rowSettingsText', (sound) => (model) => sound(model, {})),
    'test/engine/model/rowsettings.test.ts: includes ',
  ],
  [
    'one configuration shapes the rows',
    'never reads the configuration again',
    stayup.function(
      'stayUp',
      (sound) => (invocation, work) =>
        sound(invocation, (given, opening) =>
          work(given, opening).catch((error) => Promise.reject(new Error(String(error)))),
        ),
    ),
    'test/features/listen/oneconfiguration.test.ts: listen reads a changed configuration again',
  ],
  [
    'numbers are stored as sent',
    "doesn't notice numbers that a double rounds",
    longnumbers.function('mayRound', () => () => false),
    'test/engine/source/json.test.ts: detects every number with many digits',
    'daily',
  ],
  [
    'numbers are stored as sent',
    'uses the nearest double for a number, however far off it is',
    numbertoken.function('nearDouble', () => Number),
    'test/engine/run/numbers.test.ts: in columns of numbers and of text',
    'sqlite',
    'daily',
  ],
  [
    'a problem with one table affects no other',
    "can't tell an error of one table from other errors of Postgres",
    drivererrors.function('classify', () => unclassed),
    'test/engine/warehouse/trouble.test.ts: a unique index',
    'postgres',
  ],
  [
    'a problem with one table affects no other',
    "can't tell an error of one table from other errors of SQLite",
    sqliteErrors.function('classify', () => unclassed),
    'test/engine/warehouse/trouble.test.ts: a unique index',
    'sqlite',
  ],
  [
    'a problem with one table affects no other',
    "doesn't know which table the statement was about that the database refused",
    classify.function('ofStatement', () => (error) => error),
    'test/engine/warehouse/trouble.test.ts: a trigger that calls what is not there',
  ],
  [
    'the database stores rows as sent',
    "doesn't read back what it wrote to a table that has a trigger",
    interference.function('checkStored', () => async () => {}),
    'test/engine/warehouse/trouble.test.ts: a trigger that stamps rows',
  ],
  [
    'the database stores rows as sent',
    "doesn't look for what was added to a table that it can't write",
    interference.function('explained', () => async (error) => error),
    'test/engine/warehouse/trouble.test.ts: a trigger that leaves out a row',
  ],
  [
    'the database stores rows as sent',
    'believes that a row is marked as deleted because it said so',
    tombstone.function('checkMarked', () => async () => {}),
    'test/engine/warehouse/trouble.test.ts: a mark is undone',
  ],
  [
    'what is compared can be seen',
    "doesn't ask whether rows may be hidden",
    interference.method('InterferedTables', 'refuseHidden', () => async () => {}),
    'test/engine/warehouse/runrole.test.ts: compares nothing of which rows may be hidden',
    'postgres',
  ],
  [
    'a problem with one table affects no other',
    "lets a table that can't be changed end the run",
    interference.function('refusalOf', () => () => undefined),
    'test/engine/warehouse/keptback.test.ts: on a table whose trigger raises keeps back its lists alone',
  ],
  [
    'a problem with one table affects no other',
    'ends the run if the zones of the shops cannot be read',
    learnedrules.function('unreadableRules', () => (error) => {
      throw error
    }),
    'test/engine/warehouse/runrole.test.ts: fails only the lists that a policy that errs concerns',
    'postgres',
  ],
  [
    'a problem with one table affects no other',
    "doesn't know which table a migration was changing",
    classify.function('ofTable', () => (error) => error),
    'test/engine/warehouse/trouble.test.ts: a table that cannot be created',
    'postgres',
  ],
  [
    'the database can hold every value',
    'goes on with a database in any encoding',
    openwarehouse.function('refuseNarrow', () => async (warehouse) => warehouse),
    'test/engine/warehouse/trouble.test.ts: a database in another encoding than UTF8 is refused',
    'postgres',
  ],
  [
    'the database can hold every value',
    'sends keys of any length',
    slowpath.function('isKey', () => () => true),
    'test/engine/warehouse/trouble.test.ts: a key that is too long goes to quarantine before it is sent',
  ],
  [
    'Postgres responds',
    'waits forever on a connection that has gone silent',
    connectionpool.function(
      'endSilentConnections',
      (sound) => (pool, options) => sound(pool, options, 2 ** 30),
    ),
    'test/engine/warehouse/silence.test.ts: a silent connection is given up',
  ],
  [
    'a run may end before its work is done',
    'treats the end of the time limit as a signal',
    ending.function('endingOf', (sound) => (signal) => sound(signal) && 'interrupted'),
    'test/engine/run/timelimit.test.ts: ends cleanly',
  ],
  [
    'waits are bounded',
    "doesn't report that it was told to wait too long",
    wait.function('tooLong', (sound) => (...given) => {
      const skip = sound(...given)
      return Object.assign(skip, { details: { ...skip.details, code: undefined } })
    }),
    'test/engine/run/wait.test.ts: ends only the cursor that was told to wait',
  ],
  [
    'erased data leaves no trace',
    'leaves deleted rows in the SQLite file, and reports that nothing is left',
    erase.function('withoutTraces', () => () => ({ left: null, elsewhere: 'nowhere' })),
    'test/features/why/traces.test.ts: leaves no trace of an erased name',
    'sqlite',
  ],
  [
    'erased data leaves no trace',
    'leaves dead versions in the tables of Postgres, and reports that nothing is left',
    postgresErase.function('vacuum', () => async () => ({ left: null, elsewhere: 'nowhere' })),
    'test/features/why/traces.test.ts: removes the dead versions from the tables',
    'postgres',
  ],
  [
    'erased data leaves no trace',
    "keeps the planner's statistics of a table that is empty afterwards",
    postgresErase.function('clearStatistics', () => async () => undefined),
    'test/features/why/traces.test.ts: leaves no value in the statistics of a table that is empty afterwards',
    'postgres',
  ],
  [
    'forgotten tenants stay away',
    "doesn't know who was forgotten",
    tenants.function('readForgotten', () => async () => new Set()),
    'test/features/forget/tenant.test.ts: runs of every kind leave it out, and status counts it',
    'daily',
  ],
  [
    'the list is newest first',
    'treats every list as newest first',
    observed.function('isOutOfOrder', () => () => false),
    'test/engine/run/oddlists.test.ts: a list that is not newest first',
    'daily',
  ],
  [
    'every record is listed once',
    'takes the second position of a record for that of another one, forever',
    evidence.function('judgeReading', (sound) => (...given) => {
      const outcome = sound(...given)
      const isTwice = outcome.reason === 'listed_twice'
      return isTwice ? { ...outcome, verdict: 'unproven', reason: 'totals_disagree' } : outcome
    }),
    'test/engine/run/oddlists.test.ts: at two times: a second reading settles it',
    'daily',
  ],
  [
    'every record that is counted is shown',
    'forgets how often it has searched for records that are counted but never shown',
    memory.function('recalled', (sound) => (...given) => {
      const { outcome, memory: whole } = sound(...given)
      const { surplus: _, ...rest } = whole
      return { outcome, memory: rest }
    }),
    'test/engine/run/oddlists.test.ts: is searched for once; then runs cost',
    'daily',
  ],
  [
    'totals are correct',
    'reads nothing beyond the end that the total gives',
    closebooks.function('lookPast', () => async () => undefined),
    'test/engine/run/totals.test.ts: a total that ends at 300',
    'daily',
  ],
  [
    'a page shorter than requested is the last',
    'takes a page that is shorter than requested for the last one',
    pagesize.method(
      'PageSize',
      'isFull',
      () =>
        ({ records }, perPage) =>
          records >= perPage,
    ),
    'test/engine/run/paging.test.ts: a page shorter than asked is not the last',
    'daily',
  ],
  [
    '`total_pages` is correct',
    'ignores the page that exists according to total_pages',
    pagesize.method(
      'PageSize',
      'isFull',
      (sound) =>
        function ({ goesOn: _, ...page }, perPage) {
          return sound.call(this, page, perPage)
        },
    ),
    'test/engine/run/paging.test.ts: where it says that pages follow, a first load looks at the next',
    'daily',
  ],
  [
    'every page can be read',
    "gives up on a page that doesn't answer, with all its records",
    isolate.function('isolate', () => (_source, _request, failure) => Promise.reject(failure)),
    'test/engine/run/oddlists.test.ts: : all others are stored, it is retried with two requests',
    'daily',
  ],
  [
    'every page can be read',
    'forgets that the list has to be read behind a page that answers again, if the walk is killed',
    retryhole.function('retryHole', (sound) => async (...given) => {
      const retried = await sound(...given)
      return { ...retried, toStore: retried.memory }
    }),
    'test/engine/run/oddlists.test.ts: within the overlap: the list is not read again for it',
    'daily',
  ],
  [
    'pages of every size can be read',
    'forgets the size of pages that arrive, so each run tries the larger ones again and again',
    retryhole.function('withReadable', () => () => undefined),
    'test/engine/run/paging.test.ts: : the size is learned once, and costs nothing from then on',
    'daily',
  ],
  [
    'pages of every size can be read',
    'never tries a larger page again',
    retryhole.function('tryLarger', () => (_list, memory) => Promise.resolve(memory)),
    'test/engine/run/paging.test.ts: a larger size is tried once a day',
    'daily',
  ],
  [
    'every record that is counted is shown',
    'believes a list that hides half of its records once it was searched twice',
    verdict.function(
      'isSettledAsHidden',
      () =>
        ({ searches }) =>
          searches >= 2,
    ),
    'test/engine/run/oddlists.test.ts: because every page behind the first is empty',
    'daily',
  ],
  [
    'a stored watermark is correct',
    'takes the floor of a first load for a watermark',
    walkstate.function('ceilingReached', () => (ceiling) => ceiling),
    'test/engine/run/oddlists.test.ts: that is the only one leaves no watermark',
    'daily',
  ],
  [
    "a tenant doesn't answer 404",
    "never takes a list's rest for over",
    restinglists.function(
      'restingLists',
      (sound) => (warehouse, nowMs, waits) =>
        sound(warehouse, nowMs, { ...waits, atLeast: Number.POSITIVE_INFINITY }),
    ),
    'test/features/targets/rounds.test.ts: a list that is not offered is requested once per polling.atLeast',
  ],
  [
    'versions never go back',
    "doesn't follow a source that was restored from a backup",
    sourceregression.function('askForRegressions', (sound) => async (...given) => ({
      ...(await sound(...given)),
      older: [],
    })),
    'test/features/reconcile/wentback.test.ts: is followed, of',
    'daily',
  ],
  [
    'verify compares only what is claimed',
    "counts what came after a cursor's claim as a difference",
    dryrun.method(
      'DryRun',
      'counts',
      (sound) =>
        async function (...given) {
          const { newer, ...tally } = await sound.call(this, ...given)
          return { ...tally, missing: tally.missing + newer, newer: 0 }
        },
    ),
    'test/features/reconcile/verify.test.ts: a version above complete_through is newer',
  ],
  [
    'a backfill claims only what it read',
    'calls a list of names complete that it has not read',
    nameslist.method(
      'NamesSync',
      'run',
      () =>
        async function () {
          return { ...this.progress, outcome: wholeOutcome(0) }
        },
    ),
    'test/features/backfill/backfill.test.ts: reads a list of names whole',
    'daily',
  ],
  [
    'a backfill claims only what it read',
    'calls a range complete without comparing with its count',
    range.method(
      'RangeWalk',
      'run',
      (sound) =>
        async function () {
          const outcome = await sound.call(this)
          return judged({ basis: { by: 'page', missing: 0 } }, outcome)
        },
    ),
    'test/features/backfill/backfill.test.ts: 349 of 350 records',
    'daily',
  ],
  [
    'mass deletions are an error',
    'believes any number of deletions',
    deletionguard.method('DeletionGuard', 'trips', () => () => false),
    'test/features/reconcile/oddlists.test.ts: tells the way out; reconcile --accept-deletes takes it',
    'daily',
  ],
  [
    'every record can be stored',
    'reports nothing about records that could not be stored',
    cursorwalk.method(
      'CursorWalk',
      'run',
      (sound) =>
        async function () {
          return { ...(await sound.call(this)), unstorable: 0 }
        },
    ),
    'test/features/quarantine/quarantine.test.ts: a record that could not be stored fails only the runs that see it',
    'daily',
  ],
  [
    'by id, the source answers with the record or says that it is gone',
    "doesn't look at the id of an answer, or whether it is a record",
    answerbyid.function('otherThan', () => () => undefined),
    'test/features/reconcile/byid.test.ts: for one record leaves its row, and the others are marked deleted',
    'daily',
  ],
  [
    'by id, the source answers with the record or says that it is gone',
    'ends the cursor at the first refusal',
    answerbyid.function('answerOfFailure', () => (error) => {
      throw error
    }),
    'test/features/reconcile/byid.test.ts: for every id: the second list decides',
    'daily',
  ],
  [
    'by id, the source answers with the record or says that it is gone',
    "forgets that the source doesn't answer by id",
    byid.function('byIdOf', () => (cursor, list) => readingById(cursor, list)),
    'test/features/reconcile/byid.test.ts: for every id: the second list decides',
    'daily',
  ],
  [
    "days follow the shop's time zone",
    'ignores the configured time zone',
    zones.function(
      'refreshZones',
      (sound) => (warehouse, model, settings) => sound(warehouse, model, { ...settings, shopTimeZones: {} }),
    ),
    'test/features/analytics/days.test.ts: a shop has the configured zone',
  ],
  [
    'views belong to shopsync',
    "doesn't check what is in the place of a view",
    viewstore.function('viewStore', (sound) => (...given) => ({
      ...sound(...given),
      live: async () => new Map(),
    })),
    'test/features/analytics/makeviews.test.ts: view of the same name alone, and report it',
    'sqlite',
  ],
  [
    'old history is removed',
    'removes nothing of the history of runs',
    prunehistory.function('pruneHistory', () => async () => {}),
    'test/engine/run/history.test.ts: runs, cursors and requests older than history.keep',
  ],
])
