/** The stories of polls.txt. */
import type { RunOptions } from '../../support/harness/runs.js'
import { plain, wordsOf } from '../../support/world/stories.js'
import { later, timedStories } from '../../support/world/timedstories.js'

const rounded = (value: unknown): unknown => (value === null ? null : Number(Number(value).toFixed(5)))

await timedStories('test/engine/run/polls.txt', {}, () => ({
  'names TEXT': async ({ list }, names) => {
    list.sandbox.store.tenant(1).strings.set('customer_payment_types', wordsOf(names!))
    await list.run({ resources: ['customer_payment_types'] })
  },
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
