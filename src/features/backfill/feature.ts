import type { Feature } from '../../shell/command.js'
import { backfillCommand } from './command.js'

export const backfill: Feature = {
  command: backfillCommand,
  tables: async () => (await import('./tables.js')).backfillTables,
  step: async () => (await import('./step.js')).backfillAsStep,
}
