/** The tarball installs into an empty directory, from the registry, without a warning. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
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

it('installs where the SQLite driver can be neither downloaded nor built, and tells what to type', async () => {
  const folder = scratch()
  writeFileSync(join(folder, 'package.json'), '{}')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  // Neither Python nor a compiler.
  for (const name of ['sh', 'env', 'node', 'npm', 'npx'])
    symlinkSync(
      execFileSync('sh', ['-c', `command -v ${name}`])
        .toString()
        .trim(),
      join(bin, name),
    )
  const nowhere = 'npm_config_better_sqlite3_binary_host=http://127.0.0.1:9'
  const within = ['env', `PATH=${bin}`, nowhere] as const
  await inFolder(folder, ...within, 'npm', 'install', '--no-audit', '--no-fund', await pack())
  expect(existsSync(join(folder, 'node_modules/better-sqlite3'))).toBe(false)
  const failed = await inFolder(folder, ...within, 'npx', 'shopsync', 'demo').catch((error: unknown) => error)
  expect(failed).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Type npm install better-sqlite3'),
  })
})
