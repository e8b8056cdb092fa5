/** The ids of a walk of ten million records take little memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { IdSet } from '../../src/engine/list/idset.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const used = (): number => {
  collect()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

it('holds ten million ids of a tenant with a third of a shared sequence in less than 64 MB', () => {
  const before = used()
  const set = new IdSet()
  for (let i = 0; i < 10_000_000; i++) set.add(3 * i + (i % 2))
  const grown = (used() - before) / 1024 / 1024
  expect(set.size).toBe(10_000_000)
  console.log(`ten million ids: ${grown.toFixed(1)} MB`)
  expect(grown).toBeLessThan(64)
})
