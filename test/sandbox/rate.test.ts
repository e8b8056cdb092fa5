import { describe, expect, it } from 'vitest'
import { emptySandbox, shop } from '../support/harness/requests.js'
import { HandClock } from '../support/world/clocks.js'

describe('rate limit windows', () => {
  it('returns 429 when the window is used up, and 200 again in the next', async () => {
    const clock = new HandClock('2026-03-02T12:00:07Z')
    const sandbox = await emptySandbox({ clock, rate: { limit: 2, window: 10 } })
    const statuses = []
    for (let i = 0; i < 3; i += 1) statuses.push((await shop(sandbox, 'notes')).status)
    expect(statuses).toEqual([200, 200, 429])
    const spent = await shop(sandbox, 'notes')
    expect(spent.headers.get('x-ratelimit-limit')).toBe('2')
    expect(spent.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(spent.headers.get('x-ratelimit-reset')).toBe(String(Date.UTC(2026, 2, 2, 12, 0, 10) / 1000))
    clock.pass(3000)
    const next = await shop(sandbox, 'notes')
    expect([next.status, next.headers.get('x-ratelimit-remaining')]).toEqual([200, '1'])
  })

  it('lets another consumer use up part of every window', async () => {
    const sandbox = await emptySandbox({ rate: { limit: 5, window: 60, others: 3 } })
    expect((await shop(sandbox, 'notes')).headers.get('x-ratelimit-remaining')).toBe('1')
  })
})
