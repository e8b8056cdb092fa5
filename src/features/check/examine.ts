/* Tries every part that a sync needs. Used by `check`, and by `init` on the configuration it wrote. */
import type { Int64 } from '../../../schema/resource.js'
import type { Stamps } from '../../engine/base/clock.js'
import { describeError, instead, Stop } from '../../engine/base/errors.js'
import type { Config } from '../../engine/config/config.js'
import type { Observer } from '../../engine/run/runreport.js'
import type { Source } from '../../engine/source/source.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { programsOf } from '../../shell/callcommand.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import type { Job } from '../jobs/jobfile.js'
import type { Trial } from './trials.js'

/** Fewer than in a run: a person looking for a problem doesn't want to wait for every retry. */
const attempts = 2

/** The trials of a configuration, in the order in which a sync needs the parts. */
export async function examine(invocation: Invocation): Promise<Trial[]> {
  const [{ loadConfiguration, warnOfOpen }, { withConfig }, { failure }, { shown }] = await Promise.all([
    import('../../shell/configuration.js'),
    import('../../shell/commandcontext.js'),
    import('./trials.js'),
    import('../../shell/progress.js'),
  ])
  let loaded: Awaited<ReturnType<typeof loadConfiguration>>
  try {
    loaded = await loadConfiguration(invocation)
  } catch (error) {
    return [failure('configuration', error, 2)]
  }
  const { config, variables, openFiles } = loaded
  return withConfig(invocation, config, async (context): Promise<Trial[]> => {
    warnOfOpen(context, openFiles)
    return [
      { of: 'configuration', file: config.file ?? '', exitCode: 0 },
      { of: 'environment', variables, exitCode: 0 },
      ...(config.api.proxy ? [{ of: 'proxy' as const, ...config.api.proxy, exitCode: 0 as const }] : []),
      ...(await shown(context, { what: 'listing the tenants' }, (shows) =>
        examineParts(context, config, shows),
      )),
      ...(await examineTextfile(config)),
      ...(await examineTargets(context)),
      ...(await examineJobs(context)),
      ...(await examineEvents(invocation)),
    ]
  })
}

/** Opening the warehouse asks the database nothing; what is wrong with it has a trial of its own. */
async function sourceBeside(context: CommandContext, stamps: Stamps): Promise<Source> {
  const warehouse = await context.open('read').catch(instead(undefined))
  return context.source(stamps, { most: attempts, siblings: 'perhaps', warehouse })
}

async function examineParts(context: CommandContext, config: Config, observer: Observer): Promise<Trial[]> {
  const [trying, { Stamps }, { viewsWanted }] = await Promise.all([
    import('./work.js'),
    import('../../engine/base/clock.js'),
    import('../analytics/work.js'),
  ])
  const { model, clock } = context
  const { signal } = context.invocation.signals
  const source = await sourceBeside(context, new Stamps(clock))
  const tenants = config.sync.tenants === 'all' ? null : config.sync.tenants
  const nowMicros = (): bigint => clock.nowMicros()
  const except = [...config.sync.exceptTenants, ...(await forgottenIn(context))]
  const { trials, largest, granted } = await trying.checkApi({
    source,
    model,
    tenants,
    except,
    nowMicros,
    signal,
    observer,
  })
  const stored = await trying.checkWarehouse(() => context.open('read'), config.warehouse.autoMigrate)
  const warehouse = stored.some(({ of }) => of === 'warehouse') ? await context.open('read') : undefined
  const there = warehouse && (await context.open('there'))
  // If the warehouse can't be opened, or not be written at all, its own trial says so, and not each table.
  const found = await context.open('read').then(trying.checkInterference).catch(instead([]))
  const tables = warehouse || found.every(({ exitCode }) => exitCode !== 3) ? found : []
  const names = new Set(stored.map((trial) => (trial.of === 'failure' ? trial.what : '')))
  const refused = (there ? await trying.checkChanges(there) : []).filter(
    (trial) => trial.of !== 'failure' || !names.has(trial.what),
  )
  const views = warehouse
    ? await trying.checkViews(warehouse, viewsWanted(context), config.warehouse.autoMigrate)
    : []
  const owner = warehouse ? await trying.checkOwner(warehouse, source.address) : []
  const isOurs = owner.length === 0
  const ways = largest
    ? await trying.checkWays({ source, ...largest, nowMicros, signal }, isOurs ? there : undefined)
    : []
  const revoked =
    warehouse && isOurs && granted ? await trying.checkRevoked(warehouse, { tenants, except, granted }) : []
  const synced = granted?.filter((tenant) => !except.includes(tenant))
  const inVain = synced ? await examineTargetTenants(config, synced) : []
  const kept = warehouse ? await examineKept(context, warehouse, nowMicros()) : []
  return [
    ...trials,
    ...revoked,
    ...inVain,
    ...ways,
    ...stored,
    ...tables,
    ...refused,
    ...views,
    ...kept,
    ...owner,
  ]
}

/** What features keep in the warehouse, or beside it. */
async function examineKept(
  context: CommandContext,
  warehouse: Warehouse,
  nowMicros: bigint,
): Promise<Trial[]> {
  const [{ checkEvents, checkForgotten, checkWorks }, { forgottenFile }] = await Promise.all([
    import('./work.js'),
    import('../../shell/forgottenfile.js'),
  ])
  return [
    ...(await examineReaders(context, warehouse)),
    ...(await checkWorks(warehouse)),
    ...(await checkForgotten(warehouse, forgottenFile(context.invocation))),
    ...(await checkEvents(warehouse, nowMicros)),
    ...(await examineQueue(context.config, warehouse)),
  ]
}

/** Whether the queue for workers can be made, where rounds are sent there. */
async function examineQueue(config: Config, warehouse: Warehouse): Promise<Trial[]> {
  const { scheduleSettings } = await import('../../engine/config/schedulesection.js')
  if (scheduleSettings(config).shards === 0) return []
  const found = await warehouse.trying(() => warehouse.dialect.deliveries.obstacle())
  const { failure } = await import('./trials.js')
  return found
    ? [failure('queue for workers', new Stop(found.problem, { exitCode: 3, hint: found.hint }), 3)]
    : []
}

/**
 * Roles with grants: rights that they were given since may show them other tenants. That everyone may create in `public`
 * is as every older Postgres was made, so it is told and fails nothing.
 */
async function examineReaders({ config }: CommandContext, warehouse: Warehouse): Promise<Trial[]> {
  const [{ watchReaders }, { reportSettings }] = await Promise.all([
    import('../grants/work.js'),
    import('../../engine/config/reportsection.js'),
  ])
  const found = await watchReaders(warehouse, warehouse.dialect.views(reportSettings(config).schema))
  return found.map((each) => ({ of: 'reader', ...each, exitCode: each.role === null ? 0 : 1 }))
}

/** Forgotten tenants are not requested. If the warehouse can't be read, its own trial reports that. */
async function forgottenIn(context: CommandContext): Promise<Iterable<Int64>> {
  const { forgottenTenants } = await import('../../engine/warehouse/state/tenants.js')
  try {
    return await forgottenTenants(await context.open('read'))
  } catch (error) {
    context.log.debug(
      { error: describeError(error) },
      'Could not read from the warehouse which tenants are forgotten',
    )
    return []
  }
}

async function examineTextfile(config: Config): Promise<Trial[]> {
  const { metricsSettings } = await import('../health/metricssettings.js')
  const { textfile } = metricsSettings(config)
  if (textfile === undefined) return []
  const [{ tryTextfile }, { failure }] = await Promise.all([
    import('../health/textfile.js'),
    import('./trials.js'),
  ])
  const found = await tryTextfile(textfile, config.folder).then(
    () => undefined,
    (error: unknown) => failure('metrics', error, 1),
  )
  return found ? [found] : []
}

/** The files of jobs, the programs of `then`, and with --alerts everybody whom alerts and jobs would call. */
async function examineJobs(context: CommandContext): Promise<Trial[]> {
  const [{ dueInVain, jobsDueInVain, readJobs }, { checkThen }, { failure }] = await Promise.all([
    import('../jobs/jobfiles.js'),
    import('./thencommands.js'),
    import('./trials.js'),
  ])
  const { jobs, broken } = await readJobs(context)
  return [
    ...broken.map(({ name, error }) => failure(`job ${name}`, error, 1)),
    ...jobsDueInVain(context, jobs).map((job): Trial => ({ of: 'due job', job, ...dueInVain, exitCode: 1 })),
    ...(await checkThen(context, jobs)),
    ...(context.invocation.options.alerts === true ? await examineAlerts(context, jobs) : []),
  ]
}

/** Targets that change nothing. */
async function examineTargets({ config }: CommandContext): Promise<Trial[]> {
  const { targetedResources } = await import('../../engine/config/targetsection.js')
  const { resources: synced } = config.sync
  return targetedResources(config).flatMap(({ resource, path }): Trial[] => {
    const isDisabled = config.resources[resource]?.enabled === false
    const isSynced = synced === 'all' || synced.includes(resource)
    return isDisabled || !isSynced ? [{ of: 'target', resource, path, isDisabled, exitCode: 0 }] : []
  })
}

async function examineTargetTenants(config: Config, granted: readonly Int64[]): Promise<Trial[]> {
  const { targetsInVain } = await import('../../engine/config/targetsection.js')
  const unknown = targetsInVain(config, { known: granted, except: config.sync.exceptTenants })
  return unknown.map((tenantId) => ({ of: 'target tenant', tenantId, granted, exitCode: 0 }))
}

async function examineEvents({ options, signals }: Invocation): Promise<Trial[]> {
  if (options.webhookUrl === undefined) return []
  const { examineWebhook } = await import('./webhook.js')
  return examineWebhook(String(options.webhookUrl), signals.signal)
}

async function examineAlerts(context: CommandContext, jobs: readonly Job[]): Promise<Trial[]> {
  const [{ testAlerts }, { alertSettings }, { secretsOf }] = await Promise.all([
    import('../health/testalerts.js'),
    import('../health/alertsettings.js'),
    import('../../shell/log.js'),
  ])
  const { config, clock, invocation } = context
  const { warehouse } = config
  const heartbeats = jobs.flatMap(({ name: job, heartbeat: address }) => (address ? [{ job, address }] : []))
  const label = warehouse.label
  const tests = await testAlerts(alertSettings(config), heartbeats, {
    clock,
    label,
    secrets: secretsOf(config),
    programs: programsOf(context),
    signal: invocation.signals.signal,
  })
  const none: Trial = {
    of: 'untried',
    what: 'alerts',
    found: 'there is neither a rule nor a heartbeat, expected at least one',
    hint: 'Write a rule into the configuration: "alerts": {"rules": [...]} (docs/operations.md, Alerts)',
    exitCode: 1,
  }
  const trials = tests.map(
    ({ whom, sent: { delivered, found } }): Trial => ({
      of: 'alert',
      whom,
      found,
      exitCode: delivered ? 0 : 1,
    }),
  )
  return tests.length > 0 ? trials : [none]
}
