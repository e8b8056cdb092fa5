/** The compiled program in its own folder, with one broken function: the tests that should notice run on the copy. */
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onDisk, scratch } from '../harness/scratch.js'
import { root } from '../harness/tree.js'
import type { Breakage } from './breakage.js'

/** The parts of `dist/` that tests and processes need. */
const needed = ['src', 'schema', 'bench', 'test/support']

/** The broken function as an exported one of a compiled file, so that the copy can import it. */
export interface PlantedBreakage extends Breakage {
  /** The file with the function's table, from `dist/` on; the table's name there; and the position in the table. */
  readonly table: readonly [file: string, name: string, at: number]
}

/** The program without changes, in its own folder; returns the folder that replaces `dist/`. */
export function product(): string {
  // Where its files may be links.
  const folder = scratch(onDisk)
  const dist = join(folder, 'dist')
  for (const part of needed) linked(join(root, 'dist', part), join(dist, part), '.js')
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return dist
}

/** The program with the broken functions; returns the folder that replaces `dist/`. */
export function brokenProduct(...planted: readonly PlantedBreakage[]): string {
  const dist = product()
  for (const module of new Set(planted.map((one) => one.module))) {
    const file = join(dist, module.replace(/\.ts$/, '.js'))
    const those = planted.filter((one) => one.module === module)
    const text = broken(readFileSync(file, 'utf8'), those, {
      dist: relative(dirname(file), dist),
      isAlone: planted.length === 1,
    })
    // It is a link: writing to it would break the sound program.
    rmSync(file)
    writeFileSync(file, text)
  }
  return dist
}

/** Links a folder's files under other names: nobody writes to them, and copying takes ten times as long. */
export function linked(old: string, now: string, ending = ''): void {
  if (!statSync(old).isDirectory()) {
    if (old.endsWith(ending)) linkOrCopy(old, now)
    return
  }
  mkdirSync(now, { recursive: true })
  for (const name of readdirSync(old)) linked(join(old, name), join(now, name), ending)
}

function linkOrCopy(old: string, now: string): void {
  try {
    linkSync(old, now)
  } catch {
    // Another file system.
    copyFileSync(old, now)
  }
}

/**
 * A compiled file with its functions replaced in place: a facade around the file would miss the calls from inside it.
 * Its lines keep their numbers.
 */
function broken(
  sound: string,
  those: readonly PlantedBreakage[],
  { dist, isAlone }: { readonly dist: string; readonly isAlone: boolean },
): string {
  const tables = new Set(those.map(({ table: [file, name] }) => `import { ${name} } from '${dist}/${file}'`))
  const lines = [`import { plant, switched } from '${dist}/test/support/mutants/breakage.js'`, ...tables]
  /** Of functions: what the file exports in their place. */
  const exported = new Map<string, string>()
  let text = sound
  for (const { name, table } of those) {
    const [, rows, at] = table
    const place = `{ at: ${at}, isAlone: ${isAlone}, breakage: () => ${rows}[${at}].breakage }`
    const [type = name, member] = name.split('.')
    if (member !== undefined) lines.push(`plant(${type}, '${member}', ${place})`)
    else {
      if (!exported.has(name)) text = withSound(text, name)
      exported.set(name, `switched(${exported.get(name) ?? `sound$${name}`}, ${place})`)
    }
  }
  for (const [name, value] of exported) lines.push(`export const ${name} = ${value}`)
  return [text, ...lines, ''].join('\n')
}

/** The file with its function under another name, and not exported. */
function withSound(text: string, name: string): string {
  const declared = new RegExp(`^export ((?:async )?function ?\\*? ?|const )${name}(?![\\w$])`, 'm')
  if (!declared.test(text)) throw new Error(`No exported function ${name} is declared in the compiled file`)
  return text.replace(declared, (_, kind: string) => `${kind}sound$${name}`)
}

/** Loads a file of a program, broken or not. */
export const load = <T>(dist: string, file: string): Promise<T> =>
  import(pathToFileURL(join(dist, file.replace(/\.ts$/, '.js'))).href) as Promise<T>
