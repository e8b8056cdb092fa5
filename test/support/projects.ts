/**
 * Which vitest project a test file belongs to. Its imports decide, so nobody has to keep a list.
 *
 * pure:      neither a warehouse nor a process. Threads, shared by all files.
 * warehouse: a real SQLite or Postgres, in this process. Processes, each for many files.
 * process:   starts processes: the program, its own Postgres, a shell.
 */
import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { filesIn, root, textOf, withoutComments } from './tree.js'

export type ProjectName = 'pure' | 'warehouse' | 'process'

/** Run by their own configuration. */
const apart = /^test\/(long|search|browser|clients|deploy|pooler|metrics)\//

/** What a file loads when it is loaded itself, without type imports and dynamic imports. */
const loadedBy = (file: string): string[] =>
  [
    ...withoutComments(textOf(file)).matchAll(/^(?:import|export)(?! type)(?:[^'"()]*? from)?\s*'([^']+)'/gm),
  ].map((match) => match[1] ?? '')

const loads = new Map<string, readonly string[]>()

/** The files, by their paths from the root, and the packages that a file loads directly or indirectly. */
function closure(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const names = loads.get(file) ?? loadedBy(file)
  loads.set(file, names)
  for (const name of names) {
    if (!name.startsWith('.')) found.add(name)
    else {
      const target = relative(root, resolve(root, dirname(file), name)).replace(/\.js$/, '.ts')
      if (existsSync(join(root, target))) closure(target, found)
    }
  }
  return found
}

/** A file that loads one of these opens warehouses; the program does so when a command needs one. */
const opens = ['better-sqlite3', 'pg', 'src/engine/warehouse/openwarehouse.ts', 'src/main.ts']

export function projectOf(file: string): ProjectName {
  const all = closure(file)
  if (all.has('node:child_process')) return 'process'
  return opens.some((name) => all.has(name)) ? 'warehouse' : 'pure'
}

/** The test files of `npm test`, by project. */
export function testFiles(): Record<ProjectName, string[]> {
  const files: Record<ProjectName, string[]> = { pure: [], warehouse: [], process: [] }
  for (const file of filesIn('test', '.test.ts')) if (!apart.test(file)) files[projectOf(file)].push(file)
  return files
}
