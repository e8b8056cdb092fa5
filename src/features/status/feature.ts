import type { Feature } from '../../shell/command.js'
import { statusCommand } from './command.js'

export const status: Feature = {
  command: statusCommand,
  settings: async () => (await import('./settings.js')).statusSection,
}
