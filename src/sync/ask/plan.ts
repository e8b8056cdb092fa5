import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import { pageRecords } from '../../compare/cost.js'
import { countAfter } from '../../walk/count.js'
import { epoch, forever } from '../../walk/cutpoint.js'
import type { PendingMove } from '../../warehouse/columns.js'
import { cursorName } from '../../warehouse/cursors.js'
import { type Change, isNewWarehouse } from '../../warehouse/ddl.js'
import { countRecords, readOutdated } from '../../warehouse/rederive.js'
import { LiveRows } from '../reconcile/liverows.js'
import {
  type CursorContext,
  type CursorTask,
  type Dependencies,
  keyOf,
  now,
  rootOf,
  stateOf,
} from '../run/context.js'
import type { CursorEnd } from '../run/cursor.js'
import { overlapOf } from '../run/lateness.js'
import { readOnlyRun } from '../run/readonlyrun.js'
import type { RunRequest } from '../run/report.js'
import { floorOf, remaining } from '../run/resume.js'
import { type CursorProgress, type CursorResult, type CursorWork, noCounts } from '../run/work.js'
import { beginningOf, endOf, manyRecords } from '../walks/backfill.js'
import { type CursorList, flatList } from '../walks/list.js'
import {
  backfillCost,
  burstChecks,
  compareCost,
  minutesFor,
  type Rate,
  rateOf,
  readsAhead,
  resumedCost,
  walkCost,
} from './forecast.js'

/** What a run would do with one cursor. */
export interface PlannedCursor {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'ok' | 'unavailable' | 'failed' | 'skipped'
  readonly requests: number
  readonly records: number
  /** Of the requests: checks of pages that are read several at a time, where answers take so long that they will be. */
  readonly checks: number
  readonly error: string | null
}

/** The document of `plan`. */
export interface RunPlan {
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
  readonly checks: number
}

const nothing: Cost = { requests: 0, records: 0, checks: 0 }
const pagesOf = (records: number): number => Math.ceil(records / pageRecords)

/** Forecasts the work on one cursor, for one request at most. */
class Forecast implements CursorWork {
  readonly progress: CursorProgress = { ...noCounts, watermark: null }
  readonly #request: RunRequest
  readonly #list: CursorList
  readonly #liveRows: LiveRows | undefined
  cost: Cost = nothing

  constructor(
    private readonly context: CursorContext,
    private readonly task: CursorTask,
    source: Source,
    private readonly how: {
      readonly request: RunRequest
      readonly hasTable: boolean
      /** What the run would do to the tables first makes it read the whole list. */
      readonly isRefilled: boolean
    },
  ) {
    this.#request = how.request
    this.#list = flatList(source, task, {
      priority: 'reconcile',
      signal: context.signal,
      form: context.warehouse.dialect.numbers,
    })
    this.#liveRows = how.hasTable ? new LiveRows(context.warehouse, task) : undefined
  }

  get #state() {
    return stateOf(this.context, this.task)
  }

  async run(): Promise<CursorResult> {
    this.cost = await this.#forecast()
    return { ...this.progress, outcome: null }
  }

  async #forecast(): Promise<Cost> {
    const { mode } = this.#request
    if (this.task.resource.resource.list === 'strings')
      return mode === 'backfill' ? nothing : { ...nothing, requests: 1 }
    if (mode === 'backfill') return this.#backfill()
    const walk = await this.#walk()
    if (mode !== 'reconcile') return walk
    const rows = Math.max(await this.#rows(epoch), this.#state?.watermark ? 0 : walk.records)
    const isListing = this.#request.full === true
    return {
      // A listing asks how many records there are without a filter by time.
      requests: walk.requests + (isListing ? walkCost(rows) + 1 : compareCost(rows)),
      records: walk.records,
      checks: walk.checks + (isListing ? burstChecks(pagesOf(rows)) : 0),
    }
  }

  async #walk(): Promise<Cost> {
    const isFull = this.#request.mode === 'full' || this.how.isRefilled || this.#state?.refill != null
    const floor = floorOf(
      isFull ? null : (this.#state?.watermark ?? null),
      overlapOf(this.context.config.sync.overlap, this.context.lateness, this.task.resource.name),
    )
    const records = await countAfter(this.#list, floor)
    // Under a new demand, a walk that was cut short is not resumed.
    const below = this.how.isRefilled ? 0 : remaining(this.#state)
    const checks = burstChecks(pagesOf(below === 0 ? records : below))
    if (below === 0) return { requests: walkCost(records), records, checks }
    return { requests: resumedCost(records, Math.min(below, records)), records: below, checks }
  }

  /** What is newer than the ranges is taken from the warehouse: the source is asked one question only. */
  async #backfill(): Promise<Cost> {
    let [requests, records, checks] = [0, 0, 0]
    const ranges = (this.#request.ranges ?? []).toSorted((a, b) => (a.from < b.from ? -1 : 1))
    const [oldest] = ranges
    if (!oldest) return nothing
    const atSource = await countAfter(this.#list, beginningOf(oldest))
    const here = await this.#rows(beginningOf(oldest))
    for (const range of ranges) {
      const newer = await this.#rows(endOf(range))
      const rest = (await this.#rows(beginningOf(range))) - newer
      // What the warehouse does not know of yet counts as in the range.
      const within = rest + (range === oldest ? Math.max(0, atSource - here) : 0)
      requests += backfillCost(newer, within)
      records += within
      // Its first window has nothing to be held against yet.
      if (within > manyRecords) checks += 1 + burstChecks(pagesOf(within))
    }
    return { requests, records, checks }
  }

  async #rows(after: string): Promise<number> {
    return (await this.#liveRows?.count(after, forever)) ?? 0
  }
}

function cursorsOf(
  ends: readonly CursorEnd[],
  costs: ReadonlyMap<string, Cost>,
  isAhead: boolean,
): PlannedCursor[] {
  // A run finds out by one request what this plan has found out.
  const asked = { ...nothing, requests: 1 }
  return ends.map(({ report: { tenant_id, resource, status, error } }) => {
    const known = status === 'ok' ? costs.get(cursorName({ tenantId: tenant_id, resource })) : undefined
    const { requests, records, checks } = status === 'skipped' ? nothing : (known ?? asked)
    const made = isAhead ? checks : 0
    return { tenant_id, resource, status, error, requests: requests + made, records, checks: made }
  })
}

const sum = (items: readonly Cost[], name: 'requests' | 'records'): number =>
  items.reduce((total, item) => total + item[name], 0)

function byTenant(cursors: readonly PlannedCursor[]): RunPlan['tenants'] {
  const ids = [...new Set(cursors.map(({ tenant_id }) => tenant_id))]
  return ids.map((tenant_id) => {
    const own = cursors.filter((cursor) => cursor.tenant_id === tenant_id)
    return { tenant_id, requests: sum(own, 'requests'), records: sum(own, 'records') }
  })
}

const creates = (changes: readonly Change[], table: string): boolean =>
  changes.some((change) => change.table === table && change.what === 'create table')

/** The derived tables that the run would compute anew from the stored records, before any other work. */
async function recomputedTables({ warehouse, model }: Dependencies, changes: readonly Change[]) {
  const isOld = creates(changes, 'sync_derived')
  if (!isOld) await warehouse.learnRules()
  const outdated = isOld ? undefined : await readOutdated(warehouse, model)
  const found: { table: string; what: string }[] = []
  for (const resource of model.list)
    for (const { table } of resource.derived) {
      const isWhole = outdated === undefined || creates(changes, table.name)
      const tenants = outdated?.filter((one) => one.derived.table === table).map(({ tenantId }) => tenantId)
      if (creates(changes, resource.name) || (!isWhole && tenants?.length === 0)) continue
      const records = await countRecords(warehouse, resource, isWhole ? undefined : tenants)
      if (records > 0) found.push({ table: table.name, what: `compute anew from ${records} stored records` })
    }
  return found
}

function moveText({ column, to, values, refills }: PendingMove): string {
  const what: Record<PendingMove['to'], string> = {
    column: `move the values of ${column} from _extra into its column`,
    _extra: `move ${values} values of ${column}, which is no longer configured, back into _extra`,
    history: 'keep versions that end from now on',
    'no history': 'keep no more versions that end',
  }
  return refills ? `${what[to]}; then read the lists whole once` : what[to]
}

/** Says what a run would cost. Asks one question a cursor at most, and writes nothing. */
export async function makePlan(deps: Dependencies, request: RunRequest, reserve: number): Promise<RunPlan> {
  const plannedAt = now(deps)
  const before = deps.clock.nowMicros()
  const changes = await deps.warehouse.plan()
  const forecasts = new Map<string, Forecast>()
  const isNew = isNewWarehouse(changes)
  const recomputed = isNew ? [] : await recomputedTables(deps, changes)
  const moves = creates(changes, 'sync_columns') ? [] : await deps.warehouse.pendingMoves()
  const { ends } = await readOnlyRun(
    deps,
    request,
    (context) => (task, source) => {
      const hasTable = !creates(changes, rootOf(task.resource).name)
      const names = new Set(task.resource.tables.map(({ name }) => name))
      const isRefilled =
        changes.some(({ table, refills }) => refills && names.has(table)) ||
        moves.some(({ resource, refills }) => refills && resource === task.resource.name)
      const forecast = new Forecast(context, task, source, { request, hasTable, isRefilled })
      forecasts.set(cursorName(keyOf(task)), forecast)
      return forecast
    },
    isNew,
  )
  const stats = deps.source.stats()
  const asked = stats.requests
  const seconds = Number(deps.clock.nowMicros() - before) / 1e6 / Math.max(1, asked)
  const together = Math.min(deps.config.sync.concurrency, Math.max(1, forecasts.size))
  const costs = new Map([...forecasts].map(([name, { cost }]) => [name, cost]))
  const cursors = cursorsOf(ends, costs, readsAhead(seconds * together, deps.readAhead))
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
    table_changes: [
      ...changes.map(({ table, what }) => ({ table, what })),
      ...moves.map((move) => ({ table: move.table, what: moveText(move) })),
      ...recomputed,
    ],
    tenants,
    cursors,
    asked,
  }
}
