import type { Feature } from '../../shell/command.js'

export const events: Feature = {
  settings: async () => (await import('./settings.js')).eventSection,
  besideWork: async (context, warehouse) => (await import('./beside.js')).besideRunsOf(context, warehouse),
}
