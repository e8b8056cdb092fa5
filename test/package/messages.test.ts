/** docs/messages.md, which the build writes from the sources: how a message is shown there. */
import { expect, test } from 'vitest'
import { messageReference } from '../support/harness/declared.js'
import { textOf } from '../support/harness/tree.js'

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
  expect(textOf('docs/messages.md')).toContain(
    '| `Another run has taken over (its token is …, ours is …); this page was not written` | 4 |',
  )
})
