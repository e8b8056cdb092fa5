import type { Feature } from '../../shell/command.js'

export const analytics: Feature = {
  settings: async () => (await import('../../engine/config/reportsection.js')).reportSection,
  tables: async () => (await import('./tables.js')).analyticsTables,
  afterMigration: async (context, warehouse) => {
    await (await import('./work.js')).makeViewsOf(context, warehouse)
  },
  readRules: async (context, warehouse, tenantId) =>
    (await import('./work.js')).rulesNow(context, warehouse, tenantId),
  shapesRows: async (config) =>
    (await import('../../engine/config/reportsection.js')).shapingSettings(config),
  names: async (config) =>
    (await import('../../engine/config/reportsection.js')).reportSettings(config).names,
  besideRows: async (run) => (await import('./refresh.js')).refreshBesideRows(run),
}
