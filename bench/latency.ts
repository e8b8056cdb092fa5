/**
 * node dist/bench/latency.js [--records 40000] [--milliseconds 200] [--rounds 3]
 *
 * Measures the first load of one big cursor when each response takes `--milliseconds` and no rate limit applies. One
 * walk requests one page after the other, another walk requests several pages together. The books of both have to
 * close.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from './shopsync.js'
import { BenchSource } from './source/source.js'

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '40000' },
    milliseconds: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
  },
})
const ways = [
  { name: 'one page after the other', readAhead: 0 },
  { name: 'several together, 16 at most', readAhead: 16 },
]

interface Timed {
  readonly seconds: number
  readonly requests: number
}

async function timed(source: BenchSource, folder: string, readAhead: number): Promise<Timed> {
  const url = `sqlite:${join(folder, `${readAhead}-${Date.now()}.db`)}`
  await source.requests()
  const start = performance.now()
  await run({
    baseUrl: source.url,
    url,
    schema: '',
    mode: 'sync',
    resources: ['repair_orders'],
    connections: 16,
    readAhead,
  })
  const seconds = (performance.now() - start) / 1000
  return { seconds, requests: await source.requests() }
}

const middle = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-latency-'))
  const source = await BenchSource.start(1, Number(options.records))
  try {
    await source.latency(Number(options.milliseconds))
    const results = new Map<string, Timed[]>(ways.map(({ name }) => [name, []]))
    for (let round = 0; round < Number(options.rounds); round++)
      for (const { name, readAhead } of ways) results.get(name)?.push(await timed(source, folder, readAhead))
    const slow = middle([...(results.get(ways[0]?.name ?? '') ?? [])].map(({ seconds }) => seconds))
    process.stdout.write('| walk | seconds | times as fast | requests |\n| --- | ---: | ---: | ---: |\n')
    for (const [name, all] of results) {
      const seconds = middle(all.map((one) => one.seconds))
      const requests = middle(all.map((one) => one.requests))
      process.stdout.write(
        `| ${name} | ${seconds.toFixed(1)} | ${(slow / seconds).toFixed(1)} | ${requests} |\n`,
      )
    }
  } finally {
    source.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
