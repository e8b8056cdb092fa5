/** What stays up around the runs (docs/operations.md, schedule): one function of it is broken at a time. */

import type * as clocks from '../../../src/engine/base/clock.js'
import type * as ending from '../../../src/engine/run/ending.js'
import type * as lastrun from '../../../src/engine/run/lastrun.js'
import type * as steps from '../../../src/engine/run/steps.js'
import type * as siblings from '../../../src/engine/source/rate/siblings.js'
import type * as windows from '../../../src/engine/source/rate/window.js'
import type * as connection from '../../../src/engine/warehouse/postgres/connection.js'
import type * as lockholder from '../../../src/engine/warehouse/postgres/lockholder.js'
import type * as rounds from '../../../src/engine/warehouse/rounds.js'
import type * as backfillState from '../../../src/features/backfill/sql.js'
import type * as watching from '../../../src/features/events/watchinbox.js'
import type * as text from '../../../src/features/health/alerttext.js'
import type * as incidents from '../../../src/features/health/incidents.js'
import type * as telling from '../../../src/features/health/telling.js'
import type * as troubles from '../../../src/features/health/wholetrouble.js'
import type * as afterrun from '../../../src/features/plan/afterrun.js'
import type * as verification from '../../../src/features/reconcile/verification.js'
import type * as http from '../../../src/features/schedule/http.js'
import type * as jobbook from '../../../src/features/schedule/jobbook.js'
import type * as schedule from '../../../src/features/schedule/scheduler.js'
import type * as webhook from '../../../src/shell/deliverto.js'
import type * as intime from '../../../src/shell/intime.js'
import type * as secrets from '../../../src/shell/log.js'
import type * as heartbeat from '../../../src/shell/send.js'
import type * as send from '../../../src/shell/send.js'
import type * as asking from '../../../src/shell/statusserver.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const job = 'test/engine/run/job.test.ts'
const alerts = 'test/features/alerts/alerts.test.ts'

export const service: readonly Promised[] = [
  {
    promise: 'processes that share a rate limit use its windows up, and none is refused',
    broken: "doesn't take from the row of all processes",
    breakage: breaking<typeof siblings>('src/engine/source/rate/siblings.ts').method(
      'Siblings',
      'judge',
      () => () => 'go',
    ),
    test: 'test/engine/source/siblings.test.ts',
    name: 'use each window up, and none is refused',
    on: both,
  },
  {
    promise: 'processes that share a rate limit use its windows up, and none is refused',
    broken: 'names the next window so early that another process takes it for the last one',
    breakage: breaking<typeof windows>('src/engine/source/rate/window.ts').method(
      'RateWindow',
      'name',
      (name) =>
        function (this: windows.RateWindow, now, latency) {
          const named = name.call(this, now, latency)
          if (named?.isSaid) return { ...named, used: this.limit - this.remaining }
          return named && { ...named, resetsAt: named.from, to: named.from }
        },
    ),
    test: 'test/engine/source/simulation.test.ts',
    name: 'that share them by a row',
    on: [],
  },
  {
    promise: 'each planned run happens once, or is made up for once',
    broken: "doesn't check whether another program has made the planned run",
    breakage: breaking<typeof rounds>('src/engine/warehouse/rounds.ts').function(
      'hasRunSince',
      () => async () => false,
    ),
    test: job,
    name: 'does nothing for an instant that another program',
    on: both,
  },
  {
    promise: 'schedules follow the wall clock',
    broken: 'treats wall clock time as UTC',
    breakage: breaking<typeof schedule>('src/features/schedule/scheduler.ts').method(
      'Schedule',
      'run',
      (sound) =>
        function (jobs) {
          const its = this as unknown as { parts: ConstructorParameters<typeof schedule.Schedule>[0] }
          its.parts = { ...its.parts, timeZone: 'UTC' }
          return sound.call(this, jobs)
        },
    ),
    test: 'test/features/schedule/schedule.test.ts',
    name: 'runs every planned instant',
    on: [],
  },
  {
    promise: "the time follows the machine's clock",
    broken: 'looks at the machine’s clock only once',
    breakage: breaking<typeof clocks>('src/engine/base/clock.ts').function(
      'timeOfDay',
      (sound) =>
        ({ wall, steady }) => {
          const ahead = wall() - steady()
          return sound({ steady, wall: () => ahead + steady() })
        },
    ),
    test: 'test/engine/base/clock.test.ts',
    name: 'follows a clock that is set',
    on: [],
  },
  {
    promise: 'what a good run made right is over with it',
    broken: 'leaves a killed run open until another run',
    breakage: breaking<typeof troubles>('src/features/health/wholetrouble.ts').function(
      'killedTrouble',
      (sound) => (last, holder, _isMadeGood, now) => sound(last, holder, false, now),
    ),
    test: 'test/features/alerts/greenisgreen.test.ts',
    name: 'a run that was killed is over with the next good run',
    on: both,
  },
  {
    promise: 'a sample counts what was compared',
    broken: 'calls a list equal of which nothing was compared',
    breakage: breaking<typeof verification>('src/features/reconcile/verification.ts').function(
      'isUnanswered',
      () => () => false,
    ),
    test: 'test/features/reconcile/verify.test.ts',
    name: 'nothing compared is no success',
    on: both,
  },
  {
    promise: 'job files are read again',
    broken: 'reads job files only once',
    breakage: breaking<typeof jobbook>('src/features/schedule/jobbook.ts').method(
      'JobBook',
      'look',
      (sound) => {
        const read = new WeakMap<object, jobbook.ScheduledJob[]>()
        return function (broken) {
          const jobs = read.get(this) ?? sound.call(this, broken)
          read.set(this, jobs)
          return jobs
        }
      },
    ),
    test: 'test/features/schedule/schedule.test.ts',
    name: 'reads job files again',
    on: both,
  },
  {
    promise: 'SIGTERM ends the current work',
    broken: 'treats a signal as the end of the time limit',
    breakage: breaking<typeof ending>('src/engine/run/ending.ts').function(
      'endingOf',
      (sound) => (signal) => sound(signal) && 'time_limit',
    ),
    test: job,
    name: 'ends after the current step when a signal comes',
    on: both,
  },
  {
    promise: 'a backfill that is cut short resumes',
    broken: 'forgets that a list was read to the end of the range',
    breakage: breaking<typeof backfillState>('src/features/backfill/sql.ts').function(
      'readProgress',
      (sound) =>
        async (...given) => ({ ...(await sound(...given)), read: null }),
    ),
    test: 'test/features/backfill/resumed.test.ts',
    name: 'repeats no finished cursor',
    on: both,
  },
  {
    promise: 'a job is one run',
    broken: "doesn't wait for the run that holds the warehouse",
    breakage: breaking<typeof steps>('src/engine/run/steps.ts').function(
      'runJob',
      (sound) => (deps, plan) => sound(deps, { ...plan, wait: 0 }),
    ),
    test: job,
    name: 'waits for the run that holds the warehouse',
    on: both,
  },
  {
    promise: 'the server reports whether the warehouse answers',
    broken: 'is ready whatever state the warehouse is in',
    breakage: breaking<typeof http>('src/features/schedule/http.ts').function(
      'serve',
      (sound) => (where, served) =>
        sound(where, { ...served, ready: async () => ({ ...(await served.ready()), ready: true }) }),
    ),
    test: 'test/engine/warehouse/silence.test.ts',
    name: 'answers monitoring while its server is frozen',
    on: [],
  },
  {
    promise: 'monitoring is answered within seconds, whatever the database does',
    broken: 'waits for the database as long as a run does',
    breakage: breaking<typeof intime>('src/shell/intime.ts').function('inTime', () => (work) => work),
    test: 'test/engine/warehouse/silence.test.ts',
    name: 'answers monitoring while its server is frozen',
    on: [],
  },
  {
    promise: 'a message has a size that receivers accept',
    broken: 'names every incident',
    breakage: breaking<typeof text>('src/features/health/alerttext.ts').function(
      'messageOf',
      (sound) => (type, rows, teller) => {
        const message = sound(type, rows, teller)
        return { ...message, body: { ...message.body, incidents: rows as never } }
      },
    ),
    test: alerts,
    name: 'a message has a size that every receiver accepts',
    on: both,
  },
  {
    promise: 'what a killed process may have told is told again as it was',
    broken: 'puts it into one message with what is new',
    breakage: breaking<typeof telling>('src/features/health/telling.ts').function('parcels', () => (rows) => [
      [...rows],
    ]),
    test: alerts,
    name: 'what a killed process may have told',
    on: both,
  },
  {
    promise: 'while a first load makes progress, what it has not reached needs nobody',
    broken: "doesn't see that a run is at work",
    breakage: breaking<typeof lastrun>('src/engine/run/lastrun.ts').function('runningMs', () => () => null),
    test: 'test/features/status/firstload.test.ts',
    name: 'the first load is under way',
    on: both,
  },
  {
    promise: 'a change of a table that waits in vain names who holds the table',
    broken: "doesn't look for who holds it",
    breakage: breaking<typeof lockholder>('src/engine/warehouse/postgres/lockholder.ts').function(
      'lookAtTable',
      () => async () => {},
    ),
    test: 'test/engine/warehouse/trouble.test.ts',
    name: 'a change of a table lets readers pass',
    on: [],
  },
  {
    promise: 'a plan knows how long a window lasts from the runs before, or says at least how long',
    broken: 'stores nothing after a run',
    breakage: breaking<typeof afterrun>('src/features/plan/afterrun.ts').function(
      'keepAfterRun',
      () => async () => {},
    ),
    test: 'test/features/plan/plan.test.ts',
    name: 'a run stores how long a window lasts',
    on: [],
  },
  {
    promise: 'received events that cannot be read keep nothing else from being told',
    broken: 'fails where the events cannot be read',
    breakage: breaking<typeof watching>('src/features/events/watchinbox.ts').function(
      'watchInbox',
      (sound) => async (warehouse, work) => {
        const found = await sound(warehouse, work)
        if (found && 'unreadable' in found) throw new Error('unreadable')
        return found
      },
    ),
    test: 'test/features/events/unreadable.test.ts',
    name: 'alerts, status and metrics go on without events',
    on: both,
  },
  {
    promise: 'monitoring may use any name; a foreign page gets nothing',
    broken: 'answers requests under any name',
    breakage: breaking<typeof asking>('src/shell/statusserver.ts').function('mayAsk', () => () => true),
    test: 'test/features/schedule/scheduleprocess.test.ts',
    name: 'serves, and exits with 0 on SIGTERM',
    on: [],
  },
  {
    promise: 'each kind of incident is reported',
    broken: 'never reports a stale cursor',
    breakage: breaking<typeof incidents>('src/features/health/incidents.ts').function(
      'findIncidents',
      (sound) => (facts) => sound(facts).filter(({ kind }) => kind !== 'stale'),
    ),
    test: alerts,
    name: 'each kind is reported once within a run of its fault',
    on: both,
  },
  {
    promise: 'once when it opens, and once when it is over',
    broken: 'forgets who was notified',
    breakage: breaking<typeof telling>('src/features/health/telling.ts').function(
      'retold',
      () => (row) => row,
    ),
    test: alerts,
    name: 'each kind is reported once within a run of its fault',
    on: both,
  },
  {
    promise: 'a message is signed, and contains no secret',
    broken: 'signs nothing',
    breakage: breaking<typeof webhook>('src/shell/deliverto.ts').function(
      'postWebhook',
      (sound) => (posting, how) => sound({ ...posting, key: undefined }, how),
    ),
    test: alerts,
    name: 'signs as the Standard Webhooks reference verifies',
    on: both,
  },
  {
    promise: 'a message is signed, and contains no secret',
    broken: "doesn't mask any secret",
    breakage: breaking<typeof secrets>('src/shell/log.ts').function('secretsOf', () => () => []),
    test: 'test/features/alerts/alertscommand.test.ts',
    name: 'check --alerts sends a test',
    on: [],
  },
  {
    promise: 'a receiver that doesn’t answer delays nothing',
    broken: 'keeps trying for hours',
    breakage: breaking<typeof send>('src/shell/send.ts').function(
      'sendPatiently',
      (sound) => (message, how) => sound(message, { ...how, budgetMs: how.budgetMs * 10 }),
    ),
    test: 'test/features/alerts/heartbeat.test.ts',
    name: 'follows no redirect, and gives up if nobody answers',
    on: [],
  },
  {
    promise: 'heartbeats show that a run finished',
    broken: 'calls the heartbeat of a failed run as if it had succeeded',
    breakage: breaking<typeof heartbeat>('src/shell/send.ts').function(
      'beat',
      (sound) => (url, _exit, clock, signal) => sound(url, 0, clock, signal),
    ),
    test: 'test/features/schedule/scheduledjobs.test.ts',
    name: 'sends each alert and calls each heartbeat once',
    on: both,
  },
  {
    promise: 'a connection only goes to the server that the address names',
    broken: 'trusts every certificate',
    breakage: breaking<typeof connection>('src/engine/warehouse/postgres/connection.ts').function(
      'connecting',
      (sound) =>
        (...given) => {
          const connecting = sound(...given)
          const { config } = connecting
          return config.ssl
            ? { ...connecting, config: { ...config, ssl: { rejectUnauthorized: false } } }
            : connecting
        },
    ),
    test: 'test/engine/warehouse/tls.test.ts',
    name: 'verify-full',
    on: [],
  },
]
