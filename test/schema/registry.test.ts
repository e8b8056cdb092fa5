import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratch } from '../support/harness/scratch.js'

test('schema/index.ts is what registry.mjs makes from the folder', () => {
  const schema = fileURLToPath(new URL('../../schema/', import.meta.url))
  const copy = scratch()
  cpSync(schema, copy, { recursive: true })
  rmSync(join(copy, 'index.ts'))
  execFileSync(process.execPath, [join(copy, 'registry.mjs')])
  const fresh = readFileSync(join(copy, 'index.ts'), 'utf8')
  expect(readFileSync(join(schema, 'index.ts'), 'utf8'), 'stale: run `npm run generate`').toBe(fresh)
})
