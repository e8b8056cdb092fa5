/**
 * npm run bench -- throttle [--all] [--seed N] [--shared]
 *
 * The rate governor in virtual time: which share of each window it uses while work remains, and how many requests the
 * server refuses. Without --all, only the rows that miss the goal are printed. --shared: several processes share the
 * window by a row of the warehouse (docs/scale.md).
 */
import { type Scenario, sendable, simulate } from '../test/support/world/simulation.js'
import { options, percent, print, say } from './kit.js'

const { seed, shared, ...shown } = options({ seed: 0, shared: false, all: false })
const connections = 16
/** Of the API's clock, in milliseconds. */
const skew = 5 * 3_600_000 + 370

interface Case {
  readonly name: string
  /** In milliseconds. */
  readonly window: number
  readonly limit: number
  readonly latency: number
  readonly windows?: number
  readonly processes: number
  readonly others?: number
  readonly isKilled?: boolean
  readonly addresses?: number
}

/** About how many requests a case simulates. */
const requests = 20_000

function measure(one: Case): { cells: (string | number)[]; isGood: boolean } {
  const { name, isKilled, windows: wanted, others = 0, ...given } = one
  const { window, limit, latency, processes, addresses = 1 } = given
  const possible = sendable({ ...given, others, connections })
  const windows = wanted ?? Math.round(Math.min(1500, Math.max(5, requests / possible)))
  const its = shared
    ? limit + latency + processes
    : window * 0.007 + limit * 13 + latency * 17 + others * 1000
  const scenario: Scenario = { ...given, others, windows, connections, reserve: 0, skew, seed: seed + its }
  const killed = isKilled ? { killedAfter: Math.ceil(windows / 3) + 0.3 } : {}
  const tally = simulate(shared ? { ...scenario, ...killed, shared: databaseMs } : scenario)
  const used = tally.useOfPossible
  const refused = tally.refusedLater / tally.sentLater
  const isAlone = others === 0 && processes === 1
  const isGood = used >= (shared || isAlone ? 0.97 : 0.9) && refused < (isAlone && !shared ? 1e-9 : 0.005)
  const how = isKilled ? 'one killed' : addresses > 1 ? `${addresses} addresses` : ''
  const words = others > 0 ? `others: ${percent(others)}` : how
  const shares = [possible / limit, used, tally.leastUse].map((share) => percent(share, 1))
  const cells = [name, latency, processes, words, windows, ...shares, percent(refused, 2)]
  return { cells: [...cells, isGood ? '' : 'missed'], isGood }
}

/** To ask the row. */
const databaseMs = 3

function report(title: string, cases: readonly Case[]): void {
  const rows = cases.map(measure)
  const good = rows.filter(({ isGood }) => isGood)
  say(`\n${title}: ${good.length} of ${rows.length} combinations reach the goal\n`)
  const printed = rows.filter(({ isGood }) => shown.all || shared || !isGood).map(({ cells }) => cells)
  const heads = ['limit', 'latency ms', 'processes', '', 'windows', 'sendable', 'used of it', 'worst window']
  if (printed.length > 0) print([...heads, '429', ''], printed)
}

const limits = [1, 10, 60, 600, 3600].flatMap((seconds) =>
  [10, 100, 1000, 10_000].flatMap((limit) =>
    [20, 200, 2000].map((latency) => ({
      name: `${limit} in ${seconds} s`,
      window: seconds * 1000,
      limit,
      latency,
    })),
  ),
)

const sharedLimits = [
  { name: '10 a second', limit: 10, window: 1000, latencies: [20], windows: 300 },
  { name: '100 a minute', limit: 100, window: 60_000, latencies: [20, 200, 2000], windows: 100 },
  { name: '6,000 an hour', limit: 6000, window: 3_600_000, latencies: [20, 200, 2000], windows: 5 },
].flatMap(({ latencies, ...limit }) => latencies.map((latency) => ({ ...limit, latency })))

const ways = [
  ...[1, 2, 4, 8].map((processes) => ({ processes })),
  ...[2, 4, 8].map((processes) => ({ processes, isKilled: true })),
  ...[2, 8].flatMap((processes) => [
    { processes, addresses: 2 },
    { processes, others: 0.25 },
  ]),
]

if (shared)
  report(
    'Several processes that share a row',
    sharedLimits.flatMap((limit) => ways.map((way) => ({ ...limit, ...way }))),
  )
else {
  const others = [0, 0.1, 0.25, 0.5]
  report(
    'One process, alone or beside others',
    limits.flatMap((limit) => others.map((share) => ({ ...limit, processes: 1, others: share }))),
  )
  report(
    'Several processes on one limit',
    limits.flatMap((limit) => [2, 4].map((processes) => ({ ...limit, processes }))),
  )
}
