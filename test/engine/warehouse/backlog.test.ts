/** The backlog counts the pages that aren't stored yet, and keeps long work away from waiting transactions. */
import { expect, it } from 'vitest'
import { Backlog } from '../../support/harness/warehouse.js'

/** A promise, and what ends it. */
function pending(): { readonly promise: Promise<void>; readonly end: () => void } {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = resolve
  })
  return { promise, end }
}

it('counts a page until it is stored or has failed, and notifies those waiting for it', async () => {
  const backlog = new Backlog(2)
  const [first, second] = [pending(), pending()]
  const events: string[] = []
  const stored = backlog.storing(() => first.promise)
  const failed = backlog.storing(() => second.promise.then(() => Promise.reject(new Error('away'))))
  const next = backlog.next().then(() => void events.push('next'))
  await new Promise(setImmediate)
  expect([backlog.pages, events]).toEqual([2, []])
  second.end()
  await expect(failed).rejects.toThrow('away')
  await next
  expect([backlog.pages, events]).toEqual([1, ['next']])
  first.end()
  await stored
  expect(backlog.pages).toBe(0)
})

it('holds back long work while a transaction waits for a result, until its rows are sent or it has failed', async () => {
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
  // The transaction still waits for its rows to be written; that is when a page is decoded.
  expect(events).toEqual(['free'])
  second.end()
  await stored
})
