/** What the program does if a premise of docs/guarantees.md breaks: one function of it is broken at a time. */

import { sql } from 'kysely'
import type * as clock from '../../../src/engine/base/clock.js'
import type * as format from '../../../src/engine/base/format.js'
import type * as numbertoken from '../../../src/engine/base/numbertoken.js'
import type * as books from '../../../src/engine/list/books.js'
import type * as clocks from '../../../src/engine/list/clocks.js'
import type * as overrun from '../../../src/engine/list/closebooks.js'
import type * as evidence from '../../../src/engine/list/evidence.js'
import type * as memory from '../../../src/engine/list/memory.js'
import type * as order from '../../../src/engine/list/observed.js'
import type * as pagesize from '../../../src/engine/list/pagesize.js'
import type * as range from '../../../src/engine/list/range.js'
import type * as verdicts from '../../../src/engine/list/verdict.js'
import { judged } from '../../../src/engine/list/verdict.js'
import type * as walkstate from '../../../src/engine/list/walkstate.js'
import type * as slowpath from '../../../src/engine/model/flatten/slowpath.js'
import type * as rowsettings from '../../../src/engine/model/rowsettings.js'
import type * as absence from '../../../src/engine/run/absence.js'
import type * as answers from '../../../src/engine/run/answerbyid.js'
import type * as grants from '../../../src/engine/run/askauthorizations.js'
import type * as authorizations from '../../../src/engine/run/authorizations.js'
import type * as byid from '../../../src/engine/run/byid.js'
import { readingById } from '../../../src/engine/run/byid.js'
import type * as incremental from '../../../src/engine/run/cursorwalk.js'
import { wholeOutcome } from '../../../src/engine/run/cursorwork.js'
import type * as breaker from '../../../src/engine/run/deletionguard.js'
import type * as ending from '../../../src/engine/run/ending.js'
import type * as isolate from '../../../src/engine/run/isolate.js'
import type * as lateness from '../../../src/engine/run/lateness.js'
import type * as names from '../../../src/engine/run/nameslist.js'
import type * as prune from '../../../src/engine/run/prunehistory.js'
import type * as retryhole from '../../../src/engine/run/retryhole.js'
import type * as runend from '../../../src/engine/run/runend.js'
import type * as wentback from '../../../src/engine/run/sourceregression.js'
import type * as stamps from '../../../src/engine/run/stampsahead.js'
import type * as tombstone from '../../../src/engine/run/tombstone.js'
import type * as beginning from '../../../src/engine/run/wholelists.js'
import type * as longnumbers from '../../../src/engine/source/http/longnumbers.js'
import type * as transport from '../../../src/engine/source/http/transport.js'
import type * as wait from '../../../src/engine/source/rate/wait.js'
import type * as classify from '../../../src/engine/warehouse/classify.js'
import type * as fence from '../../../src/engine/warehouse/fence.js'
import type * as interference from '../../../src/engine/warehouse/interference.js'
import type * as layout from '../../../src/engine/warehouse/layout.js'
import type * as learnedrules from '../../../src/engine/warehouse/learnedrules.js'
import type * as lease from '../../../src/engine/warehouse/leaserows.js'
import type * as oneconfiguration from '../../../src/engine/warehouse/oneconfiguration.js'
import type * as openwarehouse from '../../../src/engine/warehouse/openwarehouse.js'
import type * as connection from '../../../src/engine/warehouse/postgres/connection.js'
import type * as connectionpool from '../../../src/engine/warehouse/postgres/connectionpool.js'
import type * as drivererrors from '../../../src/engine/warehouse/postgres/drivererrors.js'
import type * as postgreserrors from '../../../src/engine/warehouse/postgres/drivererrors.js'
import type * as postgreserase from '../../../src/engine/warehouse/postgres/erase.js'
import type * as sessiontime from '../../../src/engine/warehouse/postgres/sessiontime.js'
import type * as belonging from '../../../src/engine/warehouse/sourceidentity.js'
import type * as sqliteerrors from '../../../src/engine/warehouse/sqlite/drivererrors.js'
import type * as sqliteerase from '../../../src/engine/warehouse/sqlite/erase.js'
import type * as namedfile from '../../../src/engine/warehouse/sqlite/namedfile.js'
import type * as viewstore from '../../../src/engine/warehouse/sqlite/viewstore.js'
import type * as tenants from '../../../src/engine/warehouse/tenants.js'
import type * as columns from '../../../src/engine/warehouse/trackedcolumns.js'
import type * as zones from '../../../src/features/analytics/zones.js'
import type * as probe from '../../../src/features/check/probe.js'
import type * as dryrun from '../../../src/features/reconcile/dryrun.js'
import type * as resting from '../../../src/features/targets/restinglists.js'
import type * as context from '../../../src/shell/commandcontext.js'
import type * as output from '../../../src/shell/output.js'
import type * as replaced from '../../../src/shell/replaced.js'
import type * as stayup from '../../../src/shell/stayup.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const byIdTest = 'test/features/reconcile/byid.test.ts'
const oddlists = 'test/engine/run/oddlists.test.ts'
const grantsTest = 'test/engine/run/grants.test.ts'

/** As thrown by code that knows nothing of error classes. */
const unclassed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export const premises: readonly Promised[] = [
  {
    promise: 'what was committed stays',
    broken: "doesn't check what its commits rest on",
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'checkFence',
      () => async () => {},
    ),
    test: 'test/laws/wentback.test.ts',
    name: 'a lease of before means that the warehouse went back',
    on: both,
  },
  {
    promise: 'what was committed stays',
    broken: "doesn't notice that the database is another one",
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'checkFence',
      (sound) => (dialect, session, given) =>
        sound({ ...dialect, server: sql<string>`${given?.server ?? ''}` }, session, given),
    ),
    test: 'test/laws/wentback.test.ts',
    name: 'a database that a copy of earlier in the same run has replaced',
    on: [],
  },
  {
    promise: 'what was committed stays',
    broken: 'lets programs that stay up go on with what they remember of another database',
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'isEarlier',
      () => () => false,
    ),
    test: 'test/features/listen/reopening.test.ts',
    name: 'listen goes on with a database of before',
    on: both,
  },
  {
    promise: 'what was committed stays',
    broken: "doesn't notice that tables were dropped and made again from a dump",
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'checkFence',
      () => async () => {},
    ),
    test: 'test/laws/wentback.test.ts',
    name: 'so does a backup of before the run',
    on: ['postgres'],
  },
  {
    promise: 'the file of the warehouse is the one that is open',
    broken: 'makes a new warehouse of an empty file in its place',
    breakage: breaking<typeof stayup>('src/shell/stayup.ts').method(
      'Opening',
      'warehouse',
      (sound) =>
        function () {
          return sound.call(Object.defineProperty(Object.create(this), 'isFirst', { value: true }))
        },
    ),
    test: 'test/features/listen/reopening.test.ts',
    name: 'is refused by',
    on: [],
  },
  {
    promise: 'the file of the warehouse is the one that is open',
    broken: "doesn't look at the file",
    breakage: breaking<typeof namedfile>('src/engine/warehouse/sqlite/namedfile.ts').method(
      'NamedFile',
      'isGone',
      () => () => false,
    ),
    test: 'test/laws/wentback.test.ts',
    name: 'the file is replaced by',
    on: [],
  },
  {
    promise: 'the file of the warehouse is the one that is open',
    broken: 'lets programs that stay up go on without their file',
    breakage: breaking<typeof replaced>('src/shell/replaced.ts').method(
      'ReplacementWatch',
      'isReplaced',
      () => async () => false,
    ),
    test: 'test/features/listen/reopening.test.ts',
    name: 'goes on with a restored backup',
    on: [],
  },
  {
    promise: 'stamps are on record before rows have them',
    broken: 'follows a clock that jumps',
    breakage: breaking<typeof clock>('src/engine/base/clock.ts').method('Stamps', 'hold', () => () => {}),
    test: 'test/laws/lease.test.ts',
    name: 'stamps of a killed holder whose clock is off by',
    on: both,
  },
  {
    promise: 'stamps are on record before rows have them',
    broken: 'leaves stamps behind a clock that leaped until the next heartbeat',
    breakage: breaking<typeof clock>('src/engine/base/clock.ts').method(
      'Stamps',
      'hold',
      (sound) =>
        function (until) {
          return sound.call(this, until)
        },
    ),
    test: 'test/laws/lease.test.ts',
    name: 'stamps follow a clock that leaps',
    on: both,
  },
  {
    promise: '`updated_at` is in the past',
    broken: 'trusts the newest updated_at of a response, whatever the clocks show',
    breakage: breaking<typeof clocks>('src/engine/list/clocks.ts').function(
      'ceilingOf',
      (sound) =>
        ({ observed }) =>
          sound({ observed }),
    ),
    test: 'test/engine/run/stamps.test.ts',
    name: 'one record dated 2099 hides no later change',
    on: both,
  },
  {
    promise: '`updated_at` is after 1970',
    broken: 'requests whole lists from 1970 on',
    breakage: breaking<typeof beginning>('src/engine/run/wholelists.ts').method(
      'Beginning',
      'ask',
      () => (send) => send('1970-01-01T00:00:00Z'),
    ),
    test: 'test/engine/run/beginning.test.ts',
    name: 'a first load fetches them',
    on: both,
  },
  {
    promise: 'a stored watermark is correct',
    broken: 'walks from the stored watermark, whatever the clocks show',
    breakage: breaking<typeof stamps>('src/engine/run/stampsahead.ts').function(
      'believedWatermark',
      () => async (_cursor, stored) => stored,
    ),
    test: 'test/engine/run/stamps.test.ts',
    name: 'a stored watermark ahead of both clocks is void',
    on: both,
  },
  {
    promise: 'records become visible within the overlap',
    broken: "leaves the walk's own late records out of complete_through",
    breakage: breaking<typeof lateness>('src/engine/run/lateness.ts').function(
      'completeThrough',
      (sound) => (began, known) => sound(began, known),
    ),
    test: 'test/engine/run/lateness.test.ts',
    name: 'a record that comes late is measured',
    on: both,
  },
  {
    promise: 'no late record in a zone of more than a page',
    broken: 'reads the late zone again in every walk',
    breakage: breaking<typeof books>('src/engine/list/books.ts').getter(
      'Book',
      'needsZone',
      () => () => true,
    ),
    test: 'test/engine/run/cost.test.ts',
    name: 'changed records cost',
    on: both,
  },
  {
    promise: 'the list of authorizations keeps its order',
    broken: 'treats a tenant that is missing from a short list as revoked',
    breakage: breaking<typeof authorizations>('src/engine/run/authorizations.ts').function(
      'saysWhoIsGranted',
      () => () => true,
    ),
    test: grantsTest,
    name: 'authorizations in a changing order revoke nobody',
    on: both,
  },
  {
    promise: "a tenant doesn't answer 404",
    broken: "doesn't know which resources have ever answered",
    breakage: breaking<typeof absence>('src/engine/run/absence.ts').function(
      'explainAbsence',
      (sound) =>
        ({ tenant, resource }, error) =>
          sound({ tenant, resource, state: undefined }, error),
    ),
    test: grantsTest,
    name: 'a resource that answered once and now returns 404 has failed',
    on: both,
  },
  {
    promise: 'at least one tenant has granted access',
    broken: 'accepts that nothing is granted',
    breakage: breaking<typeof grants>('src/engine/run/askauthorizations.ts').function(
      'firstAuthorizations',
      (sound) => async (ask) => ({ ...(await sound(ask)), reason: null }),
    ),
    test: grantsTest,
    name: 'without any grants, the run fails until',
    on: both,
  },
  {
    promise: 'someone notices problems',
    broken: 'prints nothing with --quiet, not even what needs attention',
    breakage: breaking<typeof output>('src/shell/output.ts').method('Output', 'complain', () => () => {}),
    test: 'test/shell/quiet.test.ts',
    name: 'that fails in a cursor says so in a line',
    on: [],
  },
  {
    promise: 'commands that only read create nothing',
    broken: 'opens a warehouse for reading as if for writing',
    breakage: breaking<typeof context>('src/shell/commandcontext.ts').method(
      'OpenContext',
      'readingWarehouse',
      () =>
        function () {
          return this.warehouse()
        },
    ),
    test: 'test/shell/nowhere.test.ts',
    name: 'exit code',
    on: ['sqlite'],
  },
  {
    promise: 'values in quarantine are counted once',
    broken: 'counts what goes to quarantine again for every request',
    breakage: breaking<typeof runend>('src/engine/run/runend.ts').function(
      'withQuarantine',
      () => async (_context, end) => end,
    ),
    test: 'test/features/quarantine/quarantine.test.ts',
    name: 'counts a value once, however many requests have shown it',
    on: both,
  },
  {
    promise: 'this warehouse belongs to this source',
    broken: 'continues although the warehouse belongs to another source',
    breakage: breaking<typeof belonging>('src/engine/warehouse/sourceidentity.ts').function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    test: 'test/engine/run/sourceidentity.test.ts',
    name: 'belongs to the source of its first run',
    on: both,
  },
  {
    promise: "the source's behavior doesn't change",
    broken: 'never notices that the source behaves differently',
    breakage: breaking<typeof probe>('src/features/check/probe.ts').function(
      'changesBetween',
      () => () => [],
    ),
    test: 'test/features/check/probe.test.ts',
    name: 'finds a list in a different order',
    on: [],
  },
  {
    promise: "the session's time zone is UTC (Postgres)",
    broken: 'works in any time zone',
    breakage: breaking<typeof sessiontime>('src/engine/warehouse/postgres/sessiontime.ts').function(
      'checkZone',
      () => () => {},
    ),
    test: 'test/engine/warehouse/sessiontime.test.ts',
    name: 'if a pooler drops what a transaction sets',
    on: [],
  },
  {
    promise: "a name means the server's own (Postgres)",
    broken: 'leaves the search path to the role and the database',
    breakage: breaking<typeof connection>('src/engine/warehouse/postgres/connection.ts').function(
      'connecting',
      (sound) =>
        (...given) => {
          const { config, ...more } = sound(...given)
          return { config: { ...config, options: '-c DateStyle=ISO' }, ...more }
        },
    ),
    test: 'test/laws/strangernames.test.ts',
    name: 'is called by no command and no view, through',
    on: [],
  },
  {
    promise: "a name means the server's own (Postgres)",
    broken: 'sends statements that need no transaction without one, behind a pooler too',
    breakage: breaking<typeof connectionpool>('src/engine/warehouse/postgres/connectionpool.ts').function(
      'settledPool',
      (sound) => (of) => sound(of, false),
    ),
    test: 'test/laws/strangernames.test.ts',
    name: 'is called by no command and no view, through',
    on: [],
  },
  {
    promise: 'nobody without rights holds up a command (Postgres)',
    broken: 'fails where two make the same at the same moment, without a lock that others can take',
    breakage: breaking<typeof drivererrors>('src/engine/warehouse/postgres/drivererrors.ts').function(
      'isMadeMeanwhile',
      () => () => false,
    ),
    test: 'test/engine/warehouse/deliveries.test.ts',
    name: 'that several make at the same moment is one, and one that is dropped while it is made is made again',
    on: [],
  },
  {
    promise: 'a lease expires on time, whatever the clocks show',
    broken: 'believes every expiry, however far away',
    breakage: breaking<typeof lease>('src/engine/warehouse/leaserows.ts').function(
      'isOver',
      () => (expiresAt, now) => expiresAt === null || expiresAt <= now,
    ),
    test: 'test/laws/lease.test.ts',
    name: 'an expiry further away than a lease lasts',
    on: both,
  },
  {
    promise: "this machine's clock is right",
    broken: 'treats anything in the future as fresh',
    breakage: breaking<typeof format>('src/engine/base/format.ts').function(
      'isOlderThan',
      () => (timestamp, nowMicros, milliseconds) =>
        Number(nowMicros) / 1000 - Date.parse(timestamp) > milliseconds,
    ),
    test: 'test/engine/run/wrongclock.test.ts',
    name: 'status calls stale what it cannot know the age of',
    on: both,
  },
  {
    promise: 'responses end',
    broken: 'waits for the end of a response as long as bytes come',
    breakage: breaking<typeof transport>('src/engine/source/http/transport.ts').method(
      'Transport',
      'get',
      (sound) =>
        function (...given) {
          const its = this as unknown as {
            options: ConstructorParameters<typeof transport.Transport>[0]
          }
          its.options = { ...its.options, timeouts: { ...its.options.timeouts, request: 2 ** 30 } }
          return sound.apply(this, given)
        },
    ),
    test: 'test/engine/source/faults.test.ts',
    name: 'a response that sends a byte now and then of',
    on: [],
  },
  {
    promise: 'a table holds everything below its watermark',
    broken: 'reads no list completely for a missing table or column',
    breakage: breaking<typeof layout>('src/engine/warehouse/layout.ts').function(
      'consequencesOf',
      (sound) =>
        (...given) => ({ ...sound(...given), refills: new Map() }),
    ),
    test: 'test/engine/warehouse/refill.test.ts',
    name: 'that was dropped is filled by the next run',
    on: both,
  },
  {
    promise: 'columns follow the configuration',
    broken: 'reads no list again when a column left the configuration',
    breakage: breaking<typeof columns>('src/engine/warehouse/trackedcolumns.ts').function(
      'trackedChanges',
      () => () => [],
    ),
    test: 'test/engine/warehouse/trackedcolumns.test.ts',
    name: 'promoting has the list read again',
    on: both,
  },
  {
    promise: 'columns follow the configuration',
    broken: 'knows no column that an earlier configuration left',
    breakage: breaking<typeof columns>('src/engine/warehouse/trackedcolumns.ts').function(
      'leftColumns',
      () => () => ({}),
    ),
    test: 'test/engine/warehouse/trackedcolumns.test.ts',
    name: 'what no list shows keeps its form',
    on: both,
  },
  {
    promise: 'one configuration shapes the rows',
    broken: 'writes on with an older configuration',
    breakage: breaking<typeof oneconfiguration>('src/engine/warehouse/oneconfiguration.ts').method(
      'RowSettings',
      'check',
      () => () => {},
    ),
    test: 'test/engine/warehouse/lease.test.ts',
    name: 'an older process with other settings is refused',
    on: both,
  },
  {
    promise: 'one configuration shapes the rows',
    broken: 'forgets which configuration it has stored',
    breakage: breaking<typeof oneconfiguration>('src/engine/warehouse/oneconfiguration.ts').method(
      'RowSettings',
      'stored',
      () => () => {},
    ),
    test: 'test/engine/warehouse/lease.test.ts',
    name: 'is not brought back by a process that has changed it',
    on: both,
  },
  {
    promise: 'one configuration shapes the rows',
    broken: "doesn't compare the settings of features",
    breakage: breaking<typeof rowsettings>('src/engine/model/rowsettings.ts').function(
      'rowSettingsText',
      (sound) => (model) => sound(model, {}),
    ),
    test: 'test/engine/model/rowsettings.test.ts',
    name: 'includes ',
    on: [],
  },
  {
    promise: 'one configuration shapes the rows',
    broken: 'never reads the configuration again',
    breakage: breaking<typeof stayup>('src/shell/stayup.ts').function(
      'stayUp',
      (sound) => (invocation, work) =>
        sound(invocation, (given, opening) =>
          work(given, opening).catch((error) => Promise.reject(new Error(String(error)))),
        ),
    ),
    test: 'test/features/listen/oneconfiguration.test.ts',
    name: 'listen reads a changed configuration again',
    on: both,
  },
  {
    promise: 'numbers are stored as sent',
    broken: "doesn't notice numbers that a double rounds",
    breakage: breaking<typeof longnumbers>('src/engine/source/http/longnumbers.ts').function(
      'mayRound',
      () => () => false,
    ),
    test: 'test/engine/source/json.test.ts',
    name: 'detects every number with many digits',
    on: [],
  },
  {
    promise: 'numbers are stored as sent',
    broken: 'uses the nearest double for a number, however far off it is',
    breakage: breaking<typeof numbertoken>('src/engine/base/numbertoken.ts').function(
      'nearDouble',
      () => Number,
    ),
    test: 'test/engine/run/numbers.test.ts',
    name: 'in columns of numbers and of text',
    on: ['sqlite'],
  },
  {
    promise: 'a problem with one table affects no other',
    broken: "can't tell an error of one table from other errors of Postgres",
    breakage: breaking<typeof postgreserrors>('src/engine/warehouse/postgres/drivererrors.ts').function(
      'classify',
      () => unclassed,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a unique index',
    on: ['postgres'],
  },
  {
    promise: 'a problem with one table affects no other',
    broken: "can't tell an error of one table from other errors of SQLite",
    breakage: breaking<typeof sqliteerrors>('src/engine/warehouse/sqlite/drivererrors.ts').function(
      'classify',
      () => unclassed,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a unique index',
    on: ['sqlite'],
  },
  {
    promise: 'a problem with one table affects no other',
    broken: "doesn't know which table the statement was about that the database refused",
    breakage: breaking<typeof classify>('src/engine/warehouse/classify.ts').function(
      'ofStatement',
      () => (error) => error,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a trigger that calls what is not there',
    on: both,
  },
  {
    promise: 'the database stores rows as sent',
    broken: "doesn't read back what it wrote to a table that has a trigger",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').function(
      'checkStored',
      () => async () => {},
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a trigger that stamps rows',
    on: both,
  },
  {
    promise: 'the database stores rows as sent',
    broken: "doesn't look for what was added to a table that it can't write",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').function(
      'explained',
      () => async (error) => error,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a trigger that leaves out a row',
    on: both,
  },
  {
    promise: 'the database stores rows as sent',
    broken: 'believes that a row is marked as deleted because it said so',
    breakage: breaking<typeof tombstone>('src/engine/run/tombstone.ts').function(
      'checkMarked',
      () => async () => {},
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a mark is undone',
    on: both,
  },
  {
    promise: 'what is compared can be seen',
    broken: "doesn't ask whether rows may be hidden",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').method(
      'InterferedTables',
      'refuseHidden',
      () => async () => {},
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'compares nothing of which rows may be hidden',
    on: ['postgres'],
  },
  {
    promise: 'a problem with one table affects no other',
    broken: "lets a table that can't be changed end the run",
    breakage: breaking<typeof interference>('src/engine/warehouse/interference.ts').function(
      'refusalOf',
      () => () => undefined,
    ),
    test: 'test/engine/warehouse/keptback.test.ts',
    name: 'on a table whose trigger raises keeps back its lists alone',
    on: both,
  },
  {
    promise: 'a problem with one table affects no other',
    broken: 'ends the run if the zones of the shops cannot be read',
    breakage: breaking<typeof learnedrules>('src/engine/warehouse/learnedrules.ts').function(
      'unreadableRules',
      () => (error) => {
        throw error
      },
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'fails only the lists that a policy that errs concerns',
    on: ['postgres'],
  },
  {
    promise: 'a problem with one table affects no other',
    broken: "doesn't know which table a migration was changing",
    breakage: breaking<typeof classify>('src/engine/warehouse/classify.ts').function(
      'ofTable',
      () => (error) => error,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a table that cannot be created',
    on: ['postgres'],
  },
  {
    promise: 'the database can hold every value',
    broken: 'goes on with a database in any encoding',
    breakage: breaking<typeof openwarehouse>('src/engine/warehouse/openwarehouse.ts').function(
      'refuseNarrow',
      () => async (warehouse) => warehouse,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a database in another encoding than UTF8 is refused',
    on: ['postgres'],
  },
  {
    promise: 'the database can hold every value',
    broken: 'sends keys of any length',
    breakage: breaking<typeof slowpath>('src/engine/model/flatten/slowpath.ts').function(
      'isKey',
      () => () => true,
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a key that is too long goes to quarantine before it is sent',
    on: both,
  },
  {
    promise: 'Postgres responds',
    broken: 'waits forever on a connection that has gone silent',
    breakage: breaking<typeof connectionpool>('src/engine/warehouse/postgres/connectionpool.ts').function(
      'endSilentConnections',
      (sound) => (pool, options) => sound(pool, options, 2 ** 30),
    ),
    test: 'test/engine/warehouse/silence.test.ts',
    name: 'a silent connection is given up',
    on: [],
  },
  {
    promise: 'a run may end before its work is done',
    broken: 'treats the end of the time limit as a signal',
    breakage: breaking<typeof ending>('src/engine/run/ending.ts').function(
      'endingOf',
      (sound) => (signal) => sound(signal) && 'interrupted',
    ),
    test: 'test/engine/run/timelimit.test.ts',
    name: 'ends cleanly',
    on: both,
  },
  {
    promise: 'waits are bounded',
    broken: "doesn't report that it was told to wait too long",
    breakage: breaking<typeof wait>('src/engine/source/rate/wait.ts').function(
      'tooLong',
      (sound) =>
        (...given) => {
          const skip = sound(...given)
          return Object.assign(skip, { details: { ...skip.details, code: undefined } })
        },
    ),
    test: 'test/engine/run/wait.test.ts',
    name: 'ends only the cursor that was told to wait',
    on: both,
  },
  {
    promise: 'erased data leaves no trace',
    broken: 'leaves deleted rows in the SQLite file, and reports that nothing is left',
    breakage: breaking<typeof sqliteerase>('src/engine/warehouse/sqlite/erase.ts').function(
      'withoutTraces',
      () => () => ({ left: null, elsewhere: 'nowhere' }),
    ),
    test: 'test/features/why/traces.test.ts',
    name: 'leaves no trace of an erased name',
    on: ['sqlite'],
  },
  {
    promise: 'erased data leaves no trace',
    broken: 'leaves dead versions in the tables of Postgres, and reports that nothing is left',
    breakage: breaking<typeof postgreserase>('src/engine/warehouse/postgres/erase.ts').function(
      'vacuum',
      () => async () => ({ left: null, elsewhere: 'nowhere' }),
    ),
    test: 'test/features/why/traces.test.ts',
    name: 'removes the dead versions from the tables',
    on: ['postgres'],
  },
  {
    promise: 'erased data leaves no trace',
    broken: "keeps the planner's statistics of a table that is empty afterwards",
    breakage: breaking<typeof postgreserase>('src/engine/warehouse/postgres/erase.ts').function(
      'clearStatistics',
      () => async () => undefined,
    ),
    test: 'test/features/why/traces.test.ts',
    name: 'leaves no value in the statistics of a table that is empty afterwards',
    on: ['postgres'],
  },
  {
    promise: 'forgotten tenants stay away',
    broken: "doesn't know who was forgotten",
    breakage: breaking<typeof tenants>('src/engine/warehouse/tenants.ts').function(
      'readForgotten',
      () => async () => new Set(),
    ),
    test: 'test/features/forget/staysaway.test.ts',
    name: 'runs of every kind leave it out, and status counts it',
    on: both,
  },
  {
    promise: 'the list is newest first',
    broken: 'treats every list as newest first',
    breakage: breaking<typeof order>('src/engine/list/observed.ts').function(
      'isOutOfOrder',
      () => () => false,
    ),
    test: oddlists,
    name: 'a list that is not newest first',
    on: both,
  },
  {
    promise: 'every record is listed once',
    broken: 'takes the second position of a record for that of another one, forever',
    breakage: breaking<typeof evidence>('src/engine/list/evidence.ts').function(
      'judgeReading',
      (sound) =>
        (...given) => {
          const outcome = sound(...given)
          const isTwice = outcome.reason === 'listed_twice'
          return isTwice ? { ...outcome, verdict: 'unproven', reason: 'totals_disagree' } : outcome
        },
    ),
    test: oddlists,
    name: 'at two times: a second reading settles it',
    on: both,
  },
  {
    promise: 'every record that is counted is shown',
    broken: 'forgets how often it has searched for records that are counted but never shown',
    breakage: breaking<typeof memory>('src/engine/list/memory.ts').function(
      'recalled',
      (sound) =>
        (...given) => {
          const { outcome, memory: whole } = sound(...given)
          const { surplus: _, ...rest } = whole
          return { outcome, memory: rest }
        },
    ),
    test: oddlists,
    name: 'is searched for once; then runs cost',
    on: both,
  },
  {
    promise: 'totals are correct',
    broken: 'reads nothing beyond the end that the total gives',
    breakage: breaking<typeof overrun>('src/engine/list/closebooks.ts').function(
      'lookPast',
      () => async () => undefined,
    ),
    test: oddlists,
    name: 'a total that ends at 300',
    on: both,
  },
  {
    promise: 'a page shorter than requested is the last',
    broken: 'takes a page that is shorter than requested for the last one',
    breakage: breaking<typeof pagesize>('src/engine/list/pagesize.ts').method(
      'PageSize',
      'isFull',
      () =>
        ({ records }, perPage) =>
          records >= perPage,
    ),
    test: 'test/engine/run/paging.test.ts',
    name: 'a page shorter than asked is not the last',
    on: both,
  },
  {
    promise: '`total_pages` is correct',
    broken: 'ignores the page that exists according to total_pages',
    breakage: breaking<typeof pagesize>('src/engine/list/pagesize.ts').method(
      'PageSize',
      'isFull',
      (sound) =>
        function ({ goesOn: _, ...page }, perPage) {
          return sound.call(this, page, perPage)
        },
    ),
    test: 'test/engine/run/paging.test.ts',
    name: 'where it says that pages follow, a first load looks at the next',
    on: both,
  },
  {
    promise: 'every page can be read',
    broken: "gives up on a page that doesn't answer, with all its records",
    breakage: breaking<typeof isolate>('src/engine/run/isolate.ts').function(
      'isolate',
      () => (_source, _request, failure) => Promise.reject(failure),
    ),
    test: oddlists,
    name: ': all others are stored, it is retried with two requests',
    on: both,
  },
  {
    promise: 'every page can be read',
    broken: 'forgets that the list has to be read behind a page that answers again, if the walk is killed',
    breakage: breaking<typeof retryhole>('src/engine/run/retryhole.ts').function(
      'retryHole',
      (sound) =>
        async (...given) => {
          const retried = await sound(...given)
          return { ...retried, toStore: retried.memory }
        },
    ),
    test: oddlists,
    name: 'within the overlap: the list is not read again for it',
    on: both,
  },
  {
    promise: 'pages of every size can be read',
    broken: 'forgets the size of pages that arrive, so each run tries the larger ones again and again',
    breakage: breaking<typeof retryhole>('src/engine/run/retryhole.ts').function(
      'withReadable',
      () => () => undefined,
    ),
    test: 'test/engine/run/paging.test.ts',
    name: ': the size is learned once, and costs nothing from then on',
    on: both,
  },
  {
    promise: 'pages of every size can be read',
    broken: 'never tries a larger page again',
    breakage: breaking<typeof retryhole>('src/engine/run/retryhole.ts').function(
      'tryLarger',
      () => (_list, memory) => Promise.resolve(memory),
    ),
    test: 'test/engine/run/paging.test.ts',
    name: 'a larger size is tried once a day',
    on: both,
  },
  {
    promise: 'every record that is counted is shown',
    broken: 'believes a list that hides half of its records once it was searched twice',
    breakage: breaking<typeof verdicts>('src/engine/list/verdict.ts').function(
      'isSettledAsHidden',
      () =>
        ({ searches }) =>
          searches >= 2,
    ),
    test: oddlists,
    name: 'because every page behind the first is empty',
    on: both,
  },
  {
    promise: 'a stored watermark is correct',
    broken: 'takes the floor of a first load for a watermark',
    breakage: breaking<typeof walkstate>('src/engine/list/walkstate.ts').function(
      'ceilingReached',
      () => (ceiling) => ceiling,
    ),
    test: oddlists,
    name: 'that is the only one leaves no watermark',
    on: both,
  },
  {
    promise: "a tenant doesn't answer 404",
    broken: "never takes a list's rest for over",
    breakage: breaking<typeof resting>('src/features/targets/restinglists.ts').function(
      'restingLists',
      (sound) => (warehouse, nowMs, waits) =>
        sound(warehouse, nowMs, { ...waits, atLeast: Number.POSITIVE_INFINITY }),
    ),
    test: 'test/features/targets/rounds.test.ts',
    name: 'a list that is not offered is requested once per polling.atLeast',
    on: both,
  },
  {
    promise: 'versions never go back',
    broken: "doesn't follow a source that was restored from a backup",
    breakage: breaking<typeof wentback>('src/engine/run/sourceregression.ts').function(
      'askForRegressions',
      (sound) =>
        async (...given) => ({ ...(await sound(...given)), older: [] }),
    ),
    test: 'test/features/reconcile/oddlists.test.ts',
    name: 'is followed, of',
    on: both,
  },
  {
    promise: 'verify compares only what is claimed',
    broken: "counts what came after a cursor's claim as a difference",
    breakage: breaking<typeof dryrun>('src/features/reconcile/dryrun.ts').method(
      'DryRun',
      'counts',
      (sound) =>
        async function (...given) {
          const { newer, ...tally } = await sound.call(this, ...given)
          return { ...tally, missing: tally.missing + newer, newer: 0 }
        },
    ),
    test: 'test/features/reconcile/verify.test.ts',
    name: 'a version above complete_through is newer',
    on: both,
  },
  {
    promise: 'a backfill claims only what it read',
    broken: 'calls a list of names complete that it has not read',
    breakage: breaking<typeof names>('src/engine/run/nameslist.ts').method(
      'NamesSync',
      'run',
      () =>
        async function () {
          return { ...this.progress, outcome: wholeOutcome(0) }
        },
    ),
    test: 'test/features/backfill/backfill.test.ts',
    name: 'reads a list of names whole',
    on: both,
  },
  {
    promise: 'a backfill claims only what it read',
    broken: 'calls a range complete without comparing with its count',
    breakage: breaking<typeof range>('src/engine/list/range.ts').method(
      'RangeWalk',
      'run',
      (sound) =>
        async function () {
          const outcome = await sound.call(this)
          return judged({ basis: { by: 'page', missing: 0 } }, outcome)
        },
    ),
    test: 'test/features/backfill/backfill.test.ts',
    name: '349 of 350 records',
    on: both,
  },
  {
    promise: 'mass deletions are an error',
    broken: 'believes any number of deletions',
    breakage: breaking<typeof breaker>('src/engine/run/deletionguard.ts').method(
      'DeletionGuard',
      'trips',
      () => () => false,
    ),
    test: 'test/features/reconcile/oddlists.test.ts',
    name: 'tells the way out; reconcile --accept-deletes takes it',
    on: both,
  },
  {
    promise: 'every record can be stored',
    broken: 'reports nothing about records that could not be stored',
    breakage: breaking<typeof incremental>('src/engine/run/cursorwalk.ts').method(
      'CursorWalk',
      'run',
      (sound) =>
        async function () {
          return { ...(await sound.call(this)), unstorable: 0 }
        },
    ),
    test: 'test/features/quarantine/quarantine.test.ts',
    name: 'a record that could not be stored fails only the runs that see it',
    on: both,
  },
  {
    promise: 'by id, the source answers with the record or says that it is gone',
    broken: "doesn't look at the id of an answer, or whether it is a record",
    breakage: breaking<typeof answers>('src/engine/run/answerbyid.ts').function(
      'otherThan',
      () => () => undefined,
    ),
    test: byIdTest,
    name: 'for one record leaves its row, and the others are marked deleted',
    on: both,
  },
  {
    promise: 'by id, the source answers with the record or says that it is gone',
    broken: 'ends the cursor at the first refusal',
    breakage: breaking<typeof answers>('src/engine/run/answerbyid.ts').function(
      'answerOfFailure',
      () => (error) => {
        throw error
      },
    ),
    test: byIdTest,
    name: 'for every id: the second list decides',
    on: both,
  },
  {
    promise: 'by id, the source answers with the record or says that it is gone',
    broken: "forgets that the source doesn't answer by id",
    breakage: breaking<typeof byid>('src/engine/run/byid.ts').function(
      'byIdOf',
      () => (cursor, list) => readingById(cursor, list),
    ),
    test: byIdTest,
    name: 'for every id: the second list decides',
    on: both,
  },
  {
    promise: "days follow the shop's time zone",
    broken: 'ignores the configured time zone',
    breakage: breaking<typeof zones>('src/features/analytics/zones.ts').function(
      'refreshZones',
      (sound) => (warehouse, model, settings) => sound(warehouse, model, { ...settings, shopTimeZones: {} }),
    ),
    test: 'test/features/analytics/days.test.ts',
    name: 'a shop has the configured zone',
    on: both,
  },
  {
    promise: 'views belong to shopsync',
    broken: "doesn't check what is in the place of a view",
    breakage: breaking<typeof viewstore>('src/engine/warehouse/sqlite/viewstore.ts').function(
      'viewStore',
      (sound) =>
        (...given) => ({ ...sound(...given), live: async () => new Map() }),
    ),
    test: 'test/features/analytics/makeviews.test.ts',
    name: 'view of the same name alone, and report it',
    on: ['sqlite'],
  },
  {
    promise: 'old history is removed',
    broken: 'removes nothing of the history of runs',
    breakage: breaking<typeof prune>('src/engine/run/prunehistory.ts').function(
      'pruneHistory',
      () => async () => {},
    ),
    test: 'test/engine/run/history.test.ts',
    name: 'runs, cursors and requests older than history.keep',
    on: both,
  },
]
