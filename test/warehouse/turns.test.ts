import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { WriteLock } from '../../src/warehouse/sqlite/writelock.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Ends when it is told to. */
function gate() {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

it('lets the other thread take several at once, and own work only when all before it is over', async () => {
  const turns = new WriteLock()
  const order: string[] = []
  const [first, second, own] = [gate(), gate(), gate()]
  const all = [
    turns.theirs(async () => {
      order.push('first')
      await first.passed
      throw new Error('a failure is its own')
    }),
    turns.theirs(async () => {
      order.push('second')
      await second.passed
    }),
    turns.own(async () => {
      order.push('own')
      await own.passed
    }),
    turns.theirs(async () => void order.push('third')),
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

it('keeps nothing of what its turns gave, however many there are', async () => {
  const turns = new WriteLock()
  const given: WeakRef<object>[] = []
  for (let i = 0; i < 20; i++) {
    given.push(new WeakRef(await turns.theirs(async () => ({ i }))))
    given.push(new WeakRef(await turns.own(async () => ({ i }))))
  }
  await new Promise(setImmediate)
  collect()
  expect(given.slice(0, -2).filter((one) => one.deref() !== undefined)).toEqual([])
  // Still in use: what is tested is not that nobody holds the turns.
  await turns.own(async () => {})
})
