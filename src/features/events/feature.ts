import type { Feature } from '../../shell/command.js'
import { eventsCommand } from './command.js'

export const events: Feature = {
  command: eventsCommand,
  settings: async () => (await import('./settings.js')).eventSection,
  besides: async () => (await import('./inbox.js')).Inbox,
  besideWork: async (context, warehouse) => (await import('./beside.js')).besideRunsOf(context, warehouse),
}
