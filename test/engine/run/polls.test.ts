/** The stories of polls.txt, and lists of names. */
import { describe, expect, it } from 'vitest'
import { polled, type RunOptions } from '../../support/harness/runs.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { plain } from '../../support/world/liststory.js'
import { later, TimedList } from '../../support/world/timedlist.js'
import { timedStories } from '../../support/world/timedstories.js'

const rounded = (value: unknown): unknown => (value === null ? null : Number(Number(value).toFixed(5)))

const { clock, sandbox } = await timedStories('test/engine/run/polls.txt', {}, () => ({
  'import N later N': ({ list }, count, seconds) => {
    for (let id = 10; id < 10 + Number(count); id++) list.put(id, later(Number(seconds) + id))
  },
  polls: async ({ list }) => {
    const { polled_at, news, news_unannounced, news_hours } = await list.cursor()
    const found = { news, unannounced: news_unannounced, hours: news_hours }
    const told = Object.fromEntries(Object.entries(found).map(([name, value]) => [name, rounded(value)]))
    return `${plain(told)} at ${polled_at}`
  },
  quiet: async ({ list }) => {
    const { quiet_since, quiet_polls, usual_news } = await list.cursor()
    // Retries of a list that fails move the clock by milliseconds.
    return `since ${String(quiet_since).slice(0, 19)}, ${quiet_polls} polls, usually ${rounded(usual_news)}`
  },
  'sync and tell delays': async ({ list }) => {
    const took: number[] = []
    const arrived: RunOptions['arrived'] = async (_cursor, { delays, first }) => {
      took.push(...delays.map((ms) => ms / 1000))
      return { unannounced: first.length, statements: [] }
    }
    await list.run({ arrived })
    return `seconds: ${took.toSorted((a, b) => a - b).join(' ')}`
  },
}))

describe.each(warehouses())('$name', (kind) => {
  const list = new TimedList(sandbox, kind, clock)

  it('a list of names counts its new names, and is complete through its request, including deletions', async () => {
    await list.begin(0)
    const names = async (...all: string[]) => {
      sandbox.store.tenant(1).strings.set('customer_payment_types', all)
      await list.cut({ resources: ['customer_payment_types'] })
      return list.cursor()
    }
    const complete = { complete_through: later(-1), deletes_checked_at: later(0) }
    expect(await names('cash')).toMatchObject(complete)
    list.wait(3600)
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
