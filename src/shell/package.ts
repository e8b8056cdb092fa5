import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the package, from wherever this file was built to. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

/** The file beside the installed program that names the contents of all its files (src/bundle.mjs). */
const digestFile = 'program.txt'

/** Equal texts mean the same program. undefined if it wasn't bundled. */
export function programDigest(): string | undefined {
  const file = join(dirname(fileURLToPath(import.meta.url)), digestFile)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

let version: string | undefined

export function packageVersion(): string {
  version ??= (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { version: string })
    .version
  return version
}
