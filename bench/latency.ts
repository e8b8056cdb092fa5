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
const taken = ways.map((): { took: number; requests: number }[] => [])
await inFolder(async (folder) => {
  for (let round = 0; round < rounds; round++)
    for (const [way, { readAhead }] of ways.entries()) {
      const url = `sqlite:${join(folder, `${readAhead}-${round}.db`)}`
      await source.requests()
      const took = await seconds(() =>
        run({ baseUrl: source.url, url, schema: '', mode: 'sync', resources, connections: 16, readAhead }),
      )
      taken[way]?.push({ took, requests: await source.requests() })
    }
})
const medians = taken.map((all) => ({
  took: median(all.map((one) => one.took)),
  requests: median(all.map((one) => one.requests)),
}))
print(
  ['walk', 'seconds', 'times as fast', 'requests'],
  medians.map(({ took, requests }, way) => [
    ways[way]?.name ?? '',
    took.toFixed(1),
    ((medians[0]?.took ?? 0) / took).toFixed(1),
    requests,
  ]),
)
