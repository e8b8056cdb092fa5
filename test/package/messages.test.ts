/** The messages in docs/runbook.md, which the build writes from the sources: how one is shown there. */
import { expect, test } from 'vitest'
import { messageReference } from '../support/harness/declared.js'
import { textOf } from '../support/harness/tree.js'

test('a message is shown as it is read, with its exit code and its hint, unless it needs no explanation', () => {
  const source = `throw new Stop(\`Lacks ${'$'}{names.map((name) => \`"${'$'}{name}"\`).join(', ')}, expected (none)\`, {
    exitCode: 2, hint: 'Type (none)' })
  throw new Stop('Odd', { exitCode: 1, hint: isOdd ? 'never shown' : 'nor this' })
  throw new Stop('Found a slip', { exitCode: 2, hint: 'Never shown' })
  throw new Stop('It\\'s | over', { exitCode: 1, hint: \`Type ${'$'}{command}\` })
  throw new Stop(message, { exitCode: 3 })`
  expect(messageReference([source, source]).split('\n').slice(2)).toEqual([
    "| `It's \\| over` | 1 | Type … |",
    '| `Lacks …, expected (none)` | 2 | Type (none) |',
  ])
  expect(textOf('docs/runbook.md')).toContain(
    '| `Another run has taken over (its token is …, ours is …); this page was not written` | 4 |',
  )
})
