import { type Command, choiceOptions, type Feature } from '../../shell/command.js'

const statusCommand: Command = {
  name: 'status',
  group: 'Watch it',
  summary: 'freshness, watermark, row count and last error per tenant and resource',
  help: `
Exits with 1 if anything is stale (older than status.staleAfter), failing or never synced; if deletions were checked once,
but not for status.deletesUncheckedAfter; if a grant was revoked; if the last run died, or the last snapshot, report or what
runs after a run (then) failed; if the warehouse is another source's, no worker takes what waits, events cannot be read, or
forgotten customers may be back; or while an incident is open. Lists that bring nothing new although they usually do are
shown, and don't change that. Reads only the warehouse.`,
  examples: [
    ['shopsync status', 'what needs attention, first'],
    ['shopsync status --tenant 101 --resource notes', 'one tenant and resource'],
    ['shopsync status --json', 'every tenant and resource, as a document'],
  ],
  options: [
    { flags: '--failing', description: 'only the tenants and resources that need attention' },
    ...choiceOptions,
  ],
  readsAnyEncoding: true,
  run: async (invocation) => {
    const [
      { withContext },
      { onlyFailing, readStatus },
      { headlineOf, statusText, statusTroubles },
      { statusSettings },
      { reportSettings },
      { freshnessSettings },
      { scheduleSettings },
      { readThenCheck },
      { forgottenFile },
    ] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./statusdocument.js'),
      import('./words.js'),
      import('../../engine/config/attention.js'),
      import('../../engine/config/reportsection.js'),
      import('../../engine/config/targetsection.js'),
      import('../../engine/config/schedulesection.js'),
      import('../../engine/warehouse/layout/migrate.js'),
      import('../../shell/forgottenfile.js'),
    ])
    return withContext(invocation, async (context) => {
      const { config } = context
      const { staleAfter, deletesUncheckedAfter } = statusSettings(config)
      const { tenants, resources } = context.choice
      const warehouse = await context.open('read')
      await context.refuseUnknown()
      const nowMicros = context.clock.nowMicros()
      const enabled = context.model.list.filter((entry) => entry.enabled).map((entry) => entry.name)
      const options = {
        warehouse,
        label: config.warehouse.label,
        source: config.api,
        tenants,
        exceptTenants: config.sync.exceptTenants,
        resources: enabled.filter((name) => resources?.includes(name) ?? true),
        named: resources,
        staleAfterMs: staleAfter,
        deletesUncheckedAfterMs: deletesUncheckedAfter,
        shards: scheduleSettings(config).shards,
        targets: freshnessSettings(config),
        forgottenFile: forgottenFile(invocation),
        nowMicros,
      }
      const report = await readThenCheck(warehouse, () => readStatus(options))
      const failing = invocation.options.failing === true
      const { tenantNames } = reportSettings(config)
      const { out } = invocation
      // Of many thousand cursors, the words and the document take a third of the time each.
      if (out.json) {
        const shown = failing ? onlyFailing(report) : report
        await out.document({ headline: headlineOf(report), ...shown })
      } else if (!out.quiet) out.say(statusText(report, { failing, tenantNames, terminal: out.terminal }))
      if (out.quiet) out.complain(statusTroubles(report))
      return report.healthy ? 0 : 1
    })
  },
}

/* Three features of one room, because each has its own section of the configuration. */

export const status: Feature = {
  command: statusCommand,
  settings: async () => (await import('../../engine/config/attention.js')).statusSection,
}

export const alerts: Feature = {
  settings: async () => (await import('./alertsettings.js')).alertSection,
  tables: async () => (await import('./tables.js')).alertTables,
  afterWork: async (context, ended) => (await import('./alerting.js')).tellAfterWork(context, ended),
  whileListening: async (context) => (await import('./alerting.js')).tellWhileListening(context),
}

export const metrics: Feature = {
  settings: async () => (await import('./metricssettings.js')).metricsSection,
  // After the incidents, which they count.
  afterWork: async (context, { onRecord, exitCode }) => {
    if (onRecord && exitCode !== 2) await (await import('./writemetrics.js')).writeMetrics(context)
  },
  whileListening: async (context) => (await import('./writemetrics.js')).writeMetrics(context),
}
