/**
 * The programs of bench/ run: they use parts of the product, which may change. In `npm test`, the compiler shows whether
 * these are still there.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Program } from '../support/harness/process.js'
import { isWhole } from '../support/harness/size.js'
import { root } from '../support/harness/tree.js'

test.runIf(isWhole())('npm run bench measures a small load', async () => {
  const small =
    '--records 40 --tenants 2 --rounds 1 --warehouses sqlite --dataset lifelike --phases first --print'
  const words = [...small.split(' '), '--contenders', 'read,shopsync,write']
  const { code, stdout } = await new Program(join(root, 'dist/bench/main.js'), words).ended
  for (const program of ['read', 'shopsync', 'write'])
    expect(stdout).toMatch(new RegExp(`^\\| first \\| ${program} `, 'm'))
  expect(code).toBe(0)
})
