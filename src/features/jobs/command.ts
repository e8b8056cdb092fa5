import { Stop } from '../../engine/base/errors.js'
import type { Command, Feature } from '../../shell/command.js'
import type { JobFile } from './jobfiles.js'

const actions = ['list', 'show', 'validate'] as const

const jobsCommand: Command = {
  name: 'jobs',
  group: 'Keep it running',
  summary: 'list the jobs, show when they are due, and validate their files',
  help: `
Jobs are files: the ones in jobs/ beside the configuration, then the ones that come with shopsync. list shows when each
job is due and how it last ended; show prints its steps and the next instants of its schedule. validate reads the files
as a run would, and exits with 1 if one is wrong, or is scheduled with "due": true while there are no targets.`,
  examples: [
    ['shopsync jobs list', 'every job'],
    ['shopsync jobs show nightly', 'the steps of one'],
    ['shopsync jobs validate', 'whether the files are valid'],
  ],
  argument: { name: 'action', description: 'list, show or validate', choices: actions },
  second: { name: 'name', description: 'name of a job', isOptional: true, names: 'jobs' },
  run: async (invocation) => {
    const { argument = '', second, out } = invocation
    const action = actions.find((name) => name === argument)
    if (action === undefined)
      throw new Stop(`Found jobs ${argument}, expected list, show or validate`, {
        exitCode: 2,
        hint: 'Type shopsync jobs list',
      })
    if (action === 'show' && second === undefined)
      throw new Stop('Found no name, expected the name of a job', {
        exitCode: 2,
        hint: 'Type shopsync jobs list to see their names, then shopsync jobs show NAME',
      })
    const [{ jobFiles }, { jobsText, jobText, validText }] = await Promise.all([
      import('./jobfiles.js'),
      import('./words.js'),
    ])
    const files = await jobFiles(invocation, second)
    const text = {
      list: (all: readonly JobFile[]) => jobsText(all, out.terminal),
      show: (all: readonly JobFile[]) => all.map(jobText).join('\n\n'),
      validate: validText,
    }
    await out.answer({ jobs: files }, text[action](files))
    return action !== 'list' && files.some(({ problem }) => problem !== null) ? 1 : 0
  },
}

export const jobs: Feature = {
  command: jobsCommand,
  settings: async () => (await import('../../engine/config/schedulesection.js')).scheduleSection,
}
