import type { Feature } from '../../shell/command.js'

export const analytics: Feature = {
  settings: async () => (await import('./settings.js')).reportSection,
  tables: async () => (await import('./tables.js')).analyticsTables,
  besideRows: async (run) => (await import('./refresh.js')).refreshBesideRows(run),
}
