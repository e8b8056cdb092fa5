import type { Feature } from '../../shell/command.js'

export const telemetry: Feature = {
  settings: async () => (await import('./settings.js')).metricsSection,
}
