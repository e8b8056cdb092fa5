/** Each walk keeps what polls find: how many new and changed records, in how many hours. */
import { describe, expect, it } from 'vitest'
import { polled, type RunOptions } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { begin, later, TimedList } from '../../support/world/timedlist.js'

const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const weight = (hours: number): number => Math.exp(-hours / 168)
const hour = 3600

describe.each(warehouses())('$name', (kind) => {
  const list = new TimedList(sandbox, kind, clock)

  /** What the cursor has, with numbers as such. */
  async function expectPolls(at: number, found: Readonly<Record<string, unknown>>): Promise<void> {
    const row = await list.cursor()
    const number = (value: unknown): unknown => (value === null ? null : Number(value))
    const { polled_at } = row
    const kept = Object.fromEntries(Object.keys(found).map((name) => [name, number(row[name])]))
    expect({ polled_at, ...kept }).toEqual({ polled_at: later(at), ...found })
  }
  const nothing = { news: null, news_unannounced: null, news_hours: null }
  async function followed(): Promise<void> {
    await list.begin(5)
    await list.sync({})
  }

  it('a poll adds what it found and the hours since the last one; older data weighs less', async () => {
    await followed()
    await expectPolls(0, nothing)
    list.wait(2 * hour)
    for (const id of [2, 3, 6]) list.put(id, later(hour + id))
    await list.sync({})
    await expectPolls(2 * hour, { news: 3, news_unannounced: 3, news_hours: 2 })
    list.wait(168 * hour)
    await list.sync({ requests: 1, rows_upserted: 0 })
    const close = (value: number): unknown => expect.closeTo(value, 5)
    await expectPolls(170 * hour, {
      news: close(3 * weight(168)),
      news_hours: close(2 * weight(168) + 168),
    })
  })

  it('one import counts as 20, of several pages; a list that is read again does not count', async () => {
    await followed()
    list.wait(hour)
    for (let id = 10; id < 260; id++) list.put(id, later(1800 + id))
    await list.sync({})
    await expectPolls(hour, { news: 20, news_hours: 1 })
    await followed()
    list.wait(3 * hour)
    list.put(7, later(hour))
    await list.full({})
    await expectPolls(3 * hour, nothing)
  })

  it('a clock that jumps ahead by years, and back again, leaves an estimate that recovers', async () => {
    await followed()
    clock.skew = 3_000_000_000_000_000n
    await list.sync({})
    clock.skew = 0n
    list.wait(hour)
    await list.sync({})
    await expectPolls(hour, { news_hours: expect.toSatisfy((hours) => Number(hours) <= 720) })
  })

  it('a poll after one whose clock was ahead counts nothing, since its interval is unknown', async () => {
    await followed()
    list.wait(2 * hour)
    clock.skew = 86_400_000_000n
    await list.sync({})
    await expectPolls(26 * hour, { news: 0, news_hours: 26 })
    clock.skew = 0n
    list.wait(hour)
    for (const id of [6, 7, 8]) list.put(id, later(2.5 * hour + id))
    await list.sync({})
    await expectPolls(3 * hour, { news: 0, news_hours: 26 })
    list.wait(hour)
    list.put(9, later(3.5 * hour))
    await list.sync({})
    await expectPolls(4 * hour, { news: 1, news_hours: expect.closeTo(26 * weight(1) + 1, 5) })
  })

  it('complete polls that find nothing count since the last one that found something', async () => {
    const round = async (expected: Readonly<Record<string, unknown>> = {}): Promise<void> => {
      list.wait(hour)
      await list.sync(expected)
    }
    const expectQuiet = async (since: number, polls: number): Promise<void> => {
      const { quiet_since, quiet_polls } = await list.cursor()
      // Retries of a list that fails move the clock by milliseconds.
      expect(String(quiet_since).slice(0, 19)).toBe(later(since).slice(0, 19))
      expect(Number(quiet_polls)).toBe(polls)
    }
    await followed()
    list.put(6, later(3000))
    await round()
    for (const id of [7, 8]) list.put(id, later(hour + id))
    await round()
    await expectQuiet(2 * hour, 0)
    await round()
    await expectQuiet(2 * hour, 1)
    // In an hour, three of them; but in a week no more.
    expect(Number((await list.cursor()).usual_news)).toBeCloseTo((24 * 3) / 168, 2)
    sandbox.script([{ when: { tenant: 1, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await round({ status: 'failed' })
    sandbox.script([])
    list.odd.poisoned.add(8)
    await round({ completeness: 'unproven' })
    await expectQuiet(2 * hour, 1)
    list.odd.heal()
    await round()
    await expectQuiet(2 * hour, 2)
    list.wait(hour)
    await list.full({})
    await expectQuiet(2 * hour, 2)
    list.put(9, later(7 * hour + 60))
    await round()
    await expectQuiet(8 * hour, 0)
  })

  it('how long each change took is told by the source’s clock, even if ours runs hours ahead', async () => {
    const took: number[] = []
    const arrived: RunOptions['arrived'] = async (_cursor, { delays, first }) => {
      took.push(...delays.map((ms) => ms / 1000))
      return { unannounced: first.length, statements: [] }
    }
    await followed()
    list.wait(hour)
    clock.skew = 7_200_000_000n
    for (const [id, at] of [600, 3000, 3590].entries()) list.put(id + 6, later(at))
    await list.sync({}, { arrived })
    expect(took.toSorted((a, b) => a - b)).toEqual([10, 600, 3000])
  })

  it('a list of names counts its new names, and is complete through its request, including deletions', async () => {
    await list.begin(0)
    const names = async (...all: string[]) => {
      sandbox.store.tenant(1).strings.set('customer_payment_types', all)
      await list.cut({ resources: ['customer_payment_types'] })
      return list.cursor()
    }
    const complete = { complete_through: later(-1), deletes_checked_at: later(0) }
    expect(await names('cash')).toMatchObject(complete)
    list.wait(hour)
    const { news, news_hours } = await names('cash', 'card', 'check')
    expect([news, news_hours].map(Number)).toEqual([2, 1])
  })
})

it('a poll before the last one, under a clock that was set back, counts nothing', () => {
  const before = { polledAt: later(3600), news: 1, unannounced: 1, hours: 5 }
  const found = { news: 2, unannounced: 0 }
  const quietFrom = { quiet_since: later(0), quiet_polls: 0 }
  expect(polled(before, later(0), found)).toEqual({ polled_at: later(0), ...quietFrom })
  // Nothing is quiet since a time that has not come.
  const ahead = { ...before, quietSince: later(1800), quietPolls: 2 }
  expect(polled(ahead, later(0), { ...found, news: 0 })).toEqual({ polled_at: later(0), ...quietFrom })
})
