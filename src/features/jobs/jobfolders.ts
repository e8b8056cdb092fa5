import { join } from 'node:path'
import { type Invocation, stepsOf } from '../../shell/command.js'
import { variablesOf } from '../../shell/configuration.js'
import type { Io } from '../../shell/io.js'
import { packageFolder } from '../../shell/package.js'
import type { JobSurroundings } from './jobfile.js'

/** Where jobs are looked for: in jobs/ of the working directory, then among those that come with the program. */
export const jobFolders = ({ workingDirectory }: Io): readonly string[] => [
  ...new Set([workingDirectory, packageFolder()].map((folder) => join(folder, 'jobs'))),
]

/** What the files of jobs are read with. */
export const aroundJobs = async (
  invocation: Pick<Invocation, 'features' | 'globals' | 'io'>,
  allowInsecure: boolean,
): Promise<JobSurroundings> => ({
  environment: variablesOf(invocation),
  kinds: await stepsOf(invocation.features),
  allowInsecure,
})
