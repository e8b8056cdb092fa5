import { join } from 'node:path'
import { packageFolder } from './package.js'

/** Where jobs are looked for: in jobs/ of the working directory, then among those that come with the program. */
export const jobFolders = (): readonly string[] => [
  ...new Set([process.cwd(), packageFolder()].map((folder) => join(folder, 'jobs'))),
]
