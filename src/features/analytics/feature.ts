import type { Feature } from '../../shell/command.js'

export const analytics: Feature = {
  tables: async () => (await import('./tables.js')).analyticsTables,
}
