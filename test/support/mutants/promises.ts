/** docs/dev/promises.md: each promise, the function without which it fails, and the test that shows it. */
import { textOf } from '../harness/tree.js'
import { pinFile } from '../world/laws/pinned.js'
import { mutants } from './all.js'
import type { Breakage } from './breakage.js'
import { laws } from './laws.js'

export interface Promised {
  /** The number of its mutant. */
  readonly at: number
  /** As in docs/guarantees.md, if it is a premise. */
  readonly promise: string
  /** What the broken program does. */
  readonly broken: string
  readonly breakage: Breakage
  /** The file of the test that has to notice it. */
  readonly test: string
  /** A part of the test's name, as in the file. */
  readonly name: string
}

/** The lines of the table. */
export const linesOfPromises: readonly string[] = textOf('docs/dev/promises.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))

/** What the line with these words says, as its cells: promise, function, what is broken, test. */
function cellsOf(words: string): readonly string[] {
  const found = linesOfPromises.find((line) => line.includes(words))
  if (found === undefined) throw new Error(`docs/dev/promises.md has no line with ${words}`)
  return found.slice('| '.length, -' |'.length).split(' | ')
}

/** By the number of their mutants. */
export const promises: readonly Promised[] = mutants.map(({ broken, breakage }, at) => {
  const [promise = '', , , shownBy = ''] = cellsOf(`\` | ${broken} | \`test/`)
  const [, test = '', name = ''] = /^`(.*?)`: (.*)$/.exec(shownBy) ?? []
  return { at, promise, broken, breakage, test, name }
})

const line = (promise: string, { name, module }: Breakage, broken: string, test: string): string =>
  `| ${promise} | \`${name}\` in \`${module}\` | ${broken} | ${test} |`

/** The lines that the table has to have, in some order. */
export const wantedLines: readonly string[] = [
  ...laws.map((one) => {
    const pin = `\`${pinFile(one)}\``
    return line(`law ${one.law}`, one.breakage, cellsOf(pin)[2] ?? '', pin)
  }),
  ...promises.map((one) => line(one.promise, one.breakage, one.broken, `\`${one.test}\`: ${one.name}`)),
]
