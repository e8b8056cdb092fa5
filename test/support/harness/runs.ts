/**
 * One run of the sync as the command line would make it, but in this process and with access to every seam: the clock,
 * the pages, the source. Every room's tests run the sync through this file. Doesn't use vitest, so
 * `test/support/harness/worker.ts` can use it in its own process.
 */
import { resources } from '../../../schema/index.js'
import { type Clock, Stamps, systemClock } from '../../../src/engine/base/clock.js'
import { describeError, isExpected } from '../../../src/engine/base/errors.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import type { Begin } from '../../../src/engine/run/cursor.js'
import { runSync } from '../../../src/engine/run/run.js'
import type { Dependencies } from '../../../src/engine/run/runcontext.js'
import type { Note, Observer, RunReport, RunRequest } from '../../../src/engine/run/runreport.js'
import { createSource } from '../../../src/engine/source/client.js'
import type { Source } from '../../../src/engine/source/source.js'
import { newestStamp } from '../../../src/engine/warehouse/state/runs.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { beginBackfill } from '../../../src/features/backfill/work.js'
import { beginReconcile } from '../../../src/features/reconcile/work.js'
import { beginSync } from '../../../src/features/sync/work.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { model } from './model.js'

// What tests of components reach of the engine: a room that is rebuilt is followed here, and in no test.
export * from '../../../src/engine/run/askshared.js'
export * from '../../../src/engine/run/authorizations.js'
export * from '../../../src/engine/run/byid.js'
export * from '../../../src/engine/run/confirm.js'
export * from '../../../src/engine/run/cursor.js'
export * from '../../../src/engine/run/cursorlist.js'
export * from '../../../src/engine/run/ending.js'
export * from '../../../src/engine/run/lastrun.js'
export * from '../../../src/engine/run/lateness.js'
export * from '../../../src/engine/run/polls.js'
export * from '../../../src/engine/run/resumecursor.js'
export * from '../../../src/engine/run/run.js'
export * from '../../../src/engine/run/runcontext.js'
export * from '../../../src/engine/run/runreport.js'
export * from '../../../src/engine/run/steps.js'
export * from '../../../src/engine/run/tenant.js'
export * from '../../../src/engine/run/tombstone.js'
export * from '../../../src/engine/run/wholelists.js'
export * from '../../../src/engine/source/http/exchange.js'
export * from '../../../src/engine/source/http/retry.js'
export * from '../../../src/engine/source/source.js'

export const known: Model = model(resources)

/** How the work on a cursor starts, depending on the run: as in the commands and job steps. */
export function beginOf(request: RunRequest): Begin {
  if (request.mode === 'reconcile') return beginReconcile(request)
  return request.mode === 'backfill' ? beginBackfill(request) : beginSync(request)
}

/** The request with it. */
export const begun = (request: RunRequest): RunRequest & { readonly begin: Begin } => ({
  ...request,
  begin: beginOf(request),
})

/** How to reach a sandbox. */
export type Target = Pick<Sandbox, 'url' | 'partnerId' | 'secret'>

/** Ends what it is thrown in, like a kill. */
export class Killed extends Error {
  override readonly name = 'Killed'

  constructor(message = 'killed') {
    super(message)
  }
}

type Dependency =
  | 'signal'
  | 'timeLimited'
  | 'leaseMs'
  | 'shard'
  | 'pageSizes'
  | 'readAhead'
  | 'random'
  | 'beside'
  | 'arrived'

/** A run's request, and its dependencies if the usual ones don't fit. */
export interface RunOptions extends Partial<RunRequest>, Partial<Pick<Dependencies, Dependency>> {
  readonly known?: Model
  readonly exceptTenants?: readonly number[]
  readonly clock?: Clock
  readonly overlapMs?: number
  readonly historyKeepMs?: number
  readonly concurrency?: number
  /** Whether a run goes on after an error of ours in one list, as it does for users. Default: it ends with that error. */
  readonly toleratesBugs?: boolean
  readonly notices?: [string, Record<string, unknown>][]
  /** Sits between the sync and the API: to end it in the middle, or to lie to it. */
  readonly around?: (source: Source) => Source
  /** How long to wait for a response, and how much of one to read. */
  readonly timeoutMs?: number
  readonly maxBodyBytes?: number
  /** The most records to request at once. */
  readonly pageSize?: number
  /** A different address than the sandbox's. */
  readonly baseUrl?: string
}

/** The real client on the sandbox, with few retries and short waits. */
function connect(
  { url, partnerId, secret }: Target,
  stamps: Stamps,
  clock: Clock,
  options: RunOptions,
): Source {
  const {
    baseUrl = url,
    timeoutMs: timeout = 5000,
    maxBodyBytes = 64 * 1024 * 1024,
    pageSize = 100,
  } = options
  return createSource({
    baseUrl,
    partnerId,
    secret,
    timeouts: { connect: timeout, headers: timeout, body: timeout, request: timeout },
    maxBodyBytes,
    pageSize,
    rateReserve: 0,
    clock,
    stamps,
    userAgent: 'shopsync-test',
    gzip: false,
    retry: { attempts: 3, baseMs: 1, maxMs: 5 },
  })
}

/** The dependencies of a run on the sandbox and a warehouse. */
export async function depsOf(
  sandbox: Target,
  warehouse: Writer,
  options: RunOptions = {},
): Promise<{ deps: Dependencies; close: () => Promise<void> }> {
  const {
    clock = systemClock,
    overlapMs = 300_000,
    concurrency = 4,
    exceptTenants = [],
    historyKeepMs,
  } = options
  const { mode, tenants, resources, full, acceptDeletes, ranges, around = (one) => one, ...others } = options
  const stamps = new Stamps(clock, await newestStamp(warehouse))
  const source = connect(sandbox, stamps, clock, options)
  const told: Note = (message, fields) => void options.notices?.push([message, fields])
  const survived: Observer['survived'] = (error, message, fields = {}) => {
    told(message, { ...fields, error: describeError(error) })
    // Laws and kills throw within the run. If it went on, nobody would hear of them.
    if (!options.toleratesBugs && !isExpected(error)) throw error
  }
  const sync = { tenants: 'all', exceptTenants, resources: 'all', overlap: overlapMs, concurrency } as const
  const deps: Dependencies = {
    signal: new AbortController().signal,
    ...others,
    config: historyKeepMs === undefined ? { sync } : { sync, history: { keep: historyKeepMs } },
    get model() {
      return warehouse.model
    },
    warehouse,
    source: around(source),
    clock,
    stamps,
    observer: { notice: told, warning: told, survived },
  }
  return { deps, close: () => source.close() }
}

export async function sync(sandbox: Target, warehouse: Writer, options: RunOptions = {}): Promise<RunReport> {
  const { mode = 'sync', tenants = null, resources = null, ranges } = options
  const { full = false, acceptDeletes = false } = options
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  const request = { mode, job: null, tenants, resources, full, acceptDeletes, ranges }
  return await runSync(deps, begun(request)).finally(close)
}

/** A run that reads one cursor after the other, so that its requests and statements come in the same order each time. */
export const syncInOrder = (
  sandbox: Target,
  warehouse: Writer,
  options: RunOptions = {},
): Promise<RunReport> => sync(sandbox, warehouse, { concurrency: 1, ...options })
