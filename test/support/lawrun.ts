import { resources } from '../../schema/index.js'
import { createSource } from '../../src/api/client.js'
import type { ItemRequest, ListRequest, Page, Source } from '../../src/api/source.js'
import { type Clock, Stamps, systemClock } from '../../src/clock.js'
import { type Model, model } from '../../src/model/registry.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import type { Dependencies } from '../../src/sync/run/context.js'
import type { Mode, RunReport } from '../../src/sync/run/report.js'
import { runSync } from '../../src/sync/run/run.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'

export const known: Model = model(resources)

/** Where a sandbox is reached, and how. */
export type Target = Pick<Sandbox, 'url' | 'partnerId' | 'secret'>

export interface LawRun {
  readonly mode?: Mode
  readonly clock?: Clock
  readonly resources?: readonly string[]
  readonly overlapMs?: number
  readonly concurrency?: number
  readonly pageSizes?: readonly number[]
  readonly readAhead?: number
  readonly leaseMs?: number
  readonly signal?: AbortSignal
  /** Stands between the sync and the API: to end it in the middle, or to lie to it. */
  readonly around?: (source: Source) => Source
  readonly notices?: [string, Record<string, unknown>][]
  /** How long to wait for an answer, and how much of one to read. */
  readonly timeoutMs?: number
  readonly maxBodyBytes?: number
  /** Another address than the sandbox's. */
  readonly baseUrl?: string
}

/** The real client on the sandbox, with short waits between few retries. */
function connect(sandbox: Target, stamps: Stamps, clock: Clock, options: LawRun): Source {
  const timeout = options.timeoutMs ?? 5000
  return createSource({
    baseUrl: options.baseUrl ?? sandbox.url,
    partnerId: sandbox.partnerId,
    secret: sandbox.secret,
    timeouts: { connect: timeout, headers: timeout, body: timeout },
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
    rateReserve: 0,
    clock,
    stamps,
    userAgent: 'shopsync-laws',
    gzip: false,
    retry: { attempts: 3, baseMs: 1, maxMs: 5 },
  })
}

/** One run of sync as the command line would make it, with every seam within reach. */
export async function lawSync(
  sandbox: Target,
  warehouse: Warehouse,
  options: LawRun = {},
): Promise<RunReport> {
  const { clock = systemClock, overlapMs = 300_000, concurrency = 1, notices } = options
  const stamps = new Stamps(clock, await warehouse.newestStamp())
  const source = connect(sandbox, stamps, clock, options)
  const deps: Dependencies = {
    config: { sync: { tenants: 'all', resources: 'all', overlap: overlapMs, concurrency } },
    model: known,
    warehouse,
    source: options.around ? options.around(source) : source,
    clock,
    stamps,
    observer: { notice: (message, fields) => void notices?.push([message, fields]) },
    signal: options.signal ?? new AbortController().signal,
    ...(options.pageSizes && { pageSizes: options.pageSizes }),
    ...(options.readAhead !== undefined && { readAhead: options.readAhead }),
    ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }),
  }
  try {
    const { mode = 'sync' } = options
    return await runSync(deps, { mode, job: null, tenants: null, resources: options.resources ?? null })
  } finally {
    await source.close()
  }
}

/** A source whose lists pass through a function on their way. */
export class Between implements Source {
  readonly #source: Source
  readonly #list: (request: ListRequest, ask: () => Promise<Page>) => Promise<Page>

  constructor(source: Source, list: (request: ListRequest, ask: () => Promise<Page>) => Promise<Page>) {
    this.#source = source
    this.#list = list
  }

  list(request: ListRequest): Promise<Page> {
    return this.#list(request, () => this.#source.list(request))
  }

  async take<T>(request: ListRequest, make: (page: Page) => T): Promise<T> {
    return make(await this.list(request))
  }

  item(request: ItemRequest): ReturnType<Source['item']> {
    return this.#source.item(request)
  }

  strings(request: Omit<ItemRequest, 'id'>): ReturnType<Source['strings']> {
    return this.#source.strings(request)
  }

  authorizations(page: number, signal?: AbortSignal): Promise<Page> {
    return this.#source.authorizations(page, signal)
  }

  stats(): ReturnType<Source['stats']> {
    return this.#source.stats()
  }

  tagged(): Source {
    return new Between(this.#source.tagged(), this.#list)
  }

  close(): Promise<void> {
    return this.#source.close()
  }
}
