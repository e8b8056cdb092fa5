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
const apart = /^test\/(long|search|browser|clients|deploy|pooler|metrics|node)\//

/**
 * What a file loads when it is loaded itself, without type imports and dynamic imports: our files, by their paths from
 * the root, and packages.
 */
function loadedBy(file: string): string[] {
  const text = withoutComments(textOf(file))
  return [...text.matchAll(/^(?:import|export)(?! type)(?:[^'"()]*? from)?\s*'([^']+)'/gm)].flatMap(
    ([, name = '']) => {
      if (!name.startsWith('.')) return name
      const target = relative(root, resolve(root, dirname(file), name)).replace(/\.js$/, '.ts')
      return existsSync(join(root, target)) ? target : []
    },
  )
}

const loads = new Map<string, readonly string[]>()

/** The files, by their paths from the root, and the packages that a file loads directly or indirectly. */
function closure(file: string): Set<string> {
  const found = new Set([file])
  for (const one of found) {
    if (!one.endsWith('.ts')) continue
    const names = loads.get(one) ?? loadedBy(one)
    loads.set(one, names)
    for (const name of names) found.add(name)
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
