/** What stays up around the runs (docs/operations.md, schedule): one function of it is broken at a time. */

import type { ScheduledJob } from '../../../src/features/schedule/jobbook.js'
import type { Schedule } from '../../../src/features/schedule/scheduler.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

/** What a book of jobs has read. */
const readJobs = new WeakMap<object, ScheduledJob[]>()

export const service = mutants({
  'processes that share a rate limit use its windows up, and none is refused': {
    'test/engine/source/siblings.test.ts: use each window up, and none is refused': {
      "doesn't take from the row of all processes": () =>
        breaking('engine/source/rate/siblings').Siblings.judge(() => 'go'),
    },
    'test/engine/source/simulation.test.ts: that share them by a row': {
      'names the next window so early that another process takes it for the last one': () =>
        breaking('engine/source/rate/window').RateWindow.name(function (sound, now, latency) {
          const named = sound(now, latency)
          if (named?.isSaid) return { ...named, used: this.limit - this.remaining }
          return named && { ...named, resetsAt: named.from, to: named.from }
        }),
    },
  },
  'each planned run happens once, or is made up for once': {
    'test/engine/run/job.test.ts: does nothing for an instant that another program': {
      "doesn't check whether another program has made the planned run": () =>
        breaking('engine/warehouse/rounds').hasRunSince(async () => false),
    },
  },
  'schedules follow the wall clock': {
    'test/features/schedule/schedule.test.ts: runs every planned instant': {
      'treats wall clock time as UTC': () =>
        breaking('features/schedule/scheduler').Schedule.run(function (sound, jobs) {
          const its = this as unknown as { parts: ConstructorParameters<typeof Schedule>[0] }
          its.parts = { ...its.parts, timeZone: 'UTC' }
          return sound(jobs)
        }),
    },
  },
  "the time follows the machine's clock": {
    'test/engine/base/clock.test.ts: follows a clock that is set': {
      'looks at the machine’s clock only once': () =>
        breaking('engine/base/clock').timeOfDay((sound, { wall, steady }) => {
          const ahead = wall() - steady()
          return sound({ steady, wall: () => ahead + steady() })
        }),
    },
  },
  'what a good run made right is over with it': {
    'test/features/alerts/incidents.test.ts: each kind is told once within a run of its fault': {
      'leaves a killed run open until another run': () =>
        breaking('features/health/wholetrouble').killedTrouble((sound, last, holder, _isMadeGood, now) =>
          sound(last, holder, false, now),
        ),
    },
  },
  'a sample counts what was compared': {
    'test/features/reconcile/verify.test.ts: nothing compared is no success': {
      'calls a list equal of which nothing was compared': () =>
        breaking('features/reconcile/verification').isUnanswered(() => false),
    },
  },
  'job files are read again': {
    'test/features/schedule/schedule.test.ts: reads job files again': {
      'reads job files only once': () =>
        breaking('features/schedule/jobbook').JobBook.look(function (sound, broken) {
          const jobs = readJobs.get(this) ?? sound(broken)
          readJobs.set(this, jobs)
          return jobs
        }),
    },
  },
  'SIGTERM ends the current work': {
    'test/engine/run/job.test.ts: ends after the current step when a signal comes': {
      'treats a signal as the end of the time limit': () =>
        breaking('engine/run/ending').endingOf((sound, signal) => sound(signal) && 'time_limit'),
    },
  },
  'a backfill that is cut short resumes': {
    'test/features/backfill/resumed.test.ts: repeats no finished cursor': {
      'forgets that a list was read to the end of the range': () =>
        breaking('features/backfill/sql').readProgress(async (sound, ...given) => ({
          ...(await sound(...given)),
          read: null,
        })),
    },
  },
  'a job is one run': {
    'test/engine/run/job.test.ts: waits for the run that holds the warehouse': {
      "doesn't wait for the run that holds the warehouse": () =>
        breaking('engine/run/steps').runJob((sound, deps, plan) => sound(deps, { ...plan, wait: 0 })),
    },
  },
  'the server reports whether the warehouse answers': {
    'test/engine/warehouse/silence.test.ts: schedule answers monitoring meanwhile': {
      'is ready whatever state the warehouse is in': () =>
        breaking('features/schedule/http').serve((sound, where, served) =>
          sound(where, { ...served, ready: async () => ({ ...(await served.ready()), ready: true }) }),
        ),
    },
  },
  'monitoring is answered within seconds, whatever the database does': {
    'test/engine/warehouse/silence.test.ts: schedule answers monitoring meanwhile': {
      'waits for the database as long as a run does': () =>
        breaking('shell/intime').inTime((_sound, work) => work),
    },
  },
  'a message has a size that receivers accept': {
    'test/features/alerts/messages.test.ts: counts what it does not name': {
      'names every incident': () =>
        breaking('features/health/alerttext').messageOf((sound, type, rows, teller) => {
          const message = sound(type, rows, teller)
          return { ...message, body: { ...message.body, incidents: rows as never } }
        }),
    },
  },
  'what a killed process may have told is told again as it was': {
    'test/features/alerts/delivery.test.ts: what a killed process may have told': {
      'puts it into one message with what is new': () =>
        breaking('features/health/telling').parcels((_sound, rows) => [[...rows]]),
    },
  },
  'while a first load makes progress, what it has not reached needs nobody': {
    'test/features/health/faces.test.ts: never read, but a run is at work': {
      "doesn't see that a run is at work": () => breaking('engine/run/lastrun').runningMs(() => null),
    },
  },
  'a change of a table that waits in vain names who holds the table': {
    'test/engine/warehouse/keptback.test.ts: a change of a table lets readers pass': {
      "doesn't look for who holds it": () =>
        breaking('engine/warehouse/postgres/lockholder').lookAtTable(async () => {}),
    },
  },
  'a plan knows how long a window lasts from the runs before, or says at least how long': {
    'test/transcripts/transcripts.test.ts: test/transcripts/plan.txt': {
      'stores nothing after a run': () => breaking('features/plan/afterrun').keepAfterRun(async () => {}),
    },
  },
  'received events that cannot be read keep nothing else from being told': {
    'test/features/events/unreadable.test.ts: alerts, status and metrics go on without events': {
      'fails where the events cannot be read': () =>
        breaking('features/events/watchinbox').watchInbox(async (sound, warehouse, work) => {
          const found = await sound(warehouse, work)
          if (found && 'unreadable' in found) throw new Error('unreadable')
          return found
        }),
    },
  },
  'monitoring may use any name; a foreign page gets nothing': {
    'test/features/schedule/scheduleprocess.test.ts: serves, and exits with 0 on SIGTERM': {
      'answers requests under any name': () => breaking('shell/statusserver').mayAsk(() => true),
    },
  },
  'each kind of incident is reported': {
    'test/features/alerts/incidents.test.ts: each kind is told once within a run of its fault': {
      'never reports a stale cursor': () =>
        breaking('features/health/incidents').findIncidents((sound, facts) =>
          sound(facts).filter(({ kind }) => kind !== 'stale'),
        ),
    },
  },
  'once when it opens, and once when it is over': {
    'test/features/alerts/incidents.test.ts: each kind is told once within a run of its fault': {
      'forgets who was notified': () => breaking('features/health/telling').retold((_sound, row) => row),
    },
  },
  'what follows from a problem of the whole run is not an incident': {
    'test/features/alerts/incidents.test.ts: each kind is told once within a run of its fault': {
      'tells it as well': () => breaking('features/health/wholetrouble').swallowedBy(() => 'nothing'),
    },
  },
  'a message is signed, and contains no secret': {
    'test/features/alerts/messages.test.ts: signed as the Standard Webhooks reference verifies': {
      'signs nothing': () =>
        breaking('shell/deliverto').postWebhook((sound, posting, how) =>
          sound({ ...posting, key: undefined }, how),
        ),
    },
    'test/transcripts/transcripts.test.ts: test/transcripts/check.txt': {
      "doesn't mask any secret": () => breaking('shell/log').secretsOf(() => []),
    },
  },
  'a receiver that doesn’t answer delays nothing': {
    'test/features/alerts/delivery.test.ts: keeps what nobody accepted': {
      'keeps trying for hours': () =>
        breaking('shell/send').sendPatiently((sound, message, how) =>
          sound(message, { ...how, budgetMs: how.budgetMs * 10 }),
        ),
    },
  },
  'heartbeats show that a run finished': {
    'test/features/schedule/scheduledjobs.test.ts: sends each alert and calls each heartbeat once': {
      'calls the heartbeat of a failed run as if it had succeeded': () =>
        breaking('shell/send').beat((sound, url, _exit, clock, signal) => sound(url, 0, clock, signal)),
    },
  },
  'a connection only goes to the server that the address names': {
    'test/engine/warehouse/tls.test.ts: verify-full': {
      'trusts every certificate': () =>
        breaking('engine/warehouse/postgres/connection').connecting((sound, ...given) => {
          const connecting = sound(...given)
          const { config } = connecting
          return config.ssl
            ? { ...connecting, config: { ...config, ssl: { rejectUnauthorized: false } } }
            : connecting
        }),
    },
  },
})
