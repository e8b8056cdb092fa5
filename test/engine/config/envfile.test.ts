/** shopsync.env: variables for when a program is started without an environment. */
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { isOpenToAll, readEnvFile } from '../../../src/engine/config/envfile.js'
import { scratch } from '../../support/harness/scratch.js'

test('what it accepts is read as Node reads it', () => {
  const text = `\uFEFF# all\r\n\r\n  export A = b c # d\nB="x\n'y" # e\n\tC=it's\nD=\nE=\`f\`\n#`
  const file = join(scratch(), 'shopsync.env')
  writeFileSync(file, text)
  const read = readEnvFile(file, { environment: {}, workingDirectory: '/' })?.variables
  expect(read).toEqual({ ...parseEnv(text.slice(1)) })
  expect(read).toMatchObject({ A: 'b c', E: 'f' })
})

test('a file that was moved or closed since it was read is open to nobody', () => {
  const folder = scratch()
  const [loop, plain] = [join(folder, 'loop'), join(folder, 'plain')]
  symlinkSync(loop, loop)
  writeFileSync(plain, '')
  for (const file of [loop, join(plain, 'below'), join(folder, 'none')]) expect(isOpenToAll(file)).toBe(false)
})
