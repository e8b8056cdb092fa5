/**
 * Notifies people. At the end of every command that records a run, the current incidents are compared with those stored
 * in the warehouse, and each rule is notified once of what opened and once of what is over. sync_alerts stores what was
 * reported, so runs by cron and by `schedule` agree.
 *
 * A rule's entry in `told`:
 *   none      the rule hasn't heard of it.
 *   claimed   a process is about to report it; the claim of a process that died expires.
 *   opened    it was reported, and its receiver accepted it. What wasn't accepted stays unreported, and the next run
 *             tries again. Reporting twice after a crash was judged less bad than never; the message id is the same.
 *   resolved  the rule was told that it is over.
 *
 * Nothing here throws: an alert that fails must not make a good run a bad one.
 */

import type { Int64 } from '../../../schema/resource.js'
import { allSettled } from '../../engine/base/allsettled.js'
import { describeError, isExpected } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { readLastRun } from '../../engine/run/lastrun.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { Programs } from '../../shell/callcommand.js'
import type { AlertSettings } from './alertsettings.js'
import { type AlertStateSettings, keptFrom, updateIncidents } from './alertstate.js'
import { installationOf, type Message, messageOf, type Teller } from './alerttext.js'
import type { KeptIncident } from './incident.js'
import { type EndedRun, incidentKey } from './incidentchanges.js'
import { incidentsSince, onIncidents, openIncidentsOf, storeIncidents } from './sql.js'
import {
  isHeard,
  type Messages,
  messagesFor,
  type NamedRule,
  namedRules,
  parcels,
  retold,
  ruleName,
} from './telling.js'
import { ofShard, thrownTrouble } from './wholetrouble.js'

/*
 * When a tenant is forgotten, anyone notified of its incidents is told that they are over: afterwards nothing knows of
 * them.
 */

/** Milliseconds. This can't be reported later. */
const budgetMs = 15_000

/**
 * Reads the tenant's open incidents before it is erased. Returns a function that reports them as over once it is. That
 * function never throws: the tenant is erased, whether or not anyone hears of it.
 */
export async function farewellOf(
  warehouse: Warehouse,
  tenantId: Int64,
  {
    alerts,
    label,
    tenantNames,
    notice,
    ...how
  }: Pick<
    AlertOptions,
    'alerts' | 'clock' | 'label' | 'tenantNames' | 'secrets' | 'programs' | 'signal' | 'notice'
  >,
): Promise<() => Promise<void>> {
  const rules = namedRules(alerts.rules)
  const open = rules.length === 0 ? [] : await openIncidentsOf(warehouse, tenantId)
  const isTold = ({ told }: KeptIncident, id: string): boolean => told[id]?.opened !== undefined
  return async () => {
    await Promise.all(
      rules.map(async (rule) => {
        const rows = open.filter((row) => isTold(row, rule.id))
        if (rows.length === 0) return
        const teller = tellerOf({ alerts, label, tenantNames }, { runId: null, job: null })
        const message = messageOf('resolved', rows, teller)
        const { deliver } = await import('./deliver.js')
        const { delivered, found } = await deliver(rule, message, { ...how, budgetMs })
        // No later run can tell it: nothing knows of the tenant any more.
        if (!delivered)
          notice('That its incidents are over was not accepted', {
            rule: ruleName(rule),
            found,
            incidents: rows.length,
          })
      }),
    )
  }
}

export interface AlertOptions extends AlertStateSettings {
  readonly alerts: AlertSettings
  /** The warehouse's address without its password. */
  readonly label: string
  /** Opens the warehouse; undefined if there is none yet. Throws if opening it is what failed. */
  readonly warehouse: () => Promise<Writer | undefined>
  /** Values that must not reach a program or appear in output. */
  readonly secrets: readonly string[]
  readonly programs: Programs
  /** Reports a message that wasn't accepted. */
  readonly notice: (message: string, fields: Record<string, unknown>) => void
  /** Milliseconds for all messages together; default 30,000. */
  readonly budgetMs?: number
  /** Someone is waiting at a terminal for the command to end. */
  readonly isAwaited?: boolean
  /** `report.tenantNames`: the names of the shops. */
  readonly tenantNames?: Readonly<Record<string, string>> | undefined
  /** Fires when the program is shutting down. The next run reports what nobody has accepted by then. */
  readonly signal?: AbortSignal
}

/** A finished run must not wait long for someone else's server or program. */
const usualBudgetMs = 30_000
/** The same for a webhook while someone waits at a terminal: the next run reports what isn't accepted now. */
const awaitedMs = 3000

interface Task extends Messages {
  readonly rule: NamedRule
}

/** Updates the incidents after a run and notifies the rules. Throws nothing but faults of ours. */
export async function tellAfter(options: AlertOptions, run: EndedRun): Promise<void> {
  const { notice } = options
  try {
    const warehouse = await options.warehouse()
    if (warehouse === undefined) {
      if (run.error !== undefined) await tellUnkept(options, run)
      return
    }
    const tasks = await findTasks(options, warehouse, run)
    const teller = tellerOf(options, { ...run, runId: run.runId ?? (await failedRunId(warehouse, run)) })
    // A rule whose news can't be recorded is no other rule's trouble.
    await allSettled(tasks.map((task) => carryOut(options, warehouse, { task, teller })))
  } catch (error) {
    const found = describeError(error)
    // What ended the run is printed as its own last words; a second time, it would look like a second fault.
    if (run.error === undefined || describeError(run.error) !== found)
      notice('Incidents could not be stored; the next run reports them again', { error: found })
    if (run.error !== undefined) await tellUnkept(options, run)
    if (!isExpected(error)) throw error
  }
}

/** A run that an error ended gives no report, but may be on record: for example, its credentials were refused. */
async function failedRunId(
  warehouse: Warehouse,
  { error, startedAt, job, shard }: EndedRun,
): Promise<string | null> {
  if (error === undefined) return null
  const last = await warehouse.read((db) => readLastRun(db, [], shard))
  const isIts = last !== null && last.job === job && (last.started_at ?? '') >= startedAt
  return isIts ? last.run_id : null
}

/**
 * The run failed, and the warehouse that stores what was reported is down as well. Every run reports it until the
 * warehouse is back, ignoring `after`, and its end is never reported. Silence was judged worse.
 */
async function tellUnkept(options: AlertOptions, run: EndedRun): Promise<void> {
  const incident = ofShard(run.shard, thrownTrouble(run.error, fromMicros(options.clock.nowMicros())))
  const teller = tellerOf(options, run)
  const told = messageOf('opened', [incident], teller)
  const listening = namedRules(options.alerts.rules).filter(({ rule }) => isHeard(rule, incident))
  await Promise.all(
    listening.map((rule) =>
      deliverOrSay(options, { rule, message: told, incidents: 1, endsAt: endOf(options, rule) }),
    ),
  )
}

/** Updates the incidents, and claims what to report to each rule. */
const findTasks = (options: AlertOptions, warehouse: Writer, run: EndedRun): Promise<Task[]> => {
  const rules = namedRules(options.alerts.rules)
  return updateIncidents(warehouse, options, { run, rules }, (rows, nowMicros) => {
    const claimed = fromMicros(nowMicros)
    const tasks = rules
      .map((rule) => ({ rule, ...messagesFor(rule, rows, nowMicros) }))
      .filter(({ opened, resolved }) => opened.length + resolved.length > 0)
    const changed = new Map<string, KeptIncident>()
    for (const { rule, opened, resolved } of tasks)
      for (const row of [...opened, ...resolved]) {
        const now = changed.get(incidentKey(row)) ?? row
        changed.set(
          incidentKey(row),
          retold(now, rule.id, (told) => ({ ...told, claimed })),
        )
      }
    return { changed: [...changed.values()], result: tasks }
  })
}

const tellerOf = (
  { alerts, label, tenantNames }: Pick<AlertOptions, 'alerts' | 'label' | 'tenantNames'>,
  { runId, job }: Pick<EndedRun, 'runId' | 'job'>,
): Teller => ({
  runId,
  job,
  warehouse: label,
  tenantNames,
  name: installationOf(alerts),
})

/** The deadline for notifying a rule. */
function endOf({ clock, budgetMs = usualBudgetMs, isAwaited }: AlertOptions, { rule }: NamedRule): number {
  const most = isAwaited === true && rule.webhook !== undefined ? awaitedMs : budgetMs
  return Number(clock.nowMicros() / 1000n) + Math.min(most, budgetMs)
}

const isBegun = (row: KeptIncident, { id }: NamedRule, accepted: ReadonlySet<string>): boolean =>
  row.told[id]?.opened !== undefined || accepted.has(incidentKey(row))

/** Notifies a rule of what opened, then of what is over, and records what was accepted. */
async function carryOut(
  options: AlertOptions,
  warehouse: Writer,
  { task, teller }: { readonly task: Task; readonly teller: Teller },
): Promise<void> {
  const { rule } = task
  const endsAt = endOf(options, rule)
  const taken = { opened: new Set<string>(), resolved: new Set<string>() }
  for (const type of ['opened', 'resolved'] as const) {
    // What opened and is over in the same run: nobody hears of its end who hasn't accepted its beginning.
    const rows = task[type].filter((row) => type === 'opened' || isBegun(row, rule, taken.opened))
    for (const parcel of parcels(rows, rule)) {
      const message = messageOf(type, parcel, teller)
      if (!(await deliverOrSay(options, { rule, message, incidents: parcel.length, endsAt }))) continue
      for (const row of parcel) taken[type].add(incidentKey(row))
    }
  }
  const keys = new Set([...task.opened, ...task.resolved].map(incidentKey))
  await onIncidents(warehouse, async (session) => {
    const nowMicros = options.clock.nowMicros()
    const known = await incidentsSince(warehouse.db, session, keptFrom(nowMicros))
    const noted = known
      .filter((row) => keys.has(incidentKey(row)))
      .map((row) => {
        const now = fromMicros(nowMicros)
        return retold(row, rule.id, ({ claimed: _claimed, ...told }) => ({
          ...told,
          opened: taken.opened.has(incidentKey(row)) ? now : told.opened,
          resolved: taken.resolved.has(incidentKey(row)) ? now : told.resolved,
        }))
      })
    for (const statement of storeIncidents(warehouse.db, noted)) await session.run(statement)
  })
}

/** Whether the message was accepted. */
async function deliverOrSay(
  options: AlertOptions,
  {
    rule,
    message,
    incidents,
    endsAt,
  }: {
    readonly rule: NamedRule
    readonly message: Message
    readonly incidents: number
    readonly endsAt: number
  },
): Promise<boolean> {
  const { clock, secrets, programs, notice, signal } = options
  const budgetMs = Math.max(1000, endsAt - Number(clock.nowMicros() / 1000n))
  // Most runs have nothing to tell.
  const { deliver } = await import('./deliver.js')
  const { delivered, found } = await deliver(rule, message, {
    clock,
    secrets,
    programs,
    budgetMs,
    signal,
  })
  if (!delivered)
    notice('An alert was not accepted; the next run tries again', {
      rule: ruleName(rule),
      found,
      incidents,
    })
  return delivered
}
