import type { Feature } from '../../shell/command.js'
import { jobsCommand } from './command.js'

export const jobs: Feature = {
  command: jobsCommand,
  settings: async () => (await import('./settings.js')).scheduleSection,
}
