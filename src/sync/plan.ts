import type { Int64 } from '../../schema/resource.js'
import { epoch } from '../api/books.js'
import { countAfter } from '../api/count.js'
import { forever } from '../api/ledger.js'
import type { Source } from '../api/types.js'
import { cursorName } from '../warehouse/cursors.js'
import type { Change } from '../warehouse/ddl.js'
import { beginningOf, endOf } from './backfill.js'
import { type CursorContext, type Dependencies, now } from './context.js'
import type { CursorEnd, CursorTask } from './cursor.js'
import {
  backfillCost,
  compareCost,
  minutesFor,
  type Rate,
  rateOf,
  resumedCost,
  walkCost,
} from './forecast.js'
import { floorOf, remaining } from './incremental.js'
import { CursorList } from './list.js'
import { Mirror, rootOf } from './mirror.js'
import type { RunRequest } from './report.js'
import { survey } from './survey.js'

/** What a run would do with one cursor. */
export interface PlannedCursor {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'ok' | 'unavailable' | 'failed'
  readonly requests: number
  readonly records: number
  readonly error: string | null
}

/** The document of `plan`. */
export interface Plan {
  readonly mode: 'plan'
  readonly of: RunRequest['mode']
  readonly planned_at: string
  /** All that the run would send, the question which tenants there are included. */
  readonly requests: number
  readonly records: number
  readonly minutes: number
  readonly rate: Rate | null
  readonly table_changes: readonly { readonly table: string; readonly what: string }[]
  readonly tenants: readonly {
    readonly tenant_id: Int64
    readonly requests: number
    readonly records: number
  }[]
  readonly cursors: readonly PlannedCursor[]
  /** What making this plan has cost. */
  readonly asked: number
}

interface Cost {
  readonly requests: number
  readonly records: number
}

/** Forecasts the work on one cursor, for one request at most. */
class Forecast {
  readonly #context: CursorContext
  readonly #task: CursorTask
  readonly #request: RunRequest
  readonly #list: CursorList
  readonly #mirror: Mirror | undefined
  cost: Cost = { requests: 0, records: 0 }

  constructor(
    context: CursorContext,
    task: CursorTask,
    source: Source,
    how: { readonly request: RunRequest; readonly hasTable: boolean },
  ) {
    this.#context = context
    this.#task = task
    this.#request = how.request
    this.#list = new CursorList(source, task, { priority: 'reconcile', signal: context.signal })
    this.#mirror = how.hasTable ? new Mirror(context.warehouse, task) : undefined
  }

  get #state() {
    const { tenantId, resource } = this.#task
    return this.#context.cursors.get(cursorName({ tenantId, resource: resource.name }))
  }

  async run(): Promise<void> {
    this.cost = await this.#forecast()
  }

  async #forecast(): Promise<Cost> {
    const { mode } = this.#request
    if (this.#task.resource.resource.list === 'strings')
      return mode === 'backfill' ? { requests: 0, records: 0 } : { requests: 1, records: 0 }
    if (mode === 'backfill') return this.#backfill()
    const walk = await this.#walk()
    if (mode !== 'reconcile') return walk
    const rows = Math.max(await this.#rows(epoch), this.#state?.watermark ? 0 : walk.records)
    const compare = this.#request.full ? walkCost(rows) : compareCost(rows)
    return { requests: walk.requests + compare, records: walk.records }
  }

  async #walk(): Promise<Cost> {
    const isFull = this.#request.mode === 'full'
    const floor = floorOf(isFull ? null : (this.#state?.watermark ?? null), this.#context.config.sync.overlap)
    const records = await countAfter(this.#list, floor)
    const below = remaining(this.#state)
    if (below === 0) return { requests: walkCost(records), records }
    return { requests: resumedCost(records, Math.min(below, records)), records: below }
  }

  /** What is newer than the ranges is taken from the warehouse: the source is asked one question only. */
  async #backfill(): Promise<Cost> {
    let [requests, records] = [0, 0]
    const ranges = (this.#request.ranges ?? []).toSorted((a, b) => (a.from < b.from ? -1 : 1))
    const [oldest] = ranges
    if (!oldest) return { requests, records }
    const atSource = await countAfter(this.#list, beginningOf(oldest))
    const here = await this.#rows(beginningOf(oldest))
    for (const range of ranges) {
      const newer = await this.#rows(endOf(range))
      const rest = (await this.#rows(beginningOf(range))) - newer
      // What the warehouse does not know of yet counts as in the range.
      const within = rest + (range === oldest ? Math.max(0, atSource - here) : 0)
      requests += backfillCost(newer, within)
      records += within
    }
    return { requests, records }
  }

  async #rows(after: string): Promise<number> {
    return (await this.#mirror?.count(after, forever)) ?? 0
  }
}

const complete = {
  outcome: null,
  watermark: null,
  records: 0,
  unstorable: 0,
  written: 0,
  removed: 0,
}

function cursorsOf(ends: readonly CursorEnd[], costs: ReadonlyMap<string, Cost>): PlannedCursor[] {
  return ends.map(({ report: { tenant_id, resource, status, error } }) => {
    const cost = costs.get(cursorName({ tenantId: tenant_id, resource })) ?? { requests: 1, records: 0 }
    // A run finds out by one request what this plan has found out.
    return { tenant_id, resource, status, error, ...(status === 'ok' ? cost : { requests: 1, records: 0 }) }
  })
}

const sum = (items: readonly Cost[], name: keyof Cost): number =>
  items.reduce((total, item) => total + item[name], 0)

function byTenant(cursors: readonly PlannedCursor[]): Plan['tenants'] {
  const ids = [...new Set(cursors.map(({ tenant_id }) => tenant_id))]
  return ids.map((tenant_id) => {
    const own = cursors.filter((cursor) => cursor.tenant_id === tenant_id)
    return { tenant_id, requests: sum(own, 'requests'), records: sum(own, 'records') }
  })
}

const creates = (changes: readonly Change[], table: string): boolean =>
  changes.some((change) => change.table === table && change.what === 'create table')

/** Says what a run would cost. Asks one question a cursor at most, and writes nothing. */
export async function makePlan(deps: Dependencies, request: RunRequest, reserve: number): Promise<Plan> {
  const plannedAt = now(deps)
  const before = deps.clock.nowMicros()
  const changes = await deps.warehouse.plan()
  const forecasts = new Map<string, Forecast>()
  const isNew = creates(changes, 'sync_cursors') || creates(changes, 'tenants')
  const ends = await survey(
    deps,
    request,
    (context) => (task, source) => {
      const hasTable = !creates(changes, rootOf(task.resource).name)
      const forecast = new Forecast(context, task, source, { request, hasTable })
      forecasts.set(cursorName({ tenantId: task.tenantId, resource: task.resource.name }), forecast)
      return { run: async () => forecast.run().then(() => complete), partial: () => complete }
    },
    isNew,
  )
  const cursors = cursorsOf(ends, new Map([...forecasts].map(([name, { cost }]) => [name, cost])))
  const stats = deps.source.stats()
  const asked = stats.requests
  const seconds = Number(deps.clock.nowMicros() - before) / 1e6 / Math.max(1, asked)
  const rate = rateOf(stats, reserve, Number(deps.clock.nowMicros()) / 1000)
  const tenants = byTenant(cursors)
  const requests = sum(cursors, 'requests') + Math.max(1, Math.ceil(tenants.length / 100))
  return {
    mode: 'plan',
    of: request.mode,
    planned_at: plannedAt,
    requests,
    records: sum(cursors, 'records'),
    minutes: Math.ceil(minutesFor(requests, rate, seconds) * 10) / 10,
    rate,
    table_changes: changes.map(({ table, what }) => ({ table, what })),
    tenants,
    cursors,
    asked,
  }
}
