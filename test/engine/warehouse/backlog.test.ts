/** The backlog holds fetches back while enough pages wait to be stored, and never forgets one. */
import { expect, it } from 'vitest'
import { Backlog } from '../../../src/engine/warehouse/backlog.js'

/** A promise, and what ends it. */
function pending(): { readonly promise: Promise<void>; readonly end: () => void } {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = resolve
  })
  return { promise, end }
}

it('holds a fetch back while as many pages as allowed are being stored', async () => {
  const backlog = new Backlog(1)
  const store = pending()
  const stored = backlog.storing(() => store.promise)
  const events: string[] = []
  const fetched = backlog.fetching(async () => void events.push('fetched'))
  await new Promise(setImmediate)
  expect(events).toEqual([])
  store.end()
  await Promise.all([stored, fetched])
  expect(events).toEqual(['fetched'])
})

it('lets all that wait go on when a fetch fails, and when its page is never stored', async () => {
  const backlog = new Backlog(1)
  const store = pending()
  const stored = backlog.storing(() => store.promise)
  const waiting = [
    backlog.fetching(() => Promise.reject(new Error('aborted'))),
    backlog.fetching(async () => 'never stored'),
    backlog.fetching(async () => 'last'),
  ]
  store.end()
  await stored
  const ends = await Promise.allSettled(waiting)
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
})

it('keeps long work away while a transaction waits for what it asked, until its rows are sent or it has failed', async () => {
  const backlog = new Backlog(1)
  const [first, second] = [pending(), pending()]
  const events: string[] = []
  const stored = backlog.asking(async (sent) => {
    await first.promise
    sent()
    await second.promise
  })
  const failed = backlog.asking(() => first.promise.then(() => Promise.reject(new Error('away'))))
  const free = backlog.free().then(() => void events.push('free'))
  await new Promise(setImmediate)
  expect(events).toEqual([])
  first.end()
  await expect(failed).rejects.toThrow('away')
  await free
  // The transaction still waits for its rows to be written: that is when a page is decoded.
  expect(events).toEqual(['free'])
  second.end()
  await stored
})
