/*
 * The state of a warehouse, from its own tables. Used by `shopsync status`; src/features/health/words.ts puts it into
 * words.
 */

import type { Int64 } from '../../../schema/resource.js'
import type { Reason } from '../../engine/base/reasons.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import {
  type LastRun,
  readLastRun,
  readOwners,
  readShardRuns,
  runningMs,
  type StatusHolder,
} from '../../engine/run/lastrun.js'
import { latenessOf } from '../../engine/run/lateness.js'
import { type PrivacyStatus, privacyStatus } from '../../engine/warehouse/hiding/privacystate.js'
import { absenceText, plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import { type FailedWork, failedWorks } from '../../engine/warehouse/state/failedworks.js'
import { readLateness } from '../../engine/warehouse/state/latenessrows.js'
import { readSharedCounts } from '../../engine/warehouse/state/sharedrows.js'
import { readForgotten } from '../../engine/warehouse/state/tenants.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type BelongsTo, belongsTo } from '../../shell/belongingwords.js'
import { compareForgotten, type ForgottenCustomers, forgottenTroubles } from '../../shell/forgottenfile.js'
import { type EventsStatus, readEventsStatus } from '../events/eventview.js'
import { isUnreadable, type UnreadableInbox } from '../events/watchinbox.js'
import { type ResourceFreshnessStatus, readFreshness } from '../targets/freshnessplan.js'
import { type StretchedBound, staleAfterNow, stretchedBound } from '../targets/stretchedbound.js'
import {
  type CursorHealth,
  isLostTenant,
  isTrouble,
  type TenantStanding,
  tenantRows,
  tenantStandings,
} from './cursorhealth.js'
import type { Incident } from './incident.js'
import { openIncidents } from './openincidents.js'
import { type QuietList, quietLists } from './quietlists.js'
import { readHealth, seenCursors } from './readhealth.js'
import { readWorkers, type WorkersStatus } from './workerhealth.js'

/** The JSON document of `shopsync status`. */
export interface StatusReport {
  readonly healthy: boolean
  readonly checked_at: string
  readonly warehouse: string
  /** That there is no warehouse, and what to type. Absent if there is one. */
  readonly warehouse_absent?: string | undefined
  /** null: no run has stored a source yet. */
  readonly belongs_to: BelongsTo | null
  readonly stale_after_seconds: number
  /** A problem of the whole warehouse; null if there is none. */
  readonly reason: Reason | null
  readonly tenants: readonly (TenantStanding & {
    /** Services that two live orders show, after the last run that changed orders (docs/reconcile.md, Shared services). */
    readonly shared_services: number
  })[]
  readonly cursors: readonly CursorHealth[]
  readonly quarantined: Int64
  /** Tenants that were forgotten, and stay out. */
  readonly forgotten: number
  /** Absent if no customer was. */
  readonly forgotten_customers?: ForgottenCustomers | undefined
  /** How late records became visible in the last 30 days, by resource, all tenants together. */
  readonly lateness: readonly {
    readonly resource: string
    /** Records that walks found while lateness could be measured. */
    readonly records: number
    readonly largest_seconds: number
    /** 999 of a thousand records were no later than this. */
    readonly p999_seconds: number
    /** Records that only reconcile fetched. */
    readonly reconciled_records: number
    readonly reconciled_largest_seconds: number
  }[]
  /** The run that is writing now; null if there is none. */
  readonly lease: StatusHolder | null
  /** Only if several are: all of them. */
  readonly leases?: readonly StatusHolder[] | undefined
  /** Runs that died, and keep increments of their tenants where they began (docs/increments.md); absent if none do. */
  readonly increments_stand?: readonly StatusHolder[] | undefined
  readonly last_run: LastRun | null
  /** Only if the last run did a shard, or what shards leave out: the last run of each shard. */
  readonly shards?: readonly LastRun[] | undefined
  /** The snapshot and the report: those whose last attempt failed. */
  readonly failed_works: readonly FailedWork[]
  /** Incidents that aren't over. */
  readonly incidents: readonly Incident[]
  /** Lists that bring nothing although they usually do, which may be the source's fault; absent if there are none. */
  readonly quiet?: readonly QuietList[] | undefined
  /** What was heard from the source, or why that can't be read; absent if nobody ever listened. */
  readonly events?: EventsStatus | UnreadableInbox | undefined
  /** What `privacy` hides, and whether all of it is hidden; absent if it hides nothing. */
  readonly privacy?: PrivacyStatus | undefined
  /** How fresh each resource with a target was; absent without targets. */
  readonly freshness?: readonly ResourceFreshnessStatus[] | undefined
  /** Only while the rate limit is too small for `polling.atLeast`: what it takes, and how long lists wait instead. */
  readonly stretched_polling?: StretchedBound | undefined
  /** The workers and the last round of each job; absent if nothing was ever sent to them. */
  readonly workers?: WorkersStatus
}

export interface StatusOptions {
  readonly warehouse: Warehouse
  /** The warehouse's address without its password. */
  readonly label: string
  /** The configured source. */
  readonly source: SourceAddress
  /** Enabled resources: each tenant should have a cursor for each of them. */
  readonly resources: readonly string[]
  /** Resources named by the user; null: none in particular. */
  readonly named?: readonly string[] | null
  /** Tenants named in the configuration; null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  /** Tenants that are not walked. */
  readonly exceptTenants: readonly Int64[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** What lists forgotten customers. */
  readonly forgottenFile?: string
  /** Into how many shards jobs are divided for workers; 0: none. */
  readonly shards: number
  /** undefined without targets. */
  readonly targets?: FreshnessSettings | undefined
  readonly nowMicros: bigint
}

/** The part of a status that needs attention. */
export const onlyFailing = (report: StatusReport): StatusReport => {
  const cursors = report.cursors.filter(isTrouble)
  const named = new Set(cursors.map(({ tenant_id }) => tenant_id))
  const tenants = report.tenants.filter((tenant) => isLostTenant(tenant) || named.has(tenant.tenant_id))
  return { ...report, tenants, cursors }
}

/** Whether nothing in it needs attention. */
const isWell = ({
  tenants,
  cursors,
  reason,
  last_run,
  shards = [],
  belongs_to,
  failed_works,
  incidents,
  events,
  forgotten_customers,
  workers,
}: Omit<StatusReport, 'healthy'>): boolean =>
  (workers?.trouble ?? null) === null &&
  !(forgotten_customers && forgottenTroubles(forgotten_customers).length > 0) &&
  !tenants.some(isLostTenant) &&
  !cursors.some(isTrouble) &&
  reason === null &&
  last_run?.ended_without_a_word !== true &&
  !shards.some(({ ended_without_a_word }) => ended_without_a_word) &&
  failed_works.length === 0 &&
  incidents.length === 0 &&
  !(events && isUnreadable(events)) &&
  belongs_to?.configured !== false

/** No run has ever written to this warehouse. */
async function statusOfNone({ warehouse }: StatusOptions) {
  const warehouse_absent = await absenceText(warehouse)
  const state = { tenants: [], cursors: [], lease: null, last_run: null, reason: null }
  const none = { quarantined: 0, forgotten: 0, lateness: [], failed_works: [], incidents: [] }
  return { warehouse_absent, ...state, ...none }
}

/** Freshness, row counts, problems and the last run of a warehouse. Read-only. */
export async function readStatus(asked: StatusOptions): Promise<StatusReport> {
  const stretched = await stretchedBound(asked.warehouse, asked.targets)
  const options = { ...asked, staleAfterMs: await staleAfterNow(asked.warehouse, asked) }
  const missing = await missingTables(options.warehouse)
  const head = {
    checked_at: fromMicros(options.nowMicros),
    warehouse: options.label,
    belongs_to: await belongsTo(options.warehouse, options.source),
    stale_after_seconds: options.staleAfterMs / 1000,
  }
  if (missing.has('sync_cursors')) return { healthy: false, ...head, ...(await statusOfNone(options)) }
  const failed = await failedWorks(options.warehouse)
  const lateness = missing.has('sync_lateness') ? [] : await latenessStatus(options)
  const named = { tenants: options.tenants, resources: options.named ?? null }
  const events = await readEventsStatus(options.warehouse, options.nowMicros, named)
  const privacy = missing.has('sync_privacy')
    ? undefined
    : await options.warehouse.read(() => privacyStatus(options.warehouse))
  const freshness =
    asked.targets && !missing.has('sync_delays')
      ? await readFreshness(options.warehouse, asked.targets, options)
      : undefined
  const customers = await readForgottenCustomers(options)
  return options.warehouse.read(async (db) => {
    const tenants = await readTenants(db, options)
    const chosen = tenants.filter(({ tenant_id }) => options.tenants?.includes(tenant_id) ?? true)
    const forgotten = missing.has('sync_forgotten')
      ? new Set<Int64>()
      : await readForgotten(options.warehouse)
    const isForgotten = isEmptied(options, tenants, forgotten)
    const { live: leases, lost } = await readOwners(db, options.nowMicros)
    const running = runningMs(leases, options.nowMicros)
    const runningOf = (tenantId: Int64): number | null => runningMs(leases, options.nowMicros, tenantId)
    const asked = { tenants: chosen, resources: options.resources, missing }
    const cursors = await readHealth(db, await seenCursors(db), asked, {
      ...options,
      runningMs: running,
      runningOf,
    })
    const quarantine = db.selectFrom('sync_quarantine').select((e) => e.fn.countAll<Int64>().as('n'))
    const runs = await runsOf(db, leases)
    const quiet = await quietLists(options.warehouse, db, options, options.nowMicros)
    const found = {
      ...head,
      reason: isForgotten ? null : grantsReason(tenants, runs.last_run),
      tenants: chosen,
      cursors,
      lateness,
      quarantined: Number((await quarantine.executeTakeFirst())?.n ?? 0),
      forgotten: forgotten.size,
      ...runs,
      failed_works: failed,
      incidents: await openIncidents(options.warehouse, db, named),
      increments_stand: lost.length > 0 ? lost : undefined,
      quiet: quiet.length > 0 ? quiet : undefined,
      forgotten_customers: customers,
      events,
      privacy,
      freshness,
      stretched_polling: stretched,
      ...(await readWorkers(options.warehouse, options.shards)),
    }
    return { healthy: (cursors.length > 0 || isForgotten || running !== null) && isWell(found), ...found }
  })
}

/** What is at work, and how it ended last. */
async function runsOf(
  db: Warehouse['db'],
  leases: readonly StatusHolder[],
): Promise<Pick<StatusReport, 'lease' | 'leases' | 'last_run' | 'shards'>> {
  const last_run = await readLastRun(db, leases)
  const shards = await readShardRuns(db, last_run, leases)
  return {
    lease: leases[0] ?? null,
    leases: leases.length > 1 ? leases : undefined,
    last_run,
    shards: shards.length > 0 ? shards : undefined,
  }
}

async function readForgottenCustomers({ warehouse, forgottenFile, nowMicros }: StatusOptions) {
  if (forgottenFile === undefined) return undefined
  const { live } = await warehouse.read((db) => readOwners(db, nowMicros))
  return compareForgotten(warehouse, forgottenFile, live[0]?.command === 'forget')
}

/** Whether no tenant is left to request, since the wanted ones are forgotten. */
function isEmptied(
  { tenants: wanted }: StatusOptions,
  tenants: StatusReport['tenants'],
  forgotten: ReadonlySet<Int64>,
): boolean {
  if (wanted && forgotten.size > 0) return wanted.every((tenantId) => forgotten.has(tenantId))
  return tenants.length === 0 && forgotten.size > 0
}

async function latenessStatus({
  warehouse,
  resources,
  nowMicros,
}: StatusOptions): Promise<StatusReport['lateness']> {
  const measured = latenessOf(await readLateness(warehouse, fromMicros(nowMicros)))
  return [...measured]
    .filter(([resource]) => resources.includes(resource))
    .map(([resource, { records, largestMicros, mostMicros, reconciled }]) => ({
      resource,
      records,
      largest_seconds: largestMicros / 1e6,
      p999_seconds: mostMicros / 1e6,
      reconciled_records: reconciled.records,
      reconciled_largest_seconds: reconciled.largestMicros / 1e6,
    }))
}

async function readTenants(
  db: Warehouse['db'],
  { exceptTenants }: StatusOptions,
): Promise<StatusReport['tenants']> {
  const all = tenantStandings(await tenantRows(db).execute(), { tenants: null, exceptTenants })
  const shared = await readSharedCounts(db)
  return all.map((tenant) => ({ ...tenant, shared_services: shared.get(tenant.tenant_id) ?? 0 }))
}

/** Whether nothing is granted: no tenant that should be walked, or none at all, according to the last run. */
function grantsReason(tenants: StatusReport['tenants'], lastRun: LastRun | null): Reason | null {
  const wanted = tenants.filter(({ excepted }) => !excepted)
  const isAlone =
    tenants.length === 0
      ? lastRun?.reason === 'no_grants'
      : wanted.length > 0 && tenants.every(({ revoked_at }) => revoked_at !== null)
  return isAlone ? 'no_grants' : null
}

/** Tables that the next run would create: in an empty warehouse, or for a new resource. */
async function missingTables(warehouse: Warehouse): Promise<Set<string>> {
  const changes = await plannedChanges(warehouse)
  return new Set(changes.filter(({ what }) => what === 'create table').map(({ table }) => table))
}
