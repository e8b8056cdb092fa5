/**
 * The project's files and their imports: for the test of the architecture, for `npm run quick`, and for the check that
 * the compiled program is as new as its sources.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The folder of package.json, the same for the sources and their compiled files. */
export const root = ((): string => {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
})()

/** Paths of a folder's files, from the root. */
export const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort()

export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

export const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** The imports of a file, as written. */
export const importsOf = (file: string): string[] =>
  [...withoutComments(textOf(file)).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] ?? '',
  )

/** The project's own files that a file imports, including type imports, by their paths from the root. */
export const targetsOf = (file: string): string[] =>
  importsOf(file)
    .filter((path) => path.startsWith('.'))
    .map((path) => relative(root, resolve(root, dirname(file), path)).replace(/\.js$/, '.ts'))

/** What a file loads first, by an import that is neither of types only nor made later: our files and packages. */
function loadedBy(file: string): string[] {
  const text = withoutComments(textOf(file))
  return [...text.matchAll(/^(?:import|export)(?! type)(?:[^'"()]*? from)?\s*'([^']+)'/gm)].flatMap(
    ([, name = '']) => {
      if (!name.startsWith('.')) return name
      const target = relative(root, resolve(root, dirname(file), name))
      const found = [target.replace(/\.js$/, '.ts'), target].find((path) => existsSync(join(root, path)))
      return found ?? []
    },
  )
}

const loads = new Map<string, readonly string[]>()

/** The files, by their paths from the root, and the packages that are loaded with a source or a compiled file. */
export function loadedWith(file: string): Set<string> {
  const found = new Set([file])
  for (const one of found) {
    if (!/^(src|schema|bench|test|dist)\/.*\.[jt]s$/.test(one)) continue
    const names = loads.get(one) ?? loadedBy(one)
    loads.set(one, names)
    for (const name of names) found.add(name)
  }
  return found
}
