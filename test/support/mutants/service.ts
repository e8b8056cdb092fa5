/** What stays up, tells and measures around the runs. */

import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemClock } from '../../../src/engine/base/clock.js'
import { openLease } from '../../../src/engine/warehouse/lease/openlease.js'
import type { WarehouseGauges } from '../../../src/features/health/gauges.js'
import type { ScheduledJob } from '../../../src/features/schedule/jobbook.js'
import type { Schedule } from '../../../src/features/schedule/scheduler.js'
import { breaking, type Mutants } from './breakage.js'

/** What a book of jobs has read. */
const readJobs = new WeakMap<object, ScheduledJob[]>()

let readGauges: Promise<WarehouseGauges> | undefined

export const service: Mutants = {
  "doesn't take from the row of all processes": () =>
    breaking('engine/source/rate/siblings').Siblings.judge(() => 'go'),
  'names the next window so early that another process takes it for the last one': () =>
    breaking('engine/source/rate/window').RateWindow.name(function (sound, now, latency) {
      const named = sound(now, latency)
      if (named?.isSaid) return { ...named, used: this.limit - this.remaining }
      return named && { ...named, resetsAt: named.from, to: named.from }
    }),
  "doesn't check whether another program has made the planned run": () =>
    breaking('engine/warehouse/state/rounds').hasRunSince(async () => false),
  'treats wall clock time as UTC': () =>
    breaking('features/schedule/scheduler').Schedule.run(function (sound, jobs) {
      const its = this as unknown as { parts: ConstructorParameters<typeof Schedule>[0] }
      its.parts = { ...its.parts, timeZone: 'UTC' }
      return sound(jobs)
    }),
  'looks at the machine’s clock only once': () =>
    breaking('engine/base/clock').timeOfDay((sound, { wall, steady }) => {
      const ahead = wall() - steady()
      return sound({ steady, wall: () => ahead + steady() })
    }),
  'leaves a killed run open until another run': () =>
    breaking('features/health/wholetrouble').killedTrouble((sound, last, holder, _isMadeGood, now) =>
      sound(last, holder, false, now),
    ),
  'calls a list equal of which nothing was compared': () =>
    breaking('features/reconcile/verification').isUnanswered(() => false),
  'reads job files only once': () =>
    breaking('features/schedule/jobbook').JobBook.look(function (sound, broken) {
      const jobs = readJobs.get(this) ?? sound(broken)
      readJobs.set(this, jobs)
      return jobs
    }),
  'treats a signal as the end of the time limit': () =>
    breaking('engine/run/ending').endingOf((sound, signal) => sound(signal) && 'time_limit'),
  'forgets that a list was read to the end of the range': () =>
    breaking('features/backfill/sql').readProgress(async (sound, ...given) => ({
      ...(await sound(...given)),
      read: null,
    })),
  "doesn't wait for the run that holds the warehouse": () =>
    breaking('engine/run/steps').runJob((sound, deps, plan) => sound(deps, { ...plan, wait: 0 })),
  'is ready whatever state the warehouse is in': () =>
    breaking('features/schedule/http').serve((sound, where, served) =>
      sound(where, { ...served, ready: async () => ({ ...(await served.ready()), ready: true }) }),
    ),
  'waits for the database as long as a run does': () =>
    breaking('shell/intime').inTime((_sound, work) => work),
  'names every incident': () =>
    breaking('features/health/alerttext').messageOf((sound, type, rows, teller) => {
      const message = sound(type, rows, teller)
      return { ...message, body: { ...message.body, incidents: rows as never } }
    }),
  'puts it into one message with what is new': () =>
    breaking('features/health/telling').parcels((_sound, rows) => [[...rows]]),
  "doesn't see that a run is at work": () => breaking('engine/run/lastrun').runningMs(() => null),
  "doesn't look for who holds it": () =>
    breaking('engine/warehouse/postgres/lockholder').lookAtTable(async () => {}),
  'stores nothing after a run': () => breaking('features/plan/afterrun').keepAfterRun(async () => {}),
  'fails where the events cannot be read': () =>
    breaking('features/events/watchinbox').watchInbox(async (sound, warehouse, work) => {
      const found = await sound(warehouse, work)
      if (found && 'unreadable' in found) throw new Error('unreadable')
      return found
    }),
  'answers requests under any name': () => breaking('shell/statusserver').mayAsk(() => true),
  'never reports a stale cursor': () =>
    breaking('features/health/incidents').findIncidents((sound, facts) =>
      sound(facts).filter(({ kind }) => kind !== 'stale'),
    ),
  'forgets who was notified': () => breaking('features/health/telling').retold((_sound, row) => row),
  'tells it as well': () => breaking('features/health/wholetrouble').swallowedBy(() => 'nothing'),
  'signs nothing': () =>
    breaking('shell/deliverto').postWebhook((sound, posting, how) =>
      sound({ ...posting, key: undefined }, how),
    ),
  "doesn't mask any secret": () => breaking('shell/log').secretsOf(() => []),
  'keeps trying for hours': () =>
    breaking('shell/send').sendPatiently((sound, message, how) =>
      sound(message, { ...how, budgetMs: how.budgetMs * 10 }),
    ),
  'calls the heartbeat of a failed run as if it had succeeded': () =>
    breaking('shell/send').beat((sound, url, _exit, clock, signal) => sound(url, 0, clock, signal)),
  'trusts every certificate': () =>
    breaking('engine/warehouse/postgres/connection').connecting((sound, ...given) => {
      const connecting = sound(...given)
      const { config } = connecting
      return config.ssl
        ? { ...connecting, config: { ...config, ssl: { rejectUnauthorized: false } } }
        : connecting
    }),

  // docs/operations.md, Metrics and Traces.
  'adds nothing to the totals of earlier runs': () =>
    breaking('engine/warehouse/state/counters').addToCounters(() => []),
  'reads gauges only once': () =>
    breaking('features/health/gauges').readGauges((sound, options) => (readGauges ??= sound(options))),
  'writes into the file while others read it': () =>
    breaking('features/health/textfile').writeTextfile((_sound, named, text, folder) =>
      writeFile(resolve(folder, named), text),
    ),
  'ends before the spans are sent': () => breaking('engine/base/trace').flushSpans(async () => {}),

  // How fresh lists are (docs/scale.md), and which of them are quiet.
  "ranks its lists by the resource's target": () =>
    breaking('features/targets/pollranking').targetIn((_sound, list, targetOf) => targetOf(list.resource)),
  'calls a list quiet as soon as 40 records should have come': () =>
    breaking('features/health/quietlists').quietAfter((sound, usual) => sound(usual) && (24 * 40) / usual),
  'counts polls that failed': () =>
    breaking('engine/run/freshness').Freshness.polled((sound, at, outcome) =>
      sound(at, { ...outcome, verdict: 'proven' }),
    ),

  // What runs after a run (docs/increments.md).
  'counts what was refused as told': () =>
    breaking('shell/deliverto').deliverTo(async (sound, ...given) => ({
      ...(await sound(...given)),
      delivered: true,
    })),
  'looks only at what the run itself reports': () =>
    breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
      const found = await sound(warehouse, range)
      return found.worst === null || range.from === null ? found : { ...found, lists: [] }
    }),
  'tells an entry that has accepted nothing only what comes from now on': () =>
    breaking('features/then/changes').readChanges((sound, warehouse, range) =>
      sound(warehouse, { ...range, from: range.from ?? range.through }),
    ),
  'takes rings that are told for covered, wherever the range ends': () =>
    breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
      const { rung } = await sound(warehouse, { ...range, through: '9' })
      return { ...(await sound(warehouse, range)), rung }
    }),
  'takes what the overlap shows again for a change': () =>
    breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
      const found = await sound(warehouse, range)
      const read = { tenant_id: 101, resource: 'notes', rows_upserted: 1, rows_deleted: 0 }
      return found.lists.length > 0 ? found : { ...found, lists: [read] }
    }),
  'tells without waiting for its turn': () =>
    breaking('features/then/tellingturn').inTurn(
      async (_sound, _context, _warehouse, _patience, work) => await work(),
    ),
  'tells runs that it started itself': () => breaking('features/then/tellentries').isNested(() => false),
  'runs under the lease': () =>
    breaking('features/then/following').followWork(async (sound, context, ended) => {
      const warehouse = await context.open('write')
      await using _ = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'then')
      return await sound(context, ended)
    }),
  'tells each ring at once': () => breaking('engine/config/thensection').thenEvery(() => 0),
}
