import { join } from 'node:path'
import type { Io } from '../../shell/io.js'
import { packageFolder } from '../../shell/package.js'

/** Where jobs are looked for: in jobs/ of the working directory, then among those that come with the program. */
export const jobFolders = ({ workingDirectory }: Io): readonly string[] => [
  ...new Set([workingDirectory, packageFolder()].map((folder) => join(folder, 'jobs'))),
]
