import type { Feature } from '../../shell/command.js'

export const telemetry: Feature = {
  settings: async () => (await import('./settings.js')).metricsSection,
  // After the incidents, which they count.
  afterWork: async (context, { onRecord, exitCode }) => {
    if (onRecord && exitCode !== 2) await (await import('./work.js')).writeMetrics(context)
  },
  whileListening: async (context) => (await import('./work.js')).writeMetrics(context),
}
