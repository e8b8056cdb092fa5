import type { Feature } from '../../shell/command.js'

export const targets: Feature = {
  settings: async () => (await import('./settings.js')).targetsSection,
  tables: async () => (await import('./tables.js')).targetTables,
  arrivals: async (context, warehouse) => (await import('./delays.js')).countingDelays(context, warehouse),
}

/** Its second section of the configuration. */
export const polling: Feature = {
  settings: async () => (await import('./settings.js')).pollingSection,
}
