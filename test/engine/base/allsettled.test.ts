import { expect, it } from 'vitest'
import { allSettled } from '../../../src/engine/base/allsettled.js'

it('returns every result, in order', async () => {
  expect(await allSettled([Promise.resolve(1), 'two', Promise.resolve(null)])).toEqual([1, 'two', null])
})

it('throws the first failure, but only once all have ended', async () => {
  let ended = false
  const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    ended = true
    throw new Error('second')
  })
  await expect(allSettled([slow, Promise.reject(new Error('first'))])).rejects.toThrow('first')
  expect(ended).toBe(true)
})
