import type { Feature } from '../../shell/command.js'
import { statusCommand } from './command.js'

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
