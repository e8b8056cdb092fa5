/**
 * Measures how several processes share one rate-limit window by a row of the warehouse (docs/scale.md), in virtual time:
 * which share of each window they use while work remains, and how many requests the server refuses.
 * `node dist/bench/rate/simulated.js [--seed N]`. `processes.ts` does the same with real processes.
 */
import { parseArgs } from 'node:util'
import { sendable, simulate, type Tally } from '../../test/support/world/simulation.js'

const { values: options } = parseArgs({ options: { seed: { type: 'string', default: '0' } } })
const seed = Number(options.seed)

const limits = [
  { name: '10 a second', limit: 10, window: 1000, latencies: [20], windows: 300 },
  { name: '100 a minute', limit: 100, window: 60_000, latencies: [20, 200, 2000], windows: 100 },
  { name: '6,000 an hour', limit: 6000, window: 3_600_000, latencies: [20, 200, 2000], windows: 5 },
]

interface Case {
  readonly processes: number
  readonly isKilled?: boolean
  readonly addresses?: number
  readonly others?: number
}
const cases: readonly Case[] = [
  ...[1, 2, 4, 8].flatMap((processes) => [{ processes }, { processes, isKilled: processes > 1 }]),
  ...[2, 8].map((processes) => ({ processes, addresses: 2 })),
  ...[2, 8].map((processes) => ({ processes, others: 0.25 })),
].filter(({ processes, isKilled }: Case) => processes > 1 || isKilled === undefined)

/** Milliseconds to ask the row. */
const database = 3

function measure(
  { limit, window, latency, windows }: Record<'limit' | 'window' | 'latency' | 'windows', number>,
  { processes, isKilled, addresses, others = 0 }: Case,
): Tally {
  return simulate({
    ...{ limit, window, latency, windows, processes, others, connections: 16, reserve: 0 },
    ...{ skew: 5 * 3_600_000 + 370, seed: seed + limit + latency + processes, shared: database },
    ...(isKilled && { killedAfter: Math.ceil(windows / 3) + 0.3 }),
    ...(addresses && { addresses }),
  })
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`

console.log('| limit | latency ms | processes | | used | worst window | 429 | |')
console.log('| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |')
for (const { name, latencies, ...how } of limits)
  for (const latency of latencies)
    for (const one of cases) {
      const tally = measure({ ...how, latency }, one)
      const { processes, isKilled, addresses, others = 0 } = one
      const possible = sendable({
        ...how,
        latency,
        processes,
        others,
        connections: 16,
        addresses: addresses ?? 1,
      })
      const used = tally.use / (possible / how.limit / (addresses ?? 1))
      const refused = tally.refusedLater / tally.sentLater
      const words = [
        isKilled && 'one killed',
        addresses && `${addresses} addresses`,
        others && 'strangers: 25 %',
      ]
      const isGood = used >= 0.97 && refused < 0.005
      const cells = [name, latency, processes, words.filter(Boolean).join(), percent(used)]
      console.log(
        `| ${[...cells, percent(tally.leastUse), percent(refused), isGood ? '' : 'missed'].join(' | ')} |`,
      )
    }
