import type { Feature } from '../../shell/command.js'
import { reconcileCommand } from './command.js'

export const reconcile: Feature = {
  command: reconcileCommand,
  settings: async () => (await import('./settings.js')).reconcileSection,
  step: async () => (await import('./step.js')).reconcileAsStep,
}
