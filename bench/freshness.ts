/**
 * npm run bench -- freshness [--tenants 80] [--seeds 3] [--days 3]
 *
 * What share of the changes is in the warehouse within its target, by how the window is spent: the table of
 * docs/scale.md, and what the closed forecast predicts for the same shops.
 */
import { type Policy, policies, type SimulatedOptions, simulate } from './freshness/simulated.js'
import { options, percent, print } from './kit.js'

const { tenants, seeds, days } = options({ tenants: 80, seeds: 3, days: 3 })

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

function measured(window: number, policy: Policy, note = '', more: Partial<SimulatedOptions> = {}): string[] {
  const runs = Array.from({ length: seeds }, (_, i) =>
    simulate({ tenants, days, window, policy, seed: i + 1, ...more }),
  )
  const share = (of: 'met' | 'forecast'): string => percent(mean(runs.map((run) => run[of])))
  const forecast = policy === 'by expected delay' ? share('forecast') : ''
  const delay = Math.round(mean(runs.map(({ meanDelay }) => meanDelay)))
  const longest = Math.max(...runs.map(({ longestWait }) => longestWait)).toFixed(1)
  return [String(window), `${policy}${note}`, share('met'), `${delay} min`, `${longest} h`, forecast]
}

const all = [0.57, 0.29, 0.14].flatMap((window) => policies.map((policy) => measured(window, policy)))
const unknown = measured(0.29, 'by expected delay', ', nothing known at the start', { daysBefore: 0 })
const unread = { daysBefore: 0, neverRead: 0.4 }
print(
  ['window by lists and hour', 'policy', 'within target', 'mean delay', 'longest wait', 'forecast'],
  [...all, unknown, measured(0.29, 'by expected delay', ', 40 % never read', unread)],
)
