/*
 * Which incidents opened and which are over, compared with what the warehouse knew before. Pure. Used by
 * alertstate.ts.
 */
import type { Int64 } from '../../../schema/resource.js'
import { hasTenant, type Shard, shardName } from '../../engine/base/shard.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { isUnreadable } from '../events/watchinbox.js'
import { lateCause, unreadableCause } from './eventincidents.js'
import { isOfWhole, type KeptIncident } from './incident.js'
import { type Facts, findIncidents } from './incidents.js'
import { isHeard, type NamedRule } from './telling.js'
import { stopsEverything, swallowedBy } from './wholetrouble.js'

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
  /** It judges its own tenants only. */
  readonly shard?: Shard | undefined
  /** It does what shards leave out, and judges what is of no tenant. */
  readonly isWhole?: boolean | undefined
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
}: Pick<KeptIncident, 'tenant_id' | 'resource' | 'kind' | 'since'>): string =>
  JSON.stringify([String(tenant_id), resource, kind, since])

/** Kinds of which several may be open that concern no tenant. */
const ofCause: ReadonlySet<string> = new Set(['events', 'workers'])

/**
 * It is the same incident while this stays the same. For a whole run, events or workers, a different cause makes a different
 * incident.
 */
const identity = (incident: KeptIncident): string =>
  JSON.stringify([
    incident.kind,
    String(incident.tenant_id),
    incident.resource,
    isOfWhole(incident) || ofCause.has(incident.kind) ? incident.cause : null,
    incident.shard ?? null,
  ])

export interface ComparedHow extends After {
  readonly isWanted: (tenantId: Int64, resource: string) => boolean
}

/**
 * Whether it is this run's to judge. What became of a shard of another N, nobody else can tell. That a shard was killed is
 * seen by its next run, and by the run after all shards.
 */
function isJudgedBy(
  { shard, isWhole }: Pick<EndedRun, 'shard' | 'isWhole'>,
  { kind, tenant_id, shard: of = null, cause }: Pick<KeptIncident, 'kind' | 'tenant_id' | 'shard' | 'cause'>,
): boolean {
  // Where shards are not taken, no run of the whole ever comes.
  if (kind === 'workers') return true
  if (shard && tenant_id !== null) return hasTenant(shard, tenant_id)
  if (shard) return of !== null && (of === shardName(shard) || !of.endsWith(`/${shard.of}`))
  return !isWhole || (tenant_id === null && (of === null || cause === 'killed'))
}

/** It is over when it is found. */
const isOverAtOnce = ({ lasts }: KeptIncident): boolean => lasts === 'moment' || lasts === 'run'

/** The incidents after the run, and those that changed. */
export function compareIncidents(known: readonly KeptIncident[], facts: Facts, how: ComparedHow) {
  const now = fromMicros(facts.rule.nowMicros)
  const all = findIncidents(facts).filter((incident) => isJudgedBy(how.run, incident))
  // A suppressed incident is not reported, and it isn't resolved either.
  const open = known.filter((row) => row.resolved_at === null && isJudgedBy(how.run, row))
  const isStopped = how.run.isLook === true && open.some(stopsEverything)
  const found = all.filter((incident) => !isSwallowed(incident, facts, how.run, isStopped))
  const held = new Set(all.filter(({ lasts }) => lasts !== 'run').map(identity))
  const isOpen = new Set(open.map((row) => identity(row)))
  const over = open
    .filter((row) => !held.has(identity(row)) && isOver(row, facts, how))
    .map((row): KeptIncident => ({ ...row, resolved_at: now }))
  const fresh = found
    .filter((incident) => isOverAtOnce(incident) || !isOpen.has(identity(incident)))
    .map((incident): KeptIncident => opened(incident, how, now))
  const changed = [...over, ...fresh]
  const latest = new Map([...known, ...changed].map((row) => [incidentKey(row), row]))
  return { rows: [...latest.values()], changed }
}

/** What follows from a problem of the whole run is not an incident of its own. `isStopped`: such a problem is open. */
function isSwallowed(incident: KeptIncident, { whole }: Facts, run: EndedRun, isStopped: boolean): boolean {
  const { kind, cause } = incident
  if (isOfWhole(incident) || kind === 'drift' || kind === 'quarantine') return false
  // Whether anyone works or receives events doesn't depend on runs.
  if (kind === 'workers') return false
  if (kind === 'events' && cause !== lateCause) return false
  if (isStopped) return true
  const swallowed = whole.map((trouble) => swallowedBy(trouble, run))
  return swallowed.includes('all') || (swallowed.includes('grants') && cause === 'grants_incomplete')
}

/** Whether an incident with no remaining sign is over. */
function isOver(
  { kind, cause, lasts, tenant_id, resource }: KeptIncident,
  { reports, events }: Facts,
  { isWanted, run }: ComparedHow,
): boolean {
  const isWhole = tenant_id === null
  if (run.isLook && kind === 'failed' && isWhole) return false
  if (kind === 'events' && cause !== unreadableCause && events && isUnreadable(events)) return false
  if (lasts === 'state') return true
  if (!isWhole && !isWanted(tenant_id, resource ?? '')) return true
  if (isWhole) return reports.some(({ requests }) => requests > 0)
  const compared = ['reconcile', 'verify']
  const asked = lasts === 'reconcile' ? reports.filter(({ mode }) => compared.includes(mode)) : reports
  return asked.some(({ cursors }) =>
    cursors.some(
      (cursor) => cursor.tenant_id === tenant_id && cursor.resource === resource && cursor.status === 'ok',
    ),
  )
}

function opened(incident: KeptIncident, { run, rules }: After, now: string): KeptIncident {
  const isNews = isOverAtOnce(incident)
  const hearing = isNews ? rules.filter(({ rule }) => isHeard(rule, incident)) : []
  return {
    ...incident,
    run_id: run.runId,
    opened_at: now,
    resolved_at: isNews ? now : null,
    told: Object.fromEntries(hearing.map(({ id }) => [id, {}])),
  }
}
