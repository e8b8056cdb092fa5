/*
 * The incidents that the warehouse knows, brought up to date after a run: what opened, what is over. Used by alerts/work.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../../engine/base/clock.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { readHolder } from '../../engine/run/lastrun.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { askFailedWorks, failedWorksOf } from '../../engine/warehouse/failedworks.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type Facts, findIncidents, type Incident } from './incidents.js'
import {
  type AlertMark,
  type AlertRow,
  cursorStates,
  driftBetween,
  forgetIncidents,
  incidentsSince,
  newestRuns,
  onIncidents,
  quarantineOf,
  storeIncidents,
  storeMark,
  tenantStates,
} from './sql.js'
import { isHeard, type NamedRule } from './telling.js'
import {
  failedTroubles,
  killedTrouble,
  reportedTroubles,
  thrownTrouble,
  type WholeTrouble,
} from './wholetrouble.js'

export interface AlertStateSettings {
  readonly clock: Clock
  /** Tenants that the configuration names; null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  readonly exceptTenants: readonly Int64[]
  /** The resources that are synced. */
  readonly resources: readonly string[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** How long incidents that are over are kept, in milliseconds. */
  readonly keepMs: number
}

/** A run that has ended, or could not begin. */
export interface EndedRun {
  readonly runId: string | null
  readonly job: string | null
  /** When its command began. */
  readonly startedAt: string
  /** One a step of a job; none where nothing came to its end. */
  readonly reports: readonly RunReport[]
  /** What ended it early, or kept it from beginning. */
  readonly error?: unknown
}

export interface After {
  readonly run: EndedRun
  readonly rules: readonly NamedRule[]
}

/** What of the incidents is to be stored beside, and what the caller wants of them. */
type Use<T> = (
  rows: readonly AlertRow[],
  nowMicros: bigint,
) => { readonly changed: readonly AlertRow[]; readonly result: T }

/** How long what is over, and was not taken, is tried to be told: a week. */
const triedMs = 7 * 86_400_000

const ago = (nowMicros: bigint, milliseconds: number): string =>
  fromMicros(nowMicros - BigInt(milliseconds) * 1000n)

/** Incidents that were over before are told to nobody any more. */
export const keptFrom = (nowMicros: bigint): string => ago(nowMicros, triedMs)

export const incidentKey = ({
  tenant_id,
  resource,
  kind,
  since,
}: Pick<AlertRow, 'tenant_id' | 'resource' | 'kind' | 'since'>): string =>
  JSON.stringify([String(tenant_id), resource, kind, since])

/** Before every stamp. */
const everything = '0001-01-01T00:00:00.000000Z'

/** Compares what is with what is known, stores both, and what `use` makes of them, in one transaction. */
export async function updateIncidents<T>(
  warehouse: Warehouse,
  settings: AlertStateSettings,
  after: After,
  use: Use<T>,
): Promise<T> {
  const { db } = warehouse
  const holder = await warehouse.read((reader) => readHolder(reader, settings.clock.nowMicros()))
  return onIncidents(warehouse, async (session, before) => {
    const nowMicros = settings.clock.nowMicros()
    const known = await incidentsSince(db, session, keptFrom(nowMicros))
    const { facts, mark, isWanted } = await readFacts(warehouse, session, {
      settings,
      run: after.run,
      before,
      holder: holder?.run_id ?? null,
      nowMicros,
    })
    const { rows, changed } = compare(known, facts, { ...after, isWanted })
    const used = use(rows, nowMicros)
    const latest = new Map([...changed, ...used.changed].map((row) => [incidentKey(row), row]))
    for (const statement of storeIncidents(db, [...latest.values()])) await session.run(statement)
    await session.run(storeMark(db, mark))
    await session.run(forgetIncidents(db, ago(nowMicros, Math.max(settings.keepMs, triedMs))))
    return used.result
  })
}

interface Reading {
  readonly settings: AlertStateSettings
  readonly run: EndedRun
  readonly before: AlertMark | null
  readonly holder: string | null
  readonly nowMicros: bigint
}

async function readFacts({ db }: Warehouse, session: Session, reading: Reading) {
  const { settings, run, before, holder, nowMicros } = reading
  const { runs, lastStamp } = await newestRuns(db, session)
  const own = new Set(run.reports.map(({ run_id }) => run_id))
  const begunBefore = run.reports[0]?.started_at ?? run.startedAt
  const place = runs.findLastIndex(({ run_id }) => own.has(run_id))
  // A run that came to no report may be on record, too.
  const earlier =
    place >= 0 ? runs.slice(place + 1) : runs.filter(({ started_at }) => (started_at ?? '') < begunBefore)
  const tenants = (await tenantStates(db, session)).filter(
    ({ tenant_id }) =>
      !settings.exceptTenants.includes(tenant_id) && (settings.tenants?.includes(tenant_id) ?? true),
  )
  const walked = new Set(
    tenants.flatMap(({ tenant_id, revoked_at }) => (revoked_at === null ? tenant_id : [])),
  )
  const resources = new Set(settings.resources)
  const states = await cursorStates(db, session)
  const isWanted = (tenantId: Int64, resource: string): boolean =>
    walked.has(tenantId) && resources.has(resource)
  // A warehouse in which no run ended before has nothing that is known already.
  const isFirst = !earlier.some(({ finished_at }) => finished_at !== null)
  const since = before?.since ?? (isFirst ? everything : begunBefore)
  const through = lastStamp ?? everything
  const mark: AlertMark = {
    since,
    driftThrough: through,
    resources: [
      ...new Set(states.flatMap((state) => (state.last_success_at === null ? [] : state.resource))),
    ].sort(),
  }
  const drift = await driftBetween(db, session, { after: before?.driftThrough ?? since, through })
  const facts: Facts = {
    nowMicros,
    cursors: states.filter(({ tenant_id, resource }) => isWanted(tenant_id, resource)),
    revoked: tenants.filter(({ revoked_at }) => revoked_at !== null),
    whole: wholeTroubles(run, {
      killed: killedTrouble(earlier[0], holder),
      failed: failedTroubles(failedWorksOf((await session.run(askFailedWorks(db))).rows)),
    }),
    reports: run.reports,
    quarantine: await quarantineOf(db, session, since),
    drift: before === null ? [] : drift.filter(({ resource }) => isKnown(before, resource, states)),
    staleAfterMs: settings.staleAfterMs,
    deletesUncheckedAfterMs: settings.deletesUncheckedAfterMs,
  }
  return { facts, mark, isWanted }
}

/** Whether a resource was read whole before: all that its first sync shows is new, and no news. */
const isKnown = (
  { resources }: AlertMark,
  resource: string,
  states: readonly { readonly resource: string }[],
): boolean => resources.includes(resource) || !states.some((state) => state.resource === resource)

function wholeTroubles(
  { reports, error }: EndedRun,
  others: { readonly killed: readonly WholeTrouble[]; readonly failed: readonly WholeTrouble[] },
): WholeTrouble[] {
  const { killed, failed } = others
  const own = error === undefined ? reportedTroubles(reports) : [thrownTrouble(error)]
  // A snapshot that failed ends its run as well: that is one trouble, and it lasts beyond the next run.
  const known = new Set(failed.map(({ message }) => message))
  return [...own.filter(({ message }) => !known.has(message)), ...killed, ...failed]
}

const isOfWhole = ({ tenantId, resource, kind }: Incident): boolean =>
  kind === 'failed' && tenantId === 0 && resource === ''

/** One incident lasts while this is the same. Trouble of a whole run is another one where it has another cause. */
const identity = (incident: Incident): string =>
  JSON.stringify([
    incident.kind,
    String(incident.tenantId),
    incident.resource,
    isOfWhole(incident) ? incident.cause : null,
  ])

const incidentOf = (row: AlertRow): Incident => ({
  kind: row.kind as Incident['kind'],
  tenantId: row.tenant_id,
  resource: row.resource,
  since: row.since,
  cause: row.cause,
  message: row.message ?? '',
  advice: row.advice ?? '',
  lasts: (row.lasts ?? 'state') as Incident['lasts'],
})

interface Comparing extends After {
  readonly isWanted: (tenantId: Int64, resource: string) => boolean
}

/** The incidents as they are after the run, and those of them that have changed. */
function compare(known: readonly AlertRow[], facts: Facts, how: Comparing) {
  const now = fromMicros(facts.nowMicros)
  const all = findIncidents(facts)
  // What is swallowed is told to nobody, and is not over either.
  const found = all.filter((incident) => !isSwallowed(incident, facts))
  const held = new Set(all.map(identity))
  const open = known.filter(({ resolved_at }) => resolved_at === null)
  const isOpen = new Set(open.map((row) => identity(incidentOf(row))))
  const over = open
    .filter((row) => !held.has(identity(incidentOf(row))) && isOver(incidentOf(row), facts, how))
    .map((row): AlertRow => ({ ...row, resolved_at: now }))
  const fresh = found
    .filter((incident) => incident.lasts === 'moment' || !isOpen.has(identity(incident)))
    .map((incident): AlertRow => rowOf(incident, how, now))
  const changed = [...over, ...fresh]
  const latest = new Map([...known, ...changed].map((row) => [incidentKey(row), row]))
  return { rows: [...latest.values()], changed }
}

/** What follows from trouble of the whole run is no incident of its own. */
function isSwallowed(incident: Incident, { whole }: Facts): boolean {
  if (isOfWhole(incident) || ['drift', 'quarantine'].includes(incident.kind)) return false
  return whole.some(
    ({ swallows }) => swallows === 'all' || (swallows === 'grants' && incident.cause === 'grants_incomplete'),
  )
}

/** Whether an incident that nothing shows any more is over. */
function isOver(
  { lasts, tenantId, resource }: Incident,
  { reports }: Facts,
  { isWanted }: Comparing,
): boolean {
  if (lasts === 'state') return true
  const isWhole = tenantId === 0
  if (!isWhole && !isWanted(tenantId, resource)) return true
  if (isWhole) return reports.some(({ requests }) => requests > 0)
  const compared = ['reconcile', 'verify']
  const asked = lasts === 'reconcile' ? reports.filter(({ mode }) => compared.includes(mode)) : reports
  return asked.some(({ cursors }) =>
    cursors.some(
      (cursor) => cursor.tenant_id === tenantId && cursor.resource === resource && cursor.status === 'ok',
    ),
  )
}

function rowOf(incident: Incident, { run, rules }: After, now: string): AlertRow {
  const { kind, tenantId, resource, since, cause, message, advice, lasts } = incident
  const isNews = lasts === 'moment'
  const hearing = isNews ? rules.filter(({ rule }) => isHeard(rule, { kind })) : []
  return {
    ...{ tenant_id: tenantId, resource, kind, since, cause, message, advice, lasts },
    run_id: run.runId,
    opened_at: now,
    resolved_at: isNews ? now : null,
    told: Object.fromEntries(hearing.map(({ id }) => [id, {}])),
  }
}
