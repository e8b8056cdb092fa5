import type { Feature } from '../../shell/command.js'
import { snapshotCommand } from './command.js'

export const snapshot: Feature = {
  command: snapshotCommand,
  tables: async () => (await import('./tables.js')).snapshotTables,
  step: async () => (await import('./step.js')).snapshotAsStep,
}
