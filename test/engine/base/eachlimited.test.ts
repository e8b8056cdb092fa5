/** Several pieces of work at once: of all, or of many a few at a time, as cursors of a run and requests for single records. */
import { describe, expect, it } from 'vitest'
import { allSettled } from '../../../src/engine/base/allsettled.js'
import { eachLimited, mapLimited } from '../../../src/engine/base/eachlimited.js'

/** Items that report when they are taken, and work that ends on request. */
function world(count: number) {
  const taken: number[] = []
  const running = new Map<number, { end(): void; fail(error: Error): void }>()
  function* items(): Generator<number> {
    for (let i = 0; i < count; i++) {
      taken.push(i)
      yield i
    }
  }
  const work = (item: number): Promise<void> =>
    new Promise<void>((end, fail) => running.set(item, { end, fail })).finally(() => running.delete(item))
  return { taken, running, items, work }
}

/** Lets everything continue that isn't waiting for something external. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('work on many items', () => {
  it('runs at most so many at once, and takes the next item when one has ended', async () => {
    const { taken, running, items, work } = world(1000)
    const all = eachLimited(items(), 3, work)
    await settle()
    expect([...running.keys()]).toEqual([0, 1, 2])
    expect(taken.length).toBeLessThanOrEqual(4)
    running.get(1)?.end()
    await settle()
    expect([...running.keys()]).toEqual([0, 2, 3])
    while (running.size > 0) {
      for (const { end } of running.values()) end()
      await settle()
    }
    await all
    expect(taken.length).toBe(1000)
  })

  it('starts nothing after a failure, and throws it once all running work has ended', async () => {
    const { taken, running, items, work } = world(1000)
    let thrown: unknown
    const all = eachLimited(items(), 3, work).catch((error: unknown) => {
      thrown = error
    })
    await settle()
    running.get(1)?.fail(new Error('first'))
    await settle()
    expect([...running.keys()]).toEqual([0, 2])
    expect(thrown).toBeUndefined()
    running.get(0)?.fail(new Error('second'))
    running.get(2)?.end()
    await all
    expect(thrown).toMatchObject({ message: 'first' })
    expect(taken.length).toBeLessThanOrEqual(4)
  })

  it('may start such work itself while the limits are used up, and returns results in the order of the items', async () => {
    const all = mapLimited([1, 2, 3], 1, (item) => mapLimited([10, 20], 1, async (more) => item + more))
    expect(await all).toEqual([
      [11, 21],
      [12, 22],
      [13, 23],
    ])
  })
})

describe('all of some promises', () => {
  it('return every result, in order', async () => {
    expect(await allSettled([Promise.resolve(1), 'two', Promise.resolve(null)])).toEqual([1, 'two', null])
  })

  it('throw the first failure, but only once all have ended', async () => {
    let ended = false
    const slow = settle().then(() => {
      ended = true
      throw new Error('second')
    })
    await expect(allSettled([slow, Promise.reject(new Error('first'))])).rejects.toThrow('first')
    expect(ended).toBe(true)
  })
})
