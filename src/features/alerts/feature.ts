import type { Feature } from '../../shell/command.js'

export const alerts: Feature = {
  tables: async () => (await import('./tables.js')).alertTables,
}
