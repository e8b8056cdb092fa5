/* `check`: the programs of `then`, which would otherwise be missed at the end of the first run that changes something. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { Stop } from '../../engine/base/errors.js'
import { type ThenEntry, thenSettings } from '../../engine/config/thensection.js'
import { type Programs, programsOf } from '../../shell/callcommand.js'
import type { CommandContext } from '../../shell/command.js'
import type { Job } from '../jobs/jobfile.js'
import { failure, type Trial } from './trials.js'

/** Where a program is looked for, as when it is started. */
function placesOf(program: string, { folder, environment }: Programs): string[] {
  const ways = program.includes('/') ? [''] : (environment['PATH'] ?? '').split(delimiter)
  return ways.map((way) => resolve(folder, way, program))
}

async function isThere(program: string, programs: Programs): Promise<boolean> {
  for (const place of placesOf(program, programs))
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return true
  return false
}

/** One trial for each program that can't be found, and none if all can: of the configuration and of the jobs. */
export async function checkThen(
  context: Pick<CommandContext, 'config' | 'invocation'>,
  jobs: readonly Job[],
): Promise<Trial[]> {
  const programs = programsOf(context)
  const missing = async ({ command }: ThenEntry, what: string): Promise<Trial[]> => {
    const [program] = command ?? []
    if (program === undefined || (await isThere(program, programs))) return []
    const found = `Found no program "${program}", expected one ${program.includes('/') ? 'there' : 'in PATH'}`
    const hint = 'Install it, or write its whole path; cron has a shorter PATH than a terminal'
    return [failure(what, new Stop(found, { exitCode: 1, hint }), 1)]
  }
  const all = [
    { entries: thenSettings(context.config), of: '' },
    ...jobs.map(({ name, then: entries = [] }) => ({ entries, of: ` of job ${name}` })),
  ]
  const trials = all.flatMap(({ entries, of }) =>
    entries.map((entry, i) => missing(entry, `then[${i}].command${of}`)),
  )
  return (await Promise.all(trials)).flat()
}
