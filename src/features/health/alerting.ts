/*
 * What alerts do after every command that writes: report incidents and call heartbeats. A hook of the feature
 * (command.ts).
 */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { reportSettings } from '../../engine/config/reportsection.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { programsOf } from '../../shell/callcommand.js'
import type { CommandContext, FinishedWork } from '../../shell/command.js'
import { secretsOf } from '../../shell/log.js'
import { alertSettings } from './alertsettings.js'
import type { AlertOptions } from './tellrules.js'

/** Reports what needs attention and what is resolved, and calls the run's heartbeats. */
export async function tellAfterWork(context: CommandContext, ended: FinishedWork): Promise<void> {
  const { isOfTheRun } = await import('./wholetrouble.js')
  const { error, exitCode, onRecord } = ended
  // A shard can't know how the others end. 2: nothing was done. 3: nothing could start. 4: another run is at work, and it calls
  // the heartbeat itself. 70: nothing says what was done.
  const code = ended.shard ? null : ended.beats ? ended.beats(exitCode) : exitCode
  const isTold = onRecord && exitCode <= 1 && code !== null && code <= 1
  const beats = isTold ? callHeartbeats(context, { ...ended, exitCode: code }) : undefined
  if (error === undefined || isOfTheRun(error)) await tellRules(context, ended)
  await beats
}

async function tellRules(context: CommandContext, ended: FinishedWork): Promise<void> {
  const runId = ended.reports.at(-1)?.run_id ?? null
  const { tellAfter } = await import('./tellrules.js')
  const notice = (message: string, fields: Record<string, unknown>): void => warn(context, message, fields)
  await tellAfter({ ...(await optionsOf(context)), notice }, { ...ended, runId })
}

/** Reports incidents found in the warehouse's state. Where only events are received, no run ends to do so. */
export async function tellWhileListening(context: CommandContext): Promise<void> {
  const { tellAfter } = await import('./tellrules.js')
  const notice = (message: string, fields: Record<string, unknown>): void => context.log.warn(fields, message)
  const startedAt = fromMicros(context.clock.nowMicros())
  await tellAfter(
    { ...(await optionsOf(context)), notice },
    { runId: null, job: null, startedAt, reports: [], isLook: true },
  )
}

async function optionsOf(context: CommandContext): Promise<Omit<AlertOptions, 'notice'>> {
  const { alertStateSettings } = await import('./alertstatesettings.js')
  const { config, model, clock, invocation } = context
  return {
    ...alertStateSettings(config, model, clock),
    alerts: alertSettings(config),
    label: config.warehouse.label,
    tenantNames: reportSettings(config).tenantNames,
    isAwaited: invocation.out.isRead,
    warehouse: () => context.open('there'),
    secrets: secretsOf(config),
    programs: programsOf(context),
    signal: invocation.signals.signal,
  }
}

/**
 * Called before a tenant is forgotten. Returns what afterwards tells everyone who heard of its incidents that they are
 * over.
 */
export async function farewell(
  context: CommandContext,
  warehouse: Warehouse,
  tenantId: Int64,
): Promise<() => Promise<void>> {
  const { farewellOf } = await import('./tellrules.js')
  const { config, clock, invocation } = context
  const alerts = alertSettings(config)
  const { signal } = invocation.signals
  const label = config.warehouse.label
  const secrets = secretsOf(config)
  const { tenantNames } = reportSettings(config)
  const notice = (message: string, fields: Record<string, unknown>): void => warn(context, message, fields)
  const said = { alerts, clock, label, tenantNames, secrets, programs: programsOf(context), signal, notice }
  return farewellOf(warehouse, tenantId, said)
}

/** --quiet silences the log, and nobody notices alerts that don't arrive. cron mails this line. */
function warn({ log, invocation }: CommandContext, message: string, fields: Record<string, unknown>): void {
  log.warn(fields, message)
  const facts = Object.entries(fields).map(([name, value]) => `${name} ${value}`)
  invocation.out.complain([`${message}: ${facts.join('; ')}. Type shopsync check --alerts`])
}

async function callHeartbeats(
  context: CommandContext,
  { job, heartbeat: ofJob, exitCode }: FinishedWork,
): Promise<void> {
  const { config, clock, invocation } = context
  const { beat } = await import('../../shell/send.js')
  const { signal } = invocation.signals
  // A person at a terminal is waiting for the command to end, not for another server.
  const within = invocation.out.isRead ? 3000 : undefined
  const all = [
    ['alerts.heartbeat', alertSettings(config).heartbeat],
    [`heartbeat of ${job}`, ofJob],
  ] as const
  await Promise.all(
    all.map(async ([heartbeat, address]) => {
      if (address === undefined) return
      const { delivered, found } = await beat(address.reveal(), exitCode, clock, signal, within)
      if (!delivered) warn(context, 'A heartbeat was not accepted', { heartbeat, found })
    }),
  )
}
