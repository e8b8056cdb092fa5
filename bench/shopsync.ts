import { resources } from '../schema/index.js'
import { createSource } from '../src/api/client.js'
import { Stamps, systemClock } from '../src/clock.js'
import { model } from '../src/derive/registry.js'
import { runSync } from '../src/sync/run.js'
import { openWarehouse } from '../src/warehouse/open.js'
import type { Load } from './floor/load.js'

/** The product as the command line runs it, with the defaults of its configuration. Returns the rows that it read. */
export async function load({ source: baseUrl, url, schema }: Load, full: boolean): Promise<number> {
  const known = model(resources)
  const warehouse = await openWarehouse({ url, schema, model: known })
  await warehouse.migrate()
  const clock = systemClock
  const stamps = new Stamps(clock, await warehouse.newestStamp())
  const source = createSource({
    baseUrl,
    partnerId: '42',
    secret: 'bench-secret',
    timeouts: { connect: 10_000, headers: 30_000, body: 30_000 },
    connections: 8,
    rateReserve: 0,
    clock,
    stamps,
    userAgent: 'shopsync-bench',
    gzip: false,
    retry: {},
  })
  const sync = { tenants: 'all', resources: 'all', overlap: 300_000, concurrency: 8 } as const
  const signal = new AbortController().signal
  const report = await runSync(
    { config: { sync }, model: known, warehouse, source, clock, stamps, observer: {}, signal },
    { mode: full ? 'full' : 'sync', job: null, tenants: null, resources: ['repair_orders'] },
  )
  await source.close()
  await warehouse.close()
  if (report.status !== 'ok' || report.cursors.some((cursor) => cursor.completeness !== 'proven'))
    throw new Error(`shopsync: ${JSON.stringify(report.cursors)}`)
  return report.cursors.reduce((sum, cursor) => sum + cursor.records, 0) * rowsPerOrder
}

const rowsPerOrder = 36
