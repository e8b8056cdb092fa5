/*
 * What stands around every command that records a run: at its end, incidents are told, heartbeats are called and metrics
 * are written. Used by the commands that are one run, and by jobs.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import type { Secret } from '../../engine/config/secret.js'
import { now } from '../../engine/run/runcontext.js'
import type { RunReport } from '../../engine/run/runreport.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/commandcontext.js'
import { secretsOf } from '../../shell/secrets.js'
import { reportSettings } from '../analytics/settings.js'
import { writeMetrics } from '../telemetry/work.js'
import { alertSettings } from './settings.js'

/** Which run it is, for those who are told. */
export interface RunName {
  readonly job: string | null
  /** The job's own, beside that of the configuration. */
  readonly heartbeat?: Secret | undefined
}

/**
 * Does the work of a run, which notes what its parts report, and tells afterwards what needs somebody and what is over.
 * A run that a signal has ended tells nothing, and calls no heartbeat: it is to end now, and did not come to its end.
 */
export async function alerting(
  context: CommandContext,
  name: RunName,
  work: (note: (report: RunReport) => void) => Promise<number>,
): Promise<number> {
  const { signal } = context.invocation.signals
  const startedAt = now(context)
  const reports: RunReport[] = []
  const end = (exitCode: number, error?: unknown): Promise<void> =>
    signal.aborted
      ? Promise.resolve()
      : afterRun(context, name, { startedAt, reports, exitCode, ...(error !== undefined && { error }) })
  try {
    const exitCode = await work((report) => void reports.push(report))
    await end(exitCode)
    return exitCode
  } catch (error) {
    await end(error instanceof Stop ? error.exitCode : 1, error)
    throw error
  }
}

/** Tells afterwards what needs somebody, of work that is on no run's record: no heartbeat is called. */
export async function telling<T>(context: CommandContext, work: () => Promise<T>): Promise<T> {
  const { signal } = context.invocation.signals
  const ended = { startedAt: now(context), reports: [], exitCode: 0 }
  const nameless = { job: null }
  try {
    const done = await work()
    if (!signal.aborted) await tellRules(context, nameless, ended)
    return done
  } catch (error) {
    const { isOfTheRun } = await import('./wholetrouble.js')
    if (!signal.aborted && isOfTheRun(error)) await tellRules(context, nameless, { ...ended, error })
    throw error
  }
}

interface Ended {
  readonly startedAt: string
  readonly reports: readonly RunReport[]
  readonly exitCode: number
  readonly error?: unknown
}

async function afterRun(context: CommandContext, name: RunName, ended: Ended): Promise<void> {
  const { isOfTheRun } = await import('./wholetrouble.js')
  const { error, exitCode } = ended
  // 2: nothing was done. 3: nothing could begin. 4: another run is at work, which calls the heartbeat itself.
  const beats = exitCode <= 1 ? callHeartbeats(context, name, exitCode) : undefined
  if (error === undefined || isOfTheRun(error)) await tellRules(context, name, ended)
  // After the incidents, which they count.
  if (exitCode !== 2) await writeMetrics(context)
  await beats
}

async function tellRules(context: CommandContext, { job }: RunName, ended: Ended): Promise<void> {
  const [{ tellAfter }, { ledgerSettings }] = await Promise.all([
    import('./work.js'),
    import('./alertstatesettings.js'),
  ])
  const { config, model, clock, invocation } = context
  const runId = ended.reports.at(-1)?.run_id ?? null
  await tellAfter(
    {
      ...ledgerSettings(config, model, clock),
      alerts: alertSettings(config),
      label: config.warehouse.label,
      tenantNames: reportSettings(config).tenantNames,
      isAwaited: invocation.out.isRead,
      warehouse: () => context.warehouseThere(),
      secrets: secretsOf(config),
      programs: invocation.io,
      notice: (message, fields) => warn(context, message, fields),
      signal: invocation.signals.signal,
    },
    { ...ended, runId, job },
  )
}

/** Before a tenant is forgotten: what tells afterwards, to whoever was told of its incidents, that they are over. */
export async function farewell(
  { config, clock, invocation }: CommandContext,
  warehouse: Warehouse,
  tenantId: Int64,
): Promise<() => Promise<void>> {
  const { farewellOf } = await import('./forgotten.js')
  const alerts = alertSettings(config)
  const { signal } = invocation.signals
  const label = config.warehouse.label
  const secrets = secretsOf(config)
  const { tenantNames } = reportSettings(config)
  const said = { alerts, clock, label, tenantNames, secrets, programs: invocation.io, signal }
  return farewellOf(warehouse, tenantId, said)
}

/** Under --quiet nothing is logged, and alerts that reach nobody would be missed by nobody: cron mails this line. */
function warn({ log, invocation }: CommandContext, message: string, fields: Record<string, unknown>): void {
  log.warn(fields, message)
  const facts = Object.entries(fields).map(([name, value]) => `${name} ${value}`)
  invocation.out.complain([`${message}: ${facts.join('; ')}. Type shopsync check --alerts`])
}

async function callHeartbeats(
  context: CommandContext,
  { job, heartbeat: ofJob }: RunName,
  exitCode: number,
): Promise<void> {
  const { config, clock, invocation } = context
  const { beat } = await import('./heartbeat.js')
  const { signal } = invocation.signals
  // Somebody who sits at a terminal waits for the command to end, not for another server.
  const within = invocation.out.isRead ? 3000 : undefined
  const all = [
    ['alerts.heartbeat', alertSettings(config).heartbeat],
    [`heartbeat of ${job}`, ofJob],
  ] as const
  await Promise.all(
    all.map(async ([heartbeat, address]) => {
      if (address === undefined) return
      const { delivered, found } = await beat(address.reveal(), exitCode, clock, signal, within)
      if (!delivered) warn(context, 'A heartbeat was not taken', { heartbeat, found })
    }),
  )
}
