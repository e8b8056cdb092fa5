import type { Feature } from '../../shell/command.js'
import { eventsCommand } from './command.js'

export const events: Feature = {
  command: eventsCommand,
  settings: async () => (await import('./settings.js')).eventSection,
  besideTables: async () => (await import('./care.js')).inboxCare,
  besideWork: async (context, warehouse) => (await import('./beside.js')).besideRunsOf(context, warehouse),
}
