import type { Feature } from '../../shell/command.js'

export const telemetry: Feature = {
  settings: async () => (await import('./metricssettings.js')).metricsSection,
  // After the incidents, which they count.
  afterWork: async (context, { onRecord, exitCode }) => {
    if (onRecord && exitCode !== 2) await (await import('./writemetrics.js')).writeMetrics(context)
  },
  whileListening: async (context) => (await import('./writemetrics.js')).writeMetrics(context),
}
