/**
 * npm run bench -- latency [--records 40000] [--milliseconds 200] [--rounds 3]
 *
 * The first load of one big cursor when each response takes `--milliseconds` and no rate limit applies. One walk requests
 * one page after the other, another walk requests several pages together. The books of both have to close.
 */
import { join } from 'node:path'
import { inFolder, options, print, seconds } from './kit.js'
import { run } from './shopsync.js'
import { BenchSource } from './source/source.js'
import { median } from './stats.js'

const { records, milliseconds, rounds } = options({ records: 40_000, milliseconds: 200, rounds: 3 })
const ways = [
  { name: 'one page after the other', readAhead: 0 },
  { name: 'several together, 16 at most', readAhead: 16 },
]
const resources = ['repair_orders']

using source = await BenchSource.start(1, records)
await source.latency(milliseconds)
const taken = ways.map((way) => ({ ...way, took: [] as number[], requests: [] as number[] }))
await inFolder(async (folder) => {
  for (let round = 0; round < rounds; round++)
    for (const { readAhead, took, requests } of taken) {
      const url = `sqlite:${join(folder, `${readAhead}-${round}.db`)}`
      const given = { baseUrl: source.url, url, schema: '', mode: 'sync', resources } as const
      await source.requests()
      took.push(await seconds(() => run({ ...given, connections: 16, readAhead })))
      requests.push(await source.requests())
    }
})
const slowest = median(taken[0]?.took ?? [])
print(
  ['walk', 'seconds', 'times as fast', 'requests'],
  taken.map(({ name, took, requests }) => {
    const middle = median(took)
    return [name, middle.toFixed(1), (slowest / middle).toFixed(1), median(requests)]
  }),
)
