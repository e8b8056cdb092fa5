import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { gate } from '../../support/harness/gate.js'
import { WriteLock } from '../../support/harness/warehouse.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

it('lets shared work run side by side, and own work begin when all earlier work has ended', async () => {
  const lock = new WriteLock()
  const order: string[] = []
  const [first, second, own] = [gate(), gate(), gate()]
  const all = [
    lock.shared(async () => {
      order.push('first')
      await first.passed
      throw new Error('a failure is its own')
    }),
    lock.shared(async () => {
      order.push('second')
      await second.passed
    }),
    lock.own(async () => {
      order.push('own')
      await own.passed
    }),
    lock.shared(async () => void order.push('third')),
  ]
  const settled = Promise.allSettled(all)
  await new Promise(setImmediate)
  expect(order).toEqual(['first', 'second'])
  second.open()
  await new Promise(setImmediate)
  expect(order).toEqual(['first', 'second'])
  first.open()
  await new Promise(setImmediate)
  expect(order).toEqual(['first', 'second', 'own'])
  own.open()
  expect((await settled).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
  expect(order).toEqual(['first', 'second', 'own', 'third'])
})

it('keeps no result of the work that it ran', async () => {
  const lock = new WriteLock()
  const given: WeakRef<object>[] = []
  for (let i = 0; i < 20; i++) {
    given.push(new WeakRef(await lock.shared(async () => ({ i }))))
    given.push(new WeakRef(await lock.own(async () => ({ i }))))
  }
  await new Promise(setImmediate)
  collect()
  expect(given.slice(0, -2).filter((one) => one.deref() !== undefined)).toEqual([])
  // The lock is still in use; otherwise it would be collected together with the results.
  await lock.own(async () => {})
})
