/** The table of docs/promises.md: each promise, the function without which it fails, and the test that shows it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../harness/tree.js'
import { pinFile } from '../world/laws/pinned.js'
import { promises } from './all.js'
import type { Breakage } from './breakage.js'
import { laws } from './laws.js'
import { yearMutants } from './year.js'

export const promisesFile = 'docs/promises.md'

const functionOf = ({ name, module }: Breakage): string => `\`${name}\` in \`${module}\``

const line = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

/** The lines of the table. */
export function promisesTable(): string[] {
  return [
    line('promise', 'function', 'what it does when it is broken', 'test that fails'),
    line('---', '---', '---', '---'),
    ...laws.map((mutant) =>
      line(`law ${mutant.law}`, functionOf(mutant.breakage), mutant.broken, `\`${pinFile(mutant)}\``),
    ),
    ...promises.map(({ promise, breakage, broken, test, name }) =>
      line(promise, functionOf(breakage), broken, `\`${test}\`: ${name}`),
    ),
    ...yearMutants.map(({ breakage, broken }) =>
      line(
        'a year in the life of a warehouse',
        functionOf(breakage),
        broken,
        '`test/long/yearmutants.test.ts`',
      ),
    ),
  ]
}

const between = /(<!-- promises: begin -->\n)[\s\S]*?(<!-- promises: end -->)/

/** Updates the table in docs/promises.md. */
export function writePromises(): void {
  const file = join(root, promisesFile)
  const text = readFileSync(file, 'utf8')
  const wanted = text.replace(
    between,
    (_all, begin: string, end: string) => `${begin}${promisesTable().join('\n')}\n${end}`,
  )
  if (wanted === text) return
  writeFileSync(file, wanted)
  process.stderr.write(`wrote ${file}\n`)
}
