import type { Feature } from '../../shell/command.js'
import { scheduleCommand } from './command.js'

export const schedule: Feature = {
  command: scheduleCommand,
  tables: async () => (await import('./tables.js')).jobTables,
}
