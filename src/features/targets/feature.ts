import type { Feature } from '../../shell/command.js'

export const targets: Feature = {
  settings: async () => (await import('../../engine/config/targetsection.js')).targetsSection,
  tables: async () => (await import('./tables.js')).targetTables,
  targetTimes: async (config) => (await import('../../engine/config/targetsection.js')).timesIn(config),
  dueRound: async (mode, ...chosen) =>
    mode === 'sync'
      ? (await import('./due.js')).syncRound(...chosen)
      : (await import('./checkround.js')).checkRound(...chosen),
  arrivals: async (context, warehouse) => {
    const { freshnessSettings } = await import('../../engine/config/targetsection.js')
    const settings = freshnessSettings(context.config)
    return settings && (await import('./delays.js')).countingDelays(settings, context, warehouse)
  },
}

/** Its second configuration section. */
export const polling: Feature = {
  settings: async () => (await import('../../engine/config/targetsection.js')).pollingSection,
}
