/**
 * What people see of each command: the sentences, tables, hints and exit codes, in the order in which somebody meets them.
 * `npx vitest run test/transcripts -u` writes them; read what it wrote.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { play } from '../support/harness/transcripts/play.js'
import { filesIn, root } from '../support/harness/tree.js'

test.each(filesIn('test/transcripts', '.txt'))('%s', async (file) => {
  const path = join(root, file)
  await expect(await play(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path)
})
