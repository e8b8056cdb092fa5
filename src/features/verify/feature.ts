import type { Feature } from '../../shell/command.js'
import { verifyCommand } from './command.js'

export const verify: Feature = {
  command: verifyCommand,
  step: async () => (await import('./step.js')).verifyAsStep,
}
