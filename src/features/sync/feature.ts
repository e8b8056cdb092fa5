import type { Feature } from '../../shell/command.js'
import { syncCommand } from './command.js'

export const sync: Feature = {
  command: syncCommand,
  step: async () => (await import('./step.js')).syncAsStep,
}
