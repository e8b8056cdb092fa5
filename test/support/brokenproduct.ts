/** The compiled program in a folder of its own, with one thing in it broken: what is to notice it, runs on the copy. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from './scratch.js'
import { root } from './tree.js'

export interface Breakage {
  readonly name: string
  /** A compiled file, from `dist/` on; the text in it, which has to stand there once; and what stands there instead. */
  readonly file: string
  readonly sound: string
  readonly broken: string
}

/** Returns the folder that stands for `dist/`. */
export function brokenProduct({ name, file, sound, broken }: Breakage): string {
  const folder = scratch()
  const dist = join(folder, 'dist')
  cpSync(join(root, 'dist'), dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const path = join(dist, file)
  const parts = readFileSync(path, 'utf8').split(sound)
  if (parts.length !== 2)
    throw new Error(`${name}: dist/${file} holds ${parts.length - 1} times, expected once: ${sound}`)
  writeFileSync(path, parts.join(broken))
  return dist
}
