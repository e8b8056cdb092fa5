/** The package that `npm pack` makes from the compiled program: for the tests of what people install. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from './scratch.js'
import { root } from './tree.js'

const run = promisify(execFile)

/** Makes the tarball without building again; returns its path. */
export async function pack(): Promise<string> {
  const folder = scratch()
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout } = await run('npm', words, { cwd: root, maxBuffer: 1e8 })
  const [packed] = JSON.parse(stdout) as { filename: string }[]
  if (packed === undefined) throw new Error('npm pack made nothing')
  return join(folder, packed.filename)
}

export interface Said {
  readonly stdout: string
  readonly stderr: string
}

/** A command in a folder, without any configuration from the tests. Rejects if it doesn't exit with 0. */
export function inFolder(cwd: string, file: string, ...words: readonly string[]): Promise<Said> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS|npm_)/.test(name)),
  )
  return run(file, words, { cwd, env, maxBuffer: 1e8 })
}
