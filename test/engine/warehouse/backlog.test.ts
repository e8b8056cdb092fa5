/** The backlog counts the pages that aren't stored yet, and keeps long work away from waiting transactions. */
import { expect, it } from 'vitest'
import { gate } from '../../support/harness/gate.js'
import { Backlog } from '../../support/harness/warehouse.js'

it('counts a page until it is stored or has failed, and notifies those waiting for it', async () => {
  const backlog = new Backlog(2)
  const [first, second] = [gate(), gate()]
  const events: string[] = []
  const stored = backlog.storing(() => first.passed)
  const failed = backlog.storing(() => second.passed.then(() => Promise.reject(new Error('away'))))
  const next = backlog.next().then(() => void events.push('next'))
  await new Promise(setImmediate)
  expect([backlog.pages, events]).toEqual([2, []])
  second.open()
  await expect(failed).rejects.toThrow('away')
  await next
  expect([backlog.pages, events]).toEqual([1, ['next']])
  first.open()
  await stored
  expect(backlog.pages).toBe(0)
})

it('holds back long work while a transaction waits for a result, until its rows are sent or it has failed', async () => {
  const backlog = new Backlog(1)
  const [first, second] = [gate(), gate()]
  const events: string[] = []
  const stored = backlog.asking(async (sent) => {
    await first.passed
    sent()
    await second.passed
  })
  const failed = backlog.asking(() => first.passed.then(() => Promise.reject(new Error('away'))))
  const free = backlog.free().then(() => void events.push('free'))
  await new Promise(setImmediate)
  expect(events).toEqual([])
  first.open()
  await expect(failed).rejects.toThrow('away')
  await free
  // The transaction still waits for its rows to be written; that is when a page is decoded.
  expect(events).toEqual(['free'])
  second.open()
  await stored
})
