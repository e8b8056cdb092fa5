import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import type { CursorEnd } from '../../engine/run/cursor.js'
import { type ReadOnlyHow, readOnlyRun } from '../../engine/run/readonlyrun.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import { now } from '../../engine/run/tenant.js'
import { withSeenLength } from '../../engine/run/windowlength.js'
import { minutesFor, type Rate, rateOf } from '../../engine/source/rate/knownrate.js'
import type { Change } from '../../engine/warehouse/layout/ddl.js'
import { isNewWarehouse } from '../../engine/warehouse/layout/ddl.js'
import { plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import { type PendingRewrite, pendingRewrites } from '../../engine/warehouse/layout/rewrites.js'
import { cursorName } from '../../engine/warehouse/state/cursors.js'
import { countRecords, readOutdated } from '../../engine/warehouse/store/recompute.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { TableChange } from '../../shell/tablechanges.js'
import { type Cost, Forecast, nothing, type PlannedCursor, readsAhead } from './cursorcost.js'
import { mostAsked, Sample } from './sample.js'

/** The document of `plan`. */
export interface RunPlan {
  readonly mode: 'plan'
  readonly of: RunRequest['mode']
  readonly planned_at: string
  /** All requests that the run would send, including the one for the authorizations. */
  readonly requests: number
  readonly records: number
  readonly minutes: number
  readonly rate: Rate | null
  /** Changes to the tables that the run would make first. */
  readonly table_changes: readonly TableChange[]
  readonly tenants: readonly {
    readonly tenant_id: Int64
    readonly requests: number
    readonly records: number
  }[]
  readonly cursors: readonly PlannedCursor[]
  /** Cursors that were asked, if the others are estimated from them: asking each would take longer than a minute. */
  readonly sampled: Sample['sampled']
  /** The requests it took to make this plan. */
  readonly asked: number
}

function cursorsOf(
  ends: readonly CursorEnd[],
  costs: ReadonlyMap<string, Cost>,
  isAhead: boolean,
): PlannedCursor[] {
  // A run needs one request to find out what this plan has found out.
  const asked = { ...nothing, requests: 1 }
  return ends.map(({ report: { tenant_id, resource, status, error } }) => {
    const known = status === 'ok' ? costs.get(cursorName({ tenantId: tenant_id, resource })) : undefined
    const { requests, records, checks, refill } = status === 'skipped' ? nothing : (known ?? asked)
    const made = isAhead ? checks : 0
    return {
      tenant_id,
      resource,
      status,
      error,
      is_estimated: false,
      requests: requests + made,
      records,
      checks: made,
      refill: refill
        ? { requests: refill.requests + (isAhead ? refill.checks : 0), records: refill.records }
        : null,
    }
  })
}

const sum = (items: readonly Pick<Cost, 'requests' | 'records'>[], name: 'requests' | 'records'): number =>
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

/** The derived tables that the run would recompute from the stored records, before any other work. */
async function recomputedTables({ warehouse }: Dependencies<Warehouse>, changes: readonly Change[]) {
  const { model } = warehouse
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
      if (records > 0)
        found.push({ table: table.name, what: `recompute from ${plural(records, 'stored record')}` })
    }
  return found
}

function rewriteText({ column, to, refills }: PendingRewrite): string {
  const what: Record<PendingRewrite['to'], string> = {
    name: 'make the names of its records again from what is stored',
    history: 'keep ended versions from now on',
    'no history': 'stop keeping ended versions',
    hidden: `hide the stored values of ${column}`,
    'new key': `make the pseudonyms in ${column} with the new key`,
    loosened: `store ${column} again, once you have typed shopsync migrate --loosen-privacy`,
  }
  return refills ? `${what[to]}; then read the lists in full once` : what[to]
}

/** Shows what a run would cost. Sends at most one request per cursor, for a minute at most, and writes nothing. */
export async function makePlan(
  deps: Dependencies<Warehouse>,
  request: RunRequest,
  reserve: number,
): Promise<RunPlan> {
  const plannedAt = now(deps)
  const before = deps.clock.nowMicros()
  const changes = await plannedChanges(deps.warehouse)
  const forecasts = new Map<string, Forecast>()
  const isNew = isNewWarehouse(changes)
  const recomputed = isNew ? [] : await recomputedTables(deps, changes)
  const moves = creates(changes, 'sync_columns') ? [] : await pendingRewrites(deps.warehouse)
  const rateNow = (): Rate | null =>
    rateOf(deps.source.stats(), reserve, Number(deps.clock.nowMicros()) / 1000)
  const sample = new Sample(deps.random ?? Math.random)
  const pick: ReadOnlyHow['pick'] = (tasks, cursors) => {
    const rate = rateNow()
    return sample.pick(tasks, cursors, rate ? mostAsked(rate) - deps.source.stats().requests : tasks.length)
  }
  const { ends } = await readOnlyRun(
    deps,
    request,
    (cursor) => {
      const hasTable = !creates(changes, cursor.root.name)
      const hasUnlisted = !changes.some(
        ({ table, column }) => table === cursor.root.name && column?.name === '_unlisted_at',
      )
      const names = new Set(cursor.resource.tables.map(({ name }) => name))
      const isRefilled =
        changes.some(({ table, refills }) => names.has(table) && refills(cursor.key.tenantId)) ||
        moves.some(({ resource, refills }) => refills && resource === cursor.resource.name)
      const hasRegister = !creates(changes, 'sync_registers')
      const forecast = new Forecast(cursor, { request, hasTable, hasUnlisted, hasRegister, isRefilled })
      forecasts.set(cursorName(cursor.key), forecast)
      return forecast
    },
    { isNew, pick },
  )
  const asked = deps.source.stats().requests
  const seconds = Number(deps.clock.nowMicros() - before) / 1e6 / Math.max(1, asked)
  const together = Math.min(deps.config.sync.concurrency, Math.max(1, forecasts.size))
  const costs = new Map([...forecasts].map(([name, { cost }]) => [name, cost]))
  const known = cursorsOf(ends, costs, readsAhead(seconds * together, deps.readAhead))
  const cursors = [...known, ...sample.rest(known)]
  const told = rateNow()
  const rate = told && (await withSeenLength(deps.warehouse, told))
  const tenants = byTenant(cursors)
  const requests = sum(cursors, 'requests') + Math.max(1, Math.ceil(tenants.length / deps.source.pageSize))
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
      ...moves.map((move) => ({ table: move.table, what: rewriteText(move) })),
      ...recomputed,
    ],
    tenants,
    cursors,
    sampled: sample.sampled,
    asked,
  }
}
