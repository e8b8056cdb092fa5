/**
 * Measures the rate governor in virtual time: which share of each window it uses while work remains, and how many
 * requests the server refuses. `node dist/bench/governor.js [--all] [--seed N]`; without --all it prints only the rows
 * that miss the goal.
 */
import { sendable, simulate, type Tally } from '../test/support/world/simulation.js'

const WINDOWS = [1, 10, 60, 600, 3600]
const LIMITS = [10, 100, 1000, 10_000]
const LATENCIES = [20, 200, 2000]
const OTHERS = [0, 0.1, 0.25, 0.5]
const PROCESSES = [2, 4]
const CONNECTIONS = 16
/** About how many requests a row simulates. */
const REQUESTS = 20_000

const seed = Number(process.argv[process.argv.indexOf('--seed') + 1] ?? 0) || 0

interface Row extends Tally {
  readonly window: number
  readonly limit: number
  readonly latency: number
  readonly others: number
  readonly processes: number
  /** The share of the limit that our connections and the other clients can use at most. */
  readonly possible: number
  readonly good: boolean
}

function measure(window: number, limit: number, latency: number, others: number, processes = 1): Row {
  const connections = CONNECTIONS
  const possible = sendable({ window: window * 1000, limit, latency, others, processes, connections })
  const windows = Math.round(Math.min(1500, Math.max(5, REQUESTS / possible)))
  const tally = simulate({
    window: window * 1000,
    limit,
    latency,
    others,
    processes,
    windows,
    connections,
    reserve: 0,
    skew: 5 * 3_600_000 + 370,
    seed: window * 7 + limit * 13 + latency * 17 + others * 1000 + seed,
  })
  const share = tally.refusedLater / tally.sentLater
  const good =
    others === 0 && processes === 1
      ? tally.useOfPossible >= 0.97 && share === 0
      : tally.useOfPossible >= 0.9 && share < 0.005
  return { ...tally, window, limit, latency, others, processes, possible: possible / limit, good }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.01 && share > 0 ? 2 : 1)}%`
}

function print(rows: readonly Row[]): void {
  console.log(
    '| window s | limit | latency ms | others | processes | windows | sendable | used | of sendable | worst | 429 | |',
  )
  console.log('| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |')
  for (const row of rows) {
    const refused = percent(row.refusedLater / row.sentLater)
    const cells = [
      row.window,
      row.limit,
      row.latency,
      percent(row.others),
      row.processes,
      row.windows,
      percent(row.possible),
      percent(row.use),
      percent(row.useOfPossible),
      percent(row.leastUse),
      refused,
      row.good ? '' : 'missed',
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

function report(title: string, rows: readonly Row[]): void {
  const shown = process.argv.includes('--all') ? rows : rows.filter((row) => !row.good)
  const good = rows.filter((row) => row.good).length
  console.log(`\n${title}: ${good} of ${rows.length} combinations reach the goal\n`)
  if (shown.length > 0) print(shown)
}

const each = (run: (window: number, limit: number, latency: number) => Row[]): Row[] =>
  WINDOWS.flatMap((window) =>
    LIMITS.flatMap((limit) => LATENCIES.flatMap((latency) => run(window, limit, latency))),
  )

report(
  'One process, alone or beside others',
  each((window, limit, latency) => OTHERS.map((others) => measure(window, limit, latency, others))),
)
report(
  'Several processes on one limit',
  each((window, limit, latency) =>
    PROCESSES.map((processes) => measure(window, limit, latency, 0, processes)),
  ),
)
