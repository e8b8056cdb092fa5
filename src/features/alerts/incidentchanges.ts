/*
 * What of the incidents opened and what is over, by what the warehouse knew of them before. No input or output. Used by
 * alerts/alertstate.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { lateCause } from './eventincidents.js'
import type { Incident } from './incident.js'
import { type Facts, findIncidents } from './incidents.js'
import type { AlertRow } from './sql.js'
import { isHeard, type NamedRule } from './telling.js'

/** A run that has ended, or could not begin; or what events rang, which is no run. */
export interface EndedRun {
  readonly runId: string | null
  readonly job: string | null
  /** When its command began. */
  readonly startedAt: string
  /** One a step of a job; none where nothing came to its end. */
  readonly reports: readonly RunReport[]
  /** What ended it early, or kept it from beginning. */
  readonly error?: unknown
  /**
   * The listener looks, while nobody may run: what is the state of the warehouse is told, and over. What concerns whole runs
   * is for a run to say.
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

/** One incident lasts while this is the same. Trouble of a whole run, or of events, is another one where it has another cause. */
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

/** The incidents as they are after the run, and those of them that have changed. */
export function compareIncidents(known: readonly AlertRow[], facts: Facts, how: ComparedHow) {
  const now = fromMicros(facts.nowMicros)
  const all = findIncidents(facts)
  // What is swallowed is told to nobody, and is not over either.
  const open = known.filter(({ resolved_at }) => resolved_at === null)
  const isStopped = how.run.isLook === true && open.some(stopsEverything)
  const found = all.filter((incident) => !isSwallowed(incident, facts, isStopped))
  const held = new Set(all.map(identity))
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

/** Trouble of whole runs that says nothing of what they can ask for. */
const passing: ReadonlySet<string | null> = new Set(['killed', 'snapshot', 'report'])

/** Whether the last run found trouble that keeps all of them from their work. */
const stopsEverything = (row: AlertRow): boolean => isOfWhole(incidentOf(row)) && !passing.has(row.cause)

/** What follows from trouble of the whole run is no incident of its own. `isStopped`: such trouble is open. */
function isSwallowed(incident: Incident, { whole }: Facts, isStopped: boolean): boolean {
  const { kind, cause } = incident
  if (isOfWhole(incident) || kind === 'drift' || kind === 'quarantine') return false
  // Whether anybody receives events does not depend on runs.
  if (kind === 'events' && cause !== lateCause) return false
  if (isStopped) return true
  return whole.some(
    ({ swallows }) => swallows === 'all' || (swallows === 'grants' && incident.cause === 'grants_incomplete'),
  )
}

/** Whether an incident that nothing shows any more is over. */
function isOver(
  { kind, lasts, tenantId, resource }: Incident,
  { reports }: Facts,
  { isWanted, run }: ComparedHow,
): boolean {
  const isWhole = tenantId === 0
  if (run.isLook && kind === 'failed' && isWhole) return false
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
