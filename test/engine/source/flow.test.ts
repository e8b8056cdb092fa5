/** The throttle holds back pages while the warehouse has enough to store, and never forgets one. */
import { expect, it } from 'vitest'
import { Flow } from '../../../src/engine/source/rate/flow.js'
import { Backlog } from '../../support/harness/warehouse.js'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { Stand, work } from '../../support/world/throttle.js'

/** A stand that knows its window, and a warehouse that stores pages on request. */
async function given(enough: number) {
  const stand = new Stand()
  await stand.learn({ remaining: 90 })
  const backlog = new Backlog(enough)
  const page = { ...work(), flow: new Flow({ clock: stand.clock }, backlog) }
  const storing = () => {
    let end = (): void => {}
    const promise = new Promise<void>((resolve) => {
      end = resolve
    })
    const stored = backlog.storing(() => promise)
    return async (): Promise<void> => {
      end()
      await stored
      await settled()
    }
  }
  return { stand, page, storing }
}

it('holds back pages while enough are being stored, and lets other requests go', async () => {
  const { stand, page, storing } = await given(1)
  const stored = storing()
  await stand.ask([
    ['page', page],
    ['other', work()],
  ])
  expect(stand.names).toBe('other')
  await stored()
  expect(stand.names).toBe('otherpage')
})

it('lets the next one go when a page has arrived, failed, or was given up, and never all at the same time', async () => {
  const { stand, page, storing } = await given(1)
  const stored = storing()
  await stand.ask(4, page)
  await stored()
  expect(stand.names).toBe('0')
  await stand.answer()
  expect(stand.names).toBe('01')
  stand.next().release()
  await settled()
  expect(stand.names).toBe('012')
  stand.next().cancel()
  await settled()
  expect(stand.names).toBe('0123')
})

it('lets one go with each page that is stored, while those already let go are under way', async () => {
  const { stand, page, storing } = await given(2)
  const stored = [storing(), storing()]
  await stand.ask(3, page)
  for (const [i, end] of stored.entries()) {
    await end()
    expect(stand.granted).toHaveLength(i + 1)
  }
})

it('keeps holding when the warehouse is full again, and forgets a page that is no longer wanted', async () => {
  const { stand, page, storing } = await given(1)
  const first = storing()
  const controller = new AbortController()
  const aborted = stand.throttle.acquire({ ...page, signal: controller.signal })
  await stand.ask(1, page)
  const second = storing()
  await first()
  expect(stand.names).toBe('')
  controller.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  await second()
  expect(stand.names).toBe('0')
  storing()
  const closing = stand.throttle.acquire(page)
  stand.throttle.close()
  await expect(closing).rejects.toThrow('closed')
})

it('lets several pages go together if responses take several times as long as storing, and none waits for the window', async () => {
  const clock = new VirtualClock()
  const flow = new Flow({ clock, readAhead: 8 })
  await flow.storing(Promise.resolve())
  expect(flow.together).toBe(1)
  flow.ready({ since: 0, sentAt: 0, now: 200 })
  expect(flow.together).toBe(8)
  for (let i = 0; i < 20; i++) flow.ready({ since: 0, sentAt: 2000, now: 2200 })
  expect(flow.together).toBe(1)
  expect(new Flow({ clock, readAhead: 0 }).together).toBe(0)
})
