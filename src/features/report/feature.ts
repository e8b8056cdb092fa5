import type { Feature } from '../../shell/command.js'
import { reportCommand } from './command.js'

export const report: Feature = {
  command: reportCommand,
  step: async () => (await import('./step.js')).reportAsStep,
}
