/** docs/messages.md is written by the build; this tests what its readers rely on. */
import { expect, test } from 'vitest'
import { reasons } from '../../src/engine/base/reasons.js'
import { messageReference } from '../../src/shell/messagereference.js'
import { filesIn, textOf } from '../support/harness/tree.js'

const page = textOf('docs/messages.md')

test('each code has a text', () => {
  for (const [code, words] of Object.entries(reasons)) expect(page).toContain(`| \`${code}\` | ${words} |`)
})

test('a message is shown as it is read, with its exit code and its hint', () => {
  const source = `throw new Stop(\`Found ${'$'}{names.map((name) => \`"${'$'}{name}"\`).join(', ')}, expected (none)\`, {
    exitCode: 2,
    hint: isOdd ? 'never shown' : 'nor this',
  })
  throw new Stop('It\\'s | over', { exitCode: 1, hint: \`Type ${'$'}{command}\` })
  throw new Stop(message, { exitCode: 3 })`
  expect(messageReference([source, source]).split('\n').slice(2)).toEqual([
    '| `Found …, expected (none)` | 2 |  |',
    "| `It's \\| over` | 1 | Type … |",
  ])
  expect(page).toContain(
    '| `Another run has taken over (its token is …, ours is …); this page was not written` | 4 |',
  )
})

test('each message of the page is one that the program has, and none is left out', () => {
  const sources = filesIn('src', '.ts').filter((file) => !file.startsWith('src/sandbox/'))
  const rows = messageReference(sources.map(textOf)).split('\n')
  const shown = page.slice(page.indexOf('<!-- messages:')).split('\n')
  expect(shown.filter((line) => line.startsWith('| '))).toEqual(rows)
})
