/** The tarball installs into an empty directory, from the registry, without a warning. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { scratch } from '../support/harness/scratch.js'
import { inFolder, pack } from '../support/harness/tarball.js'

/** Warnings about this machine's npm configuration, and about scripts that npm asks people to allow: not ours. */
const isForeign = (line: string): boolean => /config|install-scripts/.test(line)

it('installs without warnings, and its demo runs', async () => {
  const folder = scratch()
  writeFileSync(join(folder, 'package.json'), '{}')
  const tarball = await pack()
  const { stderr } = await inFolder(folder, 'npm', 'install', '--no-audit', '--no-fund', tarball)
  expect(stderr.split('\n').filter((line) => line !== '' && !isForeign(line))).toEqual([])
  expect((await inFolder(folder, 'npx', 'shopsync', 'demo')).stdout).toMatch(/^ +first sync +second sync$/m)
})
