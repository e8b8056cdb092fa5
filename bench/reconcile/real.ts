/** Measures the real programs: the sandbox, the client and a SQLite warehouse. Used by bench/reconcile.ts. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resources } from '../../schema/index.js'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { runSync } from '../../src/engine/run/run.js'
import type { RunReport, RunRequest } from '../../src/engine/run/runreport.js'
import { createSource } from '../../src/engine/source/client.js'
import { migrate } from '../../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../../src/engine/warehouse/openwarehouse.js'
import { newestStamp } from '../../src/engine/warehouse/runs.js'
import { beginReconcile } from '../../src/features/reconcile/work.js'
import { beginSync } from '../../src/features/sync/work.js'
import { createSandbox, template } from '../../src/sandbox/index.js'
import { model } from '../../test/support/harness/model.js'

const base = 1_700_000_000_000_000n
export const timeOf = (id: number): string => fromMicros(base + BigInt(id) * 7_000_001n)

type Ask = Partial<RunRequest> & Pick<RunRequest, 'mode'>

export interface World {
  run(ask: Ask): Promise<RunReport>
  remove(id: number): void
}

/** Makes a source with this many records and an empty warehouse, and removes both when `use` has ended. */
export async function withWorld<T>(records: number, use: (world: World) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-bench-'))
  const sandbox = await createSandbox({ data: 'none' })
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= records; id++) sandbox.store.put(1, 'notes', template('notes', id, timeOf(id)))
  const known = model(resources)
  const warehouse = await openWarehouse({ url: `sqlite:${join(folder, 'w.db')}`, schema: '', model: known })
  await migrate(warehouse)
  const run = async (ask: Ask): Promise<RunReport> => {
    const stamps = new Stamps(systemClock, await newestStamp(warehouse))
    const source = createSource({
      baseUrl: sandbox.url,
      partnerId: sandbox.partnerId,
      secret: sandbox.secret,
      timeouts: { connect: 5000, headers: 5000, body: 5000, request: 5000 },
      rateReserve: 0,
      clock: systemClock,
      stamps,
      userAgent: 'bench',
      gzip: false,
      retry: { attempts: 2, baseMs: 1, maxMs: 5 },
    })
    const sync = {
      tenants: 'all',
      exceptTenants: [],
      resources: 'all',
      overlap: 300_000,
      concurrency: 1,
    } as const
    const config = { sync }
    const deps = { config, model: known, warehouse, source, clock: systemClock, stamps, observer: {} }
    try {
      const request = { job: null, tenants: null, resources: ['notes'], ...ask }
      const begin = ask.mode === 'reconcile' ? beginReconcile(request) : beginSync(request)
      return await runSync({ ...deps, signal: new AbortController().signal }, { ...request, begin })
    } finally {
      await source.close()
    }
  }
  try {
    return await use({ run, remove: (id) => void sandbox.store.remove(1, 'notes', id) })
  } finally {
    await warehouse.close()
    await sandbox.close()
    rmSync(folder, { recursive: true })
  }
}
