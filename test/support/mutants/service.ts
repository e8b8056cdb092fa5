/** What stays up around the runs (docs/operations.md, schedule): one function of it is broken at a time. */

import type { RateWindow } from '../../../src/engine/source/rate/window.js'
import type { ScheduledJob } from '../../../src/features/schedule/jobbook.js'
import type { Schedule } from '../../../src/features/schedule/scheduler.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const clock = breaking(() => import('../../../src/engine/base/clock.js'))
const ending = breaking(() => import('../../../src/engine/run/ending.js'))
const lastrun = breaking(() => import('../../../src/engine/run/lastrun.js'))
const steps = breaking(() => import('../../../src/engine/run/steps.js'))
const siblings = breaking(() => import('../../../src/engine/source/rate/siblings.js'))
const window = breaking(() => import('../../../src/engine/source/rate/window.js'))
const connection = breaking(() => import('../../../src/engine/warehouse/postgres/connection.js'))
const lockholder = breaking(() => import('../../../src/engine/warehouse/postgres/lockholder.js'))
const rounds = breaking(() => import('../../../src/engine/warehouse/rounds.js'))
const sql = breaking(() => import('../../../src/features/backfill/sql.js'))
const watchinbox = breaking(() => import('../../../src/features/events/watchinbox.js'))
const alerttext = breaking(() => import('../../../src/features/health/alerttext.js'))
const incidents = breaking(() => import('../../../src/features/health/incidents.js'))
const telling = breaking(() => import('../../../src/features/health/telling.js'))
const wholetrouble = breaking(() => import('../../../src/features/health/wholetrouble.js'))
const afterrun = breaking(() => import('../../../src/features/plan/afterrun.js'))
const verification = breaking(() => import('../../../src/features/reconcile/verification.js'))
const http = breaking(() => import('../../../src/features/schedule/http.js'))
const jobbook = breaking(() => import('../../../src/features/schedule/jobbook.js'))
const scheduler = breaking(() => import('../../../src/features/schedule/scheduler.js'))
const deliverto = breaking(() => import('../../../src/shell/deliverto.js'))
const intime = breaking(() => import('../../../src/shell/intime.js'))
const log = breaking(() => import('../../../src/shell/log.js'))
const send = breaking(() => import('../../../src/shell/send.js'))
const statusserver = breaking(() => import('../../../src/shell/statusserver.js'))

export const service = mutants([
  [
    'processes that share a rate limit use its windows up, and none is refused',
    "doesn't take from the row of all processes",
    siblings.method('Siblings', 'judge', () => () => 'go'),
    'test/engine/source/siblings.test.ts: use each window up, and none is refused',
  ],
  [
    'processes that share a rate limit use its windows up, and none is refused',
    'names the next window so early that another process takes it for the last one',
    window.method(
      'RateWindow',
      'name',
      (name) =>
        function (this: RateWindow, now, latency) {
          const named = name.call(this, now, latency)
          if (named?.isSaid) return { ...named, used: this.limit - this.remaining }
          return named && { ...named, resetsAt: named.from, to: named.from }
        },
    ),
    'test/engine/source/simulation.test.ts: that share them by a row',
  ],
  [
    'each planned run happens once, or is made up for once',
    "doesn't check whether another program has made the planned run",
    rounds.function('hasRunSince', () => async () => false),
    'test/engine/run/job.test.ts: does nothing for an instant that another program',
  ],
  [
    'schedules follow the wall clock',
    'treats wall clock time as UTC',
    scheduler.method(
      'Schedule',
      'run',
      (sound) =>
        function (jobs) {
          const its = this as unknown as { parts: ConstructorParameters<typeof Schedule>[0] }
          its.parts = { ...its.parts, timeZone: 'UTC' }
          return sound.call(this, jobs)
        },
    ),
    'test/features/schedule/schedule.test.ts: runs every planned instant',
  ],
  [
    "the time follows the machine's clock",
    'looks at the machine’s clock only once',
    clock.function('timeOfDay', (sound) => ({ wall, steady }) => {
      const ahead = wall() - steady()
      return sound({ steady, wall: () => ahead + steady() })
    }),
    'test/engine/base/clock.test.ts: follows a clock that is set',
  ],
  [
    'what a good run made right is over with it',
    'leaves a killed run open until another run',
    wholetrouble.function(
      'killedTrouble',
      (sound) => (last, holder, _isMadeGood, now) => sound(last, holder, false, now),
    ),
    'test/features/alerts/greenisgreen.test.ts: a run that was killed is over with the next good run',
  ],
  [
    'a sample counts what was compared',
    'calls a list equal of which nothing was compared',
    verification.function('isUnanswered', () => () => false),
    'test/features/reconcile/verify.test.ts: nothing compared is no success',
  ],
  [
    'job files are read again',
    'reads job files only once',
    jobbook.method('JobBook', 'look', (sound) => {
      const read = new WeakMap<object, ScheduledJob[]>()
      return function (broken) {
        const jobs = read.get(this) ?? sound.call(this, broken)
        read.set(this, jobs)
        return jobs
      }
    }),
    'test/features/schedule/schedule.test.ts: reads job files again',
  ],
  [
    'SIGTERM ends the current work',
    'treats a signal as the end of the time limit',
    ending.function('endingOf', (sound) => (signal) => sound(signal) && 'time_limit'),
    'test/engine/run/job.test.ts: ends after the current step when a signal comes',
  ],
  [
    'a backfill that is cut short resumes',
    'forgets that a list was read to the end of the range',
    sql.function('readProgress', (sound) => async (...given) => ({ ...(await sound(...given)), read: null })),
    'test/features/backfill/resumed.test.ts: repeats no finished cursor',
  ],
  [
    'a job is one run',
    "doesn't wait for the run that holds the warehouse",
    steps.function('runJob', (sound) => (deps, plan) => sound(deps, { ...plan, wait: 0 })),
    'test/engine/run/job.test.ts: waits for the run that holds the warehouse',
  ],
  [
    'the server reports whether the warehouse answers',
    'is ready whatever state the warehouse is in',
    http.function(
      'serve',
      (sound) => (where, served) =>
        sound(where, { ...served, ready: async () => ({ ...(await served.ready()), ready: true }) }),
    ),
    'test/engine/warehouse/silence.test.ts: schedule answers monitoring meanwhile',
  ],
  [
    'monitoring is answered within seconds, whatever the database does',
    'waits for the database as long as a run does',
    intime.function('inTime', () => (work) => work),
    'test/engine/warehouse/silence.test.ts: schedule answers monitoring meanwhile',
  ],
  [
    'a message has a size that receivers accept',
    'names every incident',
    alerttext.function('messageOf', (sound) => (type, rows, teller) => {
      const message = sound(type, rows, teller)
      return { ...message, body: { ...message.body, incidents: rows as never } }
    }),
    'test/features/alerts/alerts.test.ts: a message has a size that every receiver accepts',
  ],
  [
    'what a killed process may have told is told again as it was',
    'puts it into one message with what is new',
    telling.function('parcels', () => (rows) => [[...rows]]),
    'test/features/alerts/alerts.test.ts: what a killed process may have told',
  ],
  [
    'while a first load makes progress, what it has not reached needs nobody',
    "doesn't see that a run is at work",
    lastrun.function('runningMs', () => () => null),
    'test/features/status/firstload.test.ts: the first load is under way',
  ],
  [
    'a change of a table that waits in vain names who holds the table',
    "doesn't look for who holds it",
    lockholder.function('lookAtTable', () => async () => {}),
    'test/engine/warehouse/keptback.test.ts: a change of a table lets readers pass',
  ],
  [
    'a plan knows how long a window lasts from the runs before, or says at least how long',
    'stores nothing after a run',
    afterrun.function('keepAfterRun', () => async () => {}),
    'test/features/plan/plan.test.ts: a run stores how long a window lasts',
  ],
  [
    'received events that cannot be read keep nothing else from being told',
    'fails where the events cannot be read',
    watchinbox.function('watchInbox', (sound) => async (warehouse, work) => {
      const found = await sound(warehouse, work)
      if (found && 'unreadable' in found) throw new Error('unreadable')
      return found
    }),
    'test/features/events/unreadable.test.ts: alerts, status and metrics go on without events',
  ],
  [
    'monitoring may use any name; a foreign page gets nothing',
    'answers requests under any name',
    statusserver.function('mayAsk', () => () => true),
    'test/features/schedule/scheduleprocess.test.ts: serves, and exits with 0 on SIGTERM',
  ],
  [
    'each kind of incident is reported',
    'never reports a stale cursor',
    incidents.function(
      'findIncidents',
      (sound) => (facts) => sound(facts).filter(({ kind }) => kind !== 'stale'),
    ),
    'test/features/alerts/alerts.test.ts: each kind is reported once within a run of its fault',
  ],
  [
    'once when it opens, and once when it is over',
    'forgets who was notified',
    telling.function('retold', () => (row) => row),
    'test/features/alerts/alerts.test.ts: each kind is reported once within a run of its fault',
  ],
  [
    'a message is signed, and contains no secret',
    'signs nothing',
    deliverto.function(
      'postWebhook',
      (sound) => (posting, how) => sound({ ...posting, key: undefined }, how),
    ),
    'test/features/alerts/alerts.test.ts: signs as the Standard Webhooks reference verifies',
  ],
  [
    'a message is signed, and contains no secret',
    "doesn't mask any secret",
    log.function('secretsOf', () => () => []),
    'test/features/alerts/alertscommand.test.ts: check --alerts sends a test',
  ],
  [
    'a receiver that doesn’t answer delays nothing',
    'keeps trying for hours',
    send.function(
      'sendPatiently',
      (sound) => (message, how) => sound(message, { ...how, budgetMs: how.budgetMs * 10 }),
    ),
    'test/features/alerts/heartbeat.test.ts: follows no redirect, and gives up if nobody answers',
  ],
  [
    'heartbeats show that a run finished',
    'calls the heartbeat of a failed run as if it had succeeded',
    send.function('beat', (sound) => (url, _exit, clock, signal) => sound(url, 0, clock, signal)),
    'test/features/schedule/scheduledjobs.test.ts: sends each alert and calls each heartbeat once',
  ],
  [
    'a connection only goes to the server that the address names',
    'trusts every certificate',
    connection.function('connecting', (sound) => (...given) => {
      const connecting = sound(...given)
      const { config } = connecting
      return config.ssl
        ? { ...connecting, config: { ...config, ssl: { rejectUnauthorized: false } } }
        : connecting
    }),
    'test/engine/warehouse/tls.test.ts: verify-full',
  ],
])
