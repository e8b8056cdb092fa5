/** docs/messages.md has every code, and every message that stops a command for another cause than its words. */
import { expect, test } from 'vitest'
import { reasons } from '../../src/engine/base/reasons.js'
import { filesIn, textOf } from '../support/tree.js'

const page = textOf('docs/messages.md')

test('each code with its words', () => {
  for (const [code, words] of Object.entries(reasons)) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${code}\` |`))
    expect(row?.replaceAll('`', ''), code).toContain(`| ${words.replaceAll('’', "'")} |`)
  }
})

/** The texts of `new Stop(…)` in a file: `…` in place of what is filled in, and the exit code where it stands beside. */
function stops(file: string): { readonly text: string; readonly exit: string | undefined }[] {
  return [...textOf(file).matchAll(/new Stop\(\s*(?:`((?:[^`\\]|\\.)*)`|'([^']*)')([\s\S]{0,160})/g)].map(
    ([, template, plain, after = '']) => ({
      text: (template ?? plain ?? '').replace(/\$\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}/g, '…'),
      exit: /exitCode: (\d)/.exec(after)?.[1],
    }),
  )
}

test('each message that stops a command', () => {
  const files = [...filesIn('src/engine', '.ts'), ...filesIn('src/features', '.ts')]
  const found = files.flatMap(stops)
  expect(found.length).toBeGreaterThan(20)
  // What the person's own words caused says by itself what to type.
  const own =
    /^(There is no (table|resource)|Found the id|The warehouse knows no tenant|warehouse\.url starts)/
  const missing = found.filter(({ text }) => !own.test(text) && !page.includes(`\`${text}\``))
  expect(missing.map(({ text }) => text)).toEqual([])
})
