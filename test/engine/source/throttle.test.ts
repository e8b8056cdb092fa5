/** The stories of throttle.txt: whose request goes when, by what the responses said and what the warehouse has to store. */
import { expect, it, onTestFinished } from 'vitest'
import type { RequestOutcome } from '../../../src/engine/source/rate/budget.js'
import { Flow } from '../../../src/engine/source/rate/flow.js'
import { type Permit, type RequestClaim, Throttle } from '../../../src/engine/source/rate/throttle.js'
import { Backlog } from '../../support/harness/warehouse.js'
import { settled, VirtualClock } from '../../support/world/clocks.js'
import { fieldsOf, plain, Steps, storiesAsTests, type WordsOf, wordsOf } from '../../support/world/stories.js'

type Priority = RequestClaim['priority']

/** A throttle whose requests wait in virtual time, and are answered one after the other, the oldest first. */
class Stand {
  readonly clock = new VirtualClock()
  readonly #begun = this.clock.now
  throttle = this.throttleWith()
  waits: object[] = []
  backlog = new Backlog(Number.POSITIVE_INFINITY)
  flow: Flow | undefined
  /** How each request that is asked for is given up, and how each page that is being stored is stored. */
  readonly aborts = new Map<string, () => void>()
  readonly stored: (() => void)[] = []
  /** The permits that were granted, in that order, by the requests' names. */
  readonly granted: (readonly [name: string, permit: Permit])[] = []
  #answered = 0
  /** How many were told. */
  told = 0
  #ended: string[] = []

  throttleWith({ connections = 16, reserve = 0 }: Record<string, unknown> = {}): Throttle {
    const onWait = (wait: object): void => void this.waits.push(wait)
    const limits = { connections: Number(connections), rateReserve: Number(reserve) }
    const throttle = new Throttle({ clock: this.clock, ...limits, random: () => 0.5, onWait })
    onTestFinished(() => throttle.close())
    return throttle
  }

  /** Seconds from the beginning. */
  secondsTo(milliseconds: number): number {
    return (milliseconds - this.#begun) / 1000
  }

  ask(name: string, how: string): void {
    const { tenant = 1, priority = 'incremental', page = false } = fieldsOf(wordsOf(how))
    const control = new AbortController()
    this.aborts.set(name, () => control.abort(new Error('enough')))
    const flow = page ? this.flow : undefined
    const claim = { tenantId: Number(tenant), priority: priority as Priority, signal: control.signal, flow }
    this.throttle.acquire(claim).then(
      (permit) => this.granted.push([name, permit]),
      (error: Error) => this.#ended.push(`${name} ends: ${error.message}`),
    )
  }

  /** The oldest that was let go and isn't answered yet. */
  next(): Permit {
    return this.granted[this.#answered++]![1]
  }

  /** `status=429 remaining=5 ends=60 retryAfter=9`: what a response says; times are seconds, the end from the beginning. */
  said(words: string): RequestOutcome {
    const { status = 200, retryAfter, ...rate } = fieldsOf(wordsOf(words)) as Record<string, number>
    const now = this.clock.now
    const { ends = this.secondsTo(now) + 60, ...told } = rate
    const reset = ends === null ? undefined : this.#begun + ends * 1000
    return {
      status,
      receivedAt: now,
      date: Math.floor(now / 1000) * 1000,
      retryAfter: retryAfter && retryAfter * 1000,
      rate:
        Object.keys(rate).length === 0 ? undefined : { key: 'p', limit: 100, remaining: 99, ...told, reset },
    }
  }

  /** What was let go, or refused, since the last look. */
  async news(): Promise<string | undefined> {
    await settled()
    const names = this.granted.slice(this.told).map(([name]) => name)
    this.told = this.granted.length
    const told = [...(names.length > 0 ? [`goes: ${names.join(' ')}`] : []), ...this.#ended.splice(0)]
    return told.length > 0 ? told.join('; ') : undefined
  }
}

const words: WordsOf<Stand> = {
  'with REST': (stand, how) => {
    stand.throttle = stand.throttleWith(fieldsOf(wordsOf(how!)))
  },
  // Names, or how many, named by their numbers.
  'ask TEXT(?:, (.*))?': (stand, names, how = '') => {
    const numbers = Array.from({ length: Number(names) || 0 }, (_, i) => String(i))
    for (const name of numbers.length > 0 ? numbers : wordsOf(names!)) stand.ask(name, how)
    return stand.news()
  },
  // One more request is made, and answered.
  'learn REST': async (stand, said) =>
    (await stand.throttle.acquire({ tenantId: 1, priority: 'incremental' })).release(stand.said(said!)),
  'answer(?: (\\d+) times)?[ REST]': async (stand, times = '1', said = '') => {
    for (let n = 0; n < Number(times); n++) {
      stand.next().release(stand.said(said))
      await settled()
    }
    return stand.news()
  },
  'one breaks off': (stand) => {
    stand.next().release()
    return stand.news()
  },
  'one is given up': (stand) => {
    stand.next().cancel()
    return stand.news()
  },
  'one is answered twice, and given up': (stand) => {
    const permit = stand.next()
    for (let i = 0; i < 2; i++) permit.release(stand.said(''))
    permit.cancel()
    return stand.news()
  },
  'abort WORD': (stand, name) => {
    stand.aborts.get(name!)!()
    return stand.news()
  },
  close: (stand) => {
    stand.throttle.close()
    return stand.news()
  },
  '([\\d.]+) seconds': async (stand, seconds) => {
    await stand.clock.pass(Number(seconds) * 1000)
    return stand.news()
  },
  'wait for the next': async (stand) => {
    const began = stand.clock.now
    while (stand.granted.length === stand.told) await stand.clock.pass(250)
    return `after ${(stand.clock.now - began) / 1000} seconds, ${await stand.news()}`
  },
  window: (stand) => {
    const { limit, remaining, resetsAt } = stand.throttle.window() ?? { resetsAt: 0 }
    return limit === undefined ? 'none' : `${remaining} of ${limit} until ${stand.secondsTo(resetsAt)}`
  },
  waited: ({ throttle }) => `${throttle.waited() / 1000} seconds`,
  timers: ({ clock }) => `timers: ${clock.sleeping}`,
  told: ({ waits }) => waits.map(plain).join(' / ') || 'nothing',
  // More than that hold further pages back.
  'N pages are enough': (stand, enough) => {
    stand.backlog = new Backlog(Number(enough))
    stand.flow = new Flow({ clock: stand.clock }, stand.backlog)
  },
  'store N': ({ backlog, stored }, pages) => {
    for (let n = 0; n < Number(pages); n++)
      void backlog.storing(() => new Promise<void>((resolve) => stored.push(resolve)))
  },
  'one is stored': async (stand) => {
    stand.stored.shift()!()
    await settled()
    return stand.news()
  },
}

storiesAsTests('test/engine/source/throttle.txt', new Steps(words), () => new Stand())

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
