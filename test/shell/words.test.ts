import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { count, span } from '../../src/engine/base/format.js'
import type { CursorReport } from '../support/harness/runs.js'
import { createLog, ProgressDisplay, resumption, Tracker, timeToGo } from '../support/harness/shown.js'

/** The end of a list of another tenant, as far as the progress reads it. */
const ended = (resource: string): CursorReport =>
  ({ tenant_id: 2, resource, status: 'ok', completeness: 'proven', requests: 1, records: 10 }) as CursorReport

test('numbers and times', () => {
  expect([0, 999, 1000, 1234567].map(count)).toEqual(['0', '999', '1,000', '1,234,567'])
  expect(count(9007199254740993n)).toBe('9,007,199,254,740,993')
  expect([-1234, -123, 1234.5678, 0.25, 1e21].map(count)).toEqual(
    [-1234, -123, 1234.5678, 0.25, 1e21].map((value) => value.toLocaleString('en-US')),
  )
  const spans = [0, 1234, 9949, 59_499, 61_000, 3_600_000, 100_000_000].map(span)
  expect(spans.join(', ')).toBe('0.0 s, 1.2 s, 9.9 s, 59 s, 1 min 1 s, 1 h, 1 d 3 h')
})

describe('the progress line', () => {
  const start = (columns = 60) => {
    const written: string[] = []
    let time = 1000
    const tracker = new Tracker()
    const window = { limit: 1000, remaining: 400, resetsAt: 30_000 }
    const stats = () => ({ requests: 1, retries: 0, rateLimited: 0, bytes: 0, window })
    const terminal = { write: (text: string) => written.push(text), width: () => columns }
    const progress = new ProgressDisplay(tracker, terminal, stats, () => time)
    return { written, tracker, progress, at: (now: number) => (time = now) }
  }
  const page = { tenantId: 1, resource: 'notes', records: 100, changed: 100, expected: 400, done: 100 }

  test('a list whose records are read again is never further than its end', () => {
    const { tracker } = start()
    tracker.planned(1, 1)
    tracker.page({ ...page, done: 631, expected: 144 })
    expect(resumption(tracker.counts())).toContain('tenant 1, notes: record 144 of 144')
    tracker.page({ ...page, done: 700, expected: 900 })
    expect(tracker.share()).toBeCloseTo(700 / 900)
  })

  test('shows how much is done, the time to go, the current list, and what else fits', () => {
    const { tracker, progress } = start(120)
    tracker.planned(2, 4)
    expect(progress.line(1500)).toBe(
      '─────────────────────── 0% · 0 of 4 cursors · 400 of 1,000 requests left',
    )
    tracker.begun({ tenantId: 1, resource: 'notes' })
    tracker.page(page)
    tracker.cursor(ended('shops'))
    tracker.cursor(ended('vendors'))
    expect(progress.line(6000)).toBe(
      '━━━━─────────────────── 18% · about 22 s to go · tenant 1, notes · 2 of 4 cursors · 100 records',
    )
    progress.stop()
    const narrow = start(60)
    narrow.tracker.planned(2, 4)
    narrow.tracker.page(page)
    expect(narrow.progress.line(6000)).toBe('━────────── 6% · about 1 min 15 s to go · tenant 1, notes')
    narrow.progress.stop()
  })

  test('for work that belongs to no cursor shows what it is, and how far if that is known', () => {
    const { tracker, progress } = start(80)
    expect(progress.line(4000)).toBe('listing the tenants … 3.0 s')
    tracker.step('drawing the page', 0, 0)
    expect(progress.line(4000)).toBe('drawing the page … 3.0 s')
    tracker.step('fetching each record again', 12, 48)
    expect(progress.line(4000)).toBe('━━━━─────────── 25% · fetching each record again · 12 of 48')
    tracker.begun({ tenantId: 1, resource: 'notes' })
    tracker.planned(1, 1)
    expect(progress.line(4000)).toContain('0 of 1 cursors')
    progress.stop()
  })

  test('is drawn at most ten times a second, fits the terminal, makes room and leaves nothing behind', () => {
    const { written, tracker, progress, at } = start()
    tracker.planned(2, 4)
    tracker.page(page)
    for (let time = 1000; time <= 2000; time += 10) {
      at(time)
      progress.draw()
    }
    expect(written.length).toBeGreaterThan(8)
    expect(written.length).toBeLessThanOrEqual(11)
    expect(Math.max(...written.map((text) => text.replace('\r\u001B[2K', '').length))).toBeLessThan(60)
    written.length = 0
    progress.around(() => written.push('a log line\n'))
    expect(written).toEqual(['\r\u001B[2K', 'a log line\n'])
    progress.draw()
    progress.stop()
    expect(written.at(-1)).toBe('\r\u001B[2K')
    progress.stop()
    expect(written).toHaveLength(4)
  })
})

/** Milliseconds that this much of some work takes if the source allows this many requests per window. */
function lasts(requests: number, { limit, length, each }: { limit: number; length: number; each: number }) {
  let now = 0
  for (let sent = 0; sent < requests; sent += 1) {
    if (sent > 0 && sent % limit === 0) now = Math.max(now, (sent / limit) * length)
    now += each
  }
  return now
}

type ToGo = typeof timeToGo

/** From a tenth of the work on, the time to go is off by at most a tenth and two seconds, whatever the limit. */
const isHonest = (toGo: ToGo) =>
  fc.property(
    fc.integer({ min: 200, max: 2000 }),
    fc.integer({ min: 50, max: 3000 }),
    fc.double({ min: 0.1, max: 0.95, noNaN: true }),
    (all, limit, share) => {
      const source = { limit, length: 60_000, each: 20 }
      const requests = Math.ceil(all * share)
      const elapsed = lasts(requests, source)
      const rest = lasts(all, source) - elapsed
      const spent = Math.ceil(requests / limit)
      const window = { limit, remaining: spent * limit - requests, resetsAt: spent * 60_000, length: 60_000 }
      const worked = requests * source.each
      const said = toGo({ share: requests / all, worked, now: elapsed, stats: { requests, window } })
      return said === undefined || Math.abs(said - rest) <= rest * 0.1 + 2000
    },
  )

test('the time to go is honest when a rate limit is used up', () => {
  // What is left fits into whole windows.
  fc.assert(isHonest(timeToGo), { numRuns: 1000, examples: [[200, 50, 0.5]] })
  const byPace: ToGo = ({ share, worked }) => (worked / share) * (1 - share)
  const byClock: ToGo = (so) => timeToGo({ ...so, worked: so.now })
  for (const other of [byPace, byClock]) expect(fc.check(isHonest(other), { numRuns: 500 }).failed).toBe(true)
})

test('nothing is predicted from the first two seconds, or from a fiftieth', () => {
  const stats = { requests: 3, window: undefined }
  expect(timeToGo({ share: 0.5, worked: 1900, now: 0, stats })).toBeUndefined()
  expect(timeToGo({ share: 0.01, worked: 60_000, now: 0, stats })).toBeUndefined()
  expect(timeToGo({ share: 0.5, worked: 60_000, now: 0, stats })).toBe(60_000)
})

test.each([true, false])('the log never contains a secret, wherever it comes from (as text: %s)', (text) => {
  const lines: string[] = []
  const secrets = ['tops3cret', 'pa55"word']
  const log = createLog({ level: 'info', text, secrets, write: (line) => lines.push(line) })
  log.info({ headers: { 'x-api-secret': 'other' }, secret: 'other', api: { secret: 'other' } }, 'a')
  log.error({ error: 'got tops3cret back' }, 'b tops3cret')
  log.warn({ url: 'postgres://me:pa55"word@host' }, 'c')
  expect(lines).toHaveLength(3)
  expect(lines.join('')).not.toMatch(/tops3cret|other|pa55/)
  expect(lines.join('')).toContain('[secret]')
})
