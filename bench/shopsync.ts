import { Stamps, systemClock } from '../src/engine/base/clock.js'
import { runSync } from '../src/engine/run/run.js'
import { createSource } from '../src/engine/source/client.js'
import { migrate } from '../src/engine/warehouse/layout/migrate.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { newestStamp } from '../src/engine/warehouse/state/runs.js'
import { beginSync } from '../src/features/sync/work.js'
import { collectAt } from '../src/shell/collectat.js'
import { known } from './known.js'
import type { Load } from './load.js'

interface ProductRun {
  /** Of the source. */
  readonly baseUrl: string
  readonly url: string
  readonly schema: string
  readonly mode: 'sync' | 'full'
  readonly resources: readonly string[]
  readonly connections: number
  /** How many pages of one walk are requested at once at most; undefined: the default. */
  readonly readAhead?: number
}

/** The product as the command line runs it, with its default configuration. Throws if a verdict isn't `proven`. */
export async function run(options: ProductRun): Promise<void> {
  const { baseUrl, url, schema, mode, resources, connections, readAhead } = options
  const warehouse = await openWarehouse({ url, schema, model: known })
  collectAt(warehouse.dialect.bulk.heapGrowth)
  await migrate(warehouse)
  const clock = systemClock
  const stamps = new Stamps(clock, await newestStamp(warehouse))
  const source = createSource({
    baseUrl,
    partnerId: '42',
    secret: 'bench-secret',
    timeouts: { connect: 10_000, headers: 30_000, body: 30_000, request: 60_000 },
    connections,
    rateReserve: 0,
    clock,
    stamps,
    userAgent: 'shopsync-bench',
    gzip: false,
    retry: {},
  })
  const sync = {
    tenants: 'all',
    exceptTenants: [],
    resources: 'all',
    overlap: 300_000,
    concurrency: 8,
  } as const
  const { signal } = new AbortController()
  const deps = { config: { sync }, model: known, warehouse, source, clock, stamps, observer: {}, signal }
  const request = { mode, job: null, tenants: null, resources }
  const begun = { ...request, begin: beginSync(request) }
  const report = await runSync(readAhead === undefined ? deps : { ...deps, readAhead }, begun)
  await source.close()
  await warehouse.close()
  if (report.status !== 'ok' || report.cursors.some((cursor) => cursor.completeness !== 'proven'))
    throw new Error(`shopsync: ${JSON.stringify(report.cursors.slice(0, 5))}`)
}

export async function load(given: Load, mode: 'sync' | 'full', connections = 8): Promise<void> {
  const { source: baseUrl, url, schema, resources } = given
  await run({ baseUrl, url, schema, mode, resources, connections })
}
