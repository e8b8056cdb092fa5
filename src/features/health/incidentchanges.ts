/*
 * Which incidents opened and which are over, compared with what the warehouse knew before. Pure. Used by
 * alertstate.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { isUnreadable } from '../events/watchinbox.js'
import { lateCause, unreadableCause } from './eventincidents.js'
import type { Incident } from './incident.js'
import { type Facts, findIncidents } from './incidents.js'
import type { AlertRow } from './sql.js'
import { isHeard, type NamedRule } from './telling.js'

/** A run that has ended or could not start; or a check while events are received, which isn't a run. */
export interface EndedRun {
  readonly runId: string | null
  readonly job: string | null
  /** When its command started. */
  readonly startedAt: string
  /** One per step of a job; empty if no step finished. */
  readonly reports: readonly RunReport[]
  /** What ended the run early or kept it from starting. */
  readonly error?: unknown
  /**
   * A check by the listener, outside any run. It reports the warehouse's state, including what is resolved. Problems of
   * whole runs are left to runs.
   */
  readonly isLook?: true
}

export interface After {
  readonly run: EndedRun
  readonly rules: readonly NamedRule[]
}

export const incidentKey = ({
  tenant_id,
  resource,
  kind,
  since,
}: Pick<AlertRow, 'tenant_id' | 'resource' | 'kind' | 'since'>): string =>
  JSON.stringify([String(tenant_id), resource, kind, since])

const isOfWhole = ({ tenantId, resource, kind }: Incident): boolean =>
  kind === 'failed' && tenantId === 0 && resource === ''

/**
 * It is the same incident while this stays the same. For a whole run or for events, a different cause makes a different
 * incident.
 */
const identity = (incident: Incident): string =>
  JSON.stringify([
    incident.kind,
    String(incident.tenantId),
    incident.resource,
    isOfWhole(incident) || incident.kind === 'events' ? incident.cause : null,
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

export interface ComparedHow extends After {
  readonly isWanted: (tenantId: Int64, resource: string) => boolean
}

/** It is over when it is found. */
const isOverAtOnce = ({ lasts }: Incident): boolean => lasts === 'moment' || lasts === 'run'

/** The incidents after the run, and those that changed. */
export function compareIncidents(known: readonly AlertRow[], facts: Facts, how: ComparedHow) {
  const now = fromMicros(facts.rule.nowMicros)
  const all = findIncidents(facts)
  // A suppressed incident is not reported, and it isn't resolved either.
  const open = known.filter(({ resolved_at }) => resolved_at === null)
  const isStopped = how.run.isLook === true && open.some(stopsEverything)
  const found = all.filter((incident) => !isSwallowed(incident, facts, isStopped))
  const held = new Set(all.filter(({ lasts }) => lasts !== 'run').map(identity))
  const isOpen = new Set(open.map((row) => identity(incidentOf(row))))
  const over = open
    .filter((row) => !held.has(identity(incidentOf(row))) && isOver(incidentOf(row), facts, how))
    .map((row): AlertRow => ({ ...row, resolved_at: now }))
  const fresh = found
    .filter((incident) => isOverAtOnce(incident) || !isOpen.has(identity(incident)))
    .map((incident): AlertRow => rowOf(incident, how, now))
  const changed = [...over, ...fresh]
  const latest = new Map([...known, ...changed].map((row) => [incidentKey(row), row]))
  return { rows: [...latest.values()], changed }
}

/** Problems of a whole run that don't affect what it can request. */
const passing: ReadonlySet<string | null> = new Set(['killed', 'snapshot', 'report'])

/** Whether the last run found a problem that stops every run. */
const stopsEverything = (row: AlertRow): boolean => isOfWhole(incidentOf(row)) && !passing.has(row.cause)

/** What follows from a problem of the whole run is not an incident of its own. `isStopped`: such a problem is open. */
function isSwallowed(incident: Incident, { whole }: Facts, isStopped: boolean): boolean {
  const { kind, cause } = incident
  if (isOfWhole(incident) || kind === 'drift' || kind === 'quarantine') return false
  // Whether anyone receives events doesn't depend on runs.
  if (kind === 'events' && cause !== lateCause) return false
  if (isStopped) return true
  return whole.some(
    ({ swallows }) => swallows === 'all' || (swallows === 'grants' && incident.cause === 'grants_incomplete'),
  )
}

/** Whether an incident with no remaining sign is over. */
function isOver(
  { kind, cause, lasts, tenantId, resource }: Incident,
  { reports, events }: Facts,
  { isWanted, run }: ComparedHow,
): boolean {
  const isWhole = tenantId === 0
  if (run.isLook && kind === 'failed' && isWhole) return false
  if (kind === 'events' && cause !== unreadableCause && events && isUnreadable(events)) return false
  if (lasts === 'state') return true
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
  const isNews = isOverAtOnce(incident)
  const hearing = isNews ? rules.filter(({ rule }) => isHeard(rule, { kind })) : []
  return {
    ...{ tenant_id: tenantId, resource, kind, since, cause, message, advice, lasts },
    run_id: run.runId,
    opened_at: now,
    resolved_at: isNews ? now : null,
    told: Object.fromEntries(hearing.map(({ id }) => [id, {}])),
  }
}
