import { resources } from '../../schema/index.js'
import { createSource } from '../../src/api/client.js'
import type { Source } from '../../src/api/source.js'
import { type Clock, Stamps, systemClock } from '../../src/clock.js'
import { type Model, model } from '../../src/model/registry.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import type { Dependencies } from '../../src/sync/run/context.js'
import type { Mode, RunReport } from '../../src/sync/run/report.js'
import { runSync } from '../../src/sync/run/run.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'

export interface RunOptions {
  readonly mode?: Mode
  readonly known?: Model
  readonly clock?: Clock
  readonly tenants?: readonly number[]
  readonly resources?: readonly string[]
  readonly overlapMs?: number
  readonly concurrency?: number
  readonly signal?: AbortSignal
  readonly leaseMs?: number
  readonly notices?: [string, Record<string, unknown>][]
}

/** The real client on the sandbox, with short waits between retries. */
export function sourceOf(sandbox: Sandbox, stamps: Stamps, clock: Clock = systemClock): Source {
  return createSource({
    baseUrl: sandbox.url,
    partnerId: sandbox.partnerId,
    secret: sandbox.secret,
    timeouts: { connect: 5000, headers: 5000, body: 5000 },
    rateReserve: 0,
    clock,
    stamps,
    userAgent: 'shopsync-test',
    gzip: false,
    retry: { attempts: 4, baseMs: 1, maxMs: 5 },
  })
}

/** What a run is given, on the sandbox and a warehouse. */
export async function depsOf(
  sandbox: Sandbox,
  warehouse: Warehouse,
  options: RunOptions = {},
): Promise<{ deps: Dependencies; close: () => Promise<void> }> {
  const clock = options.clock ?? systemClock
  const stamps = new Stamps(clock, await warehouse.newestStamp())
  const source = sourceOf(sandbox, stamps, clock)
  const deps: Dependencies = {
    config: {
      sync: {
        tenants: 'all',
        resources: 'all',
        overlap: options.overlapMs ?? 300_000,
        concurrency: options.concurrency ?? 4,
      },
    },
    model: options.known ?? model(resources),
    warehouse,
    source,
    clock,
    stamps,
    observer: { notice: (message, fields) => void options.notices?.push([message, fields]) },
    signal: options.signal ?? new AbortController().signal,
    ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }),
  }
  return { deps, close: () => source.close() }
}

/** One run of sync, as the command line would make it, but in this process. */
export async function sync(
  sandbox: Sandbox,
  warehouse: Warehouse,
  options: RunOptions = {},
): Promise<RunReport> {
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  try {
    return await runSync(deps, {
      mode: options.mode ?? 'sync',
      job: null,
      tenants: options.tenants ?? null,
      resources: options.resources ?? null,
    })
  } finally {
    await close()
  }
}
