/**
 * node dist/bench/freshness.js [--tenants 80] [--seeds 3] [--days 3]
 *
 * What share of the changes is in the warehouse within its target, by how the window is spent: the table of
 * docs/freshness.md, and what the closed forecast predicts for the same shops.
 */
import { parseArgs } from 'node:util'
import { type Policy, policies, type SimulatedOptions, simulate } from './freshness/simulated.js'

const { values: options } = parseArgs({
  options: {
    tenants: { type: 'string', default: '80' },
    seeds: { type: 'string', default: '3' },
    days: { type: 'string', default: '3' },
  },
})

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

function measured(window: number, policy: Policy, more: Partial<SimulatedOptions> = {}, note = ''): string {
  const runs = Array.from({ length: Number(options.seeds) }, (_, i) =>
    simulate({
      ...{ tenants: Number(options.tenants), days: Number(options.days) },
      ...{ window, policy, seed: i + 1, ...more },
    }),
  )
  const percent = (of: 'met' | 'forecast'): string => `${Math.round(100 * mean(runs.map((run) => run[of])))}%`
  const forecast = policy === 'by expected delay' ? percent('forecast') : ''
  const delay = Math.round(mean(runs.map(({ meanDelay }) => meanDelay)))
  const longest = Math.max(...runs.map(({ longestWait }) => longestWait)).toFixed(1)
  const cells = [window, `${policy}${note}`, percent('met'), `${delay} min`, `${longest} h`, forecast]
  return `| ${cells.join(' | ')} |`
}

console.log('| window by lists and hour | policy | within target | mean delay | longest wait | forecast |')
console.log('| --- | --- | ---: | ---: | ---: | ---: |')
for (const window of [0.57, 0.29, 0.14]) for (const policy of policies) console.log(measured(window, policy))
console.log(measured(0.29, 'by expected delay', { daysBefore: 0 }, ', nothing known at the start'))
console.log(measured(0.29, 'by expected delay', { daysBefore: 0, neverRead: 0.4 }, ', 40 % never read'))
