/**
 * Which vitest project a test file belongs to. Its imports decide, so nobody has to keep a list.
 *
 * pure:      neither a warehouse nor a process. Threads, shared by all files.
 * warehouse: a real SQLite or Postgres, in this process. Processes, each for many files.
 * process:   starts processes: the program, its own Postgres, a shell.
 */
import { filesIn, loadedWith } from './tree.js'

export type ProjectName = 'pure' | 'warehouse' | 'process'

/** Run by their own configuration. */
const apart = /^test\/(long|search|browser|clients|deploy|pooler|metrics|node)\//

/** A file that loads one of these opens warehouses; the program does so when a command needs one. */
const opens = ['better-sqlite3', 'pg', 'src/engine/warehouse/openwarehouse.ts', 'src/main.ts']

export function projectOf(file: string): ProjectName {
  const all = loadedWith(file)
  if (all.has('node:child_process')) return 'process'
  return opens.some((name) => all.has(name)) ? 'warehouse' : 'pure'
}

/** The test files of `npm test`, by project. */
export function testFiles(): Record<ProjectName, string[]> {
  const files: Record<ProjectName, string[]> = { pure: [], warehouse: [], process: [] }
  for (const file of filesIn('test', '.test.ts')) if (!apart.test(file)) files[projectOf(file)].push(file)
  return files
}
