import type { Feature } from '../../shell/command.js'

export const alerts: Feature = {
  settings: async () => (await import('./alertsettings.js')).alertSection,
  tables: async () => (await import('./tables.js')).alertTables,
  afterWork: async (context, ended) => (await import('./alerting.js')).tellAfterWork(context, ended),
  whileListening: async (context) => (await import('./alerting.js')).tellWhileListening(context),
}
