/*
 * Finds the incidents, from the warehouse's state and the run that has just ended. Pure. Used by incidentchanges.ts,
 * which compares them with the known ones.
 */
import type { Int64 } from '../../../schema/resource.js'
import { count, plural } from '../../engine/base/format.js'
import type { Reason } from '../../engine/base/reasons.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { durationText } from '../../engine/config/targetsection.js'
import type { CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { EventTroubles } from '../events/eventtroubles.js'
import type { UnreadableInbox } from '../events/watchinbox.js'
import type { BehindTarget } from '../targets/missedtargets.js'
import type { AlertKind } from './alertsettings.js'
import { adviceOf, cursorMessage } from './alerttext.js'
import {
  cursorState,
  type HealthRule,
  type SeenCursor,
  staleSince,
  type TenantStanding,
  uncheckedSince,
} from './cursorhealth.js'
import { eventIncidents } from './eventincidents.js'
import { foundIncident, type Incident, type KeptIncident } from './incident.js'
import { type QuietList, quietWords } from './quietlists.js'

/** What incidents follow from. */
export interface Facts {
  readonly rule: HealthRule
  /** Cursors of tenants that are granted and wanted. */
  readonly cursors: readonly SeenCursor[]
  /** Tenants that are wanted but no longer granted. */
  readonly revoked: readonly TenantStanding[]
  /** Problems of the whole run. */
  readonly whole: readonly KeptIncident[]
  /** The parts of the run, one per step of a job; empty if no run started. */
  readonly reports: readonly RunReport[]
  readonly quarantine: readonly {
    readonly tenant_id: Int64
    readonly resource: string
    readonly amount: number
    readonly first: string
  }[]
  /** Never seen before. */
  readonly drift: readonly {
    readonly tenant_id: Int64 | null
    readonly resource: string
    readonly path: string
    readonly first_seen_at: string | null
  }[]
  /** undefined if events have never been received here. */
  readonly events: EventTroubles | UnreadableInbox | undefined
  /** Resources that miss their targets; empty if no rule reports them. */
  readonly behind: readonly BehindTarget[]
  /** Lists that bring nothing although they usually do; empty if no rule reports them. */
  readonly quiet: readonly QuietList[]
  /** What is wrong with the workers. */
  readonly workers: readonly KeptIncident[]
}

/** Reasons why a cursor didn't finish. Every other reason is a verdict: something may be missing. */
const cameToNoEnd: ReadonlySet<string> = new Set<Reason>([
  'gone',
  'unreachable',
  'grants_incomplete',
  'told_to_wait',
  'warehouse',
])

const failureKind = (reason: string | null): AlertKind =>
  reason === null || cameToNoEnd.has(reason) ? 'failed' : 'unproven'

/** Only a comparison with the source finds these; a successful sync doesn't show them. */
const foundByComparison: ReadonlySet<string | null> = new Set<Reason | null>(['breaker', 'answers_differ'])

/** Everything that needs attention now. Problems of the whole run come first. */
export function findIncidents(facts: Facts): KeptIncident[] {
  const now = fromMicros(facts.rule.nowMicros)
  return [
    ...facts.whole,
    ...facts.revoked.map(({ tenant_id, revoked_at }) => revokedIncident(tenant_id, revoked_at ?? now)),
    ...facts.cursors.flatMap((cursor) => cursorIncidents(cursor, facts)),
    ...fromReports(facts, now),
    ...facts.quarantine.map(quarantineIncident),
    ...driftIncidents(facts.drift, now),
    ...eventIncidents(facts.events, facts.rule.nowMicros),
    ...facts.behind.map(behindIncident),
    ...facts.quiet.map((list) => incidentOf('quiet', list, quietWords(list), { since: list.since })),
    ...facts.workers,
  ]
}

const behindIncident = ({ met, missed, target, since, ...site }: BehindTarget): KeptIncident =>
  incidentOf(
    'behind_target',
    site,
    `${count(missed)} of ${plural(met + missed, 'change')} missed the target of ${durationText(target)}`,
    { since },
  )

/** An incident of a tenant and resource, with the usual advice. */
const incidentOf = (
  kind: AlertKind,
  { tenant_id, resource }: Pick<Incident, 'tenant_id' | 'resource'>,
  found: string | null,
  more: Pick<Incident, 'since'> & Partial<KeptIncident>,
): KeptIncident => {
  const site = { tenant_id, resource }
  return foundIncident({
    kind,
    ...site,
    message: cursorMessage(site, found),
    advice: adviceOf(kind, site),
    ...more,
  })
}

const revokedIncident = (tenant_id: Int64, since: string): KeptIncident =>
  foundIncident({
    kind: 'revoked',
    tenant_id,
    since,
    cause: 'revoked' satisfies Reason,
    message: `Tenant ${tenant_id} is no longer granted; its rows are kept`,
    advice: adviceOf('revoked', { tenant_id, resource: null }),
  })

function cursorIncidents(cursor: SeenCursor, { rule }: Facts): KeptIncident[] {
  const { reason } = cursor
  const found: KeptIncident[] = []
  const state = cursorState(cursor, rule)
  if (state === 'failed' || state === 'unproven') {
    const lasts = foundByComparison.has(reason as Reason | null) ? 'reconcile' : 'state'
    const kind = state === 'failed' ? failureKind(reason) : state
    const since = fromMicros(rule.nowMicros)
    found.push(incidentOf(kind, cursor, cursor.last_error, { since, cause: reason, lasts }))
  }
  // A cursor that keeps failing is stale, too.
  const stale = staleSince(cursor, rule)
  if (stale !== null)
    found.push(
      incidentOf('stale', cursor, `no complete run since ${cursor.last_success_at}`, { since: stale }),
    )
  const unchecked = uncheckedSince(cursor, rule)
  if (unchecked !== null) {
    const words = `deletions were last checked at ${cursor.deletes_checked_at}`
    found.push(incidentOf('deletes_unchecked', cursor, words, { since: unchecked }))
  }
  return found
}

/** What a run found about cursors but didn't record with them: a failed backfill, or differences found by verify. */
function fromReports({ reports, cursors }: Facts, now: string): KeptIncident[] {
  const failing = new Set(
    cursors
      .filter(({ status }) => status === 'failed')
      .map(({ tenant_id, resource }) => `${tenant_id} ${resource}`),
  )
  return reports.flatMap((report) =>
    report.cursors
      .filter(({ status }) => status === 'failed')
      .filter(({ tenant_id, resource }) => !failing.has(`${tenant_id} ${resource}`))
      .map((cursor) => reportedIncident(cursor, report, now)),
  )
}

function reportedIncident(cursor: CursorReport, { mode }: RunReport, now: string): KeptIncident {
  const { tenant_id, resource, reason, error } = cursor
  // If the source didn't answer a comparison, any run may ask again. Once a difference was found, only a comparison can
  // find it gone.
  const isCompared = mode === 'verify' && (reason === null || !cameToNoEnd.has(reason))
  return incidentOf(failureKind(reason), siteOf(tenant_id, resource), error, {
    since: now,
    cause: reason,
    lasts: isCompared || foundByComparison.has(reason) ? 'reconcile' : 'asked',
    ...(isCompared && { advice: `Type shopsync reconcile --tenant ${tenant_id} --resource ${resource}` }),
  })
}

/** What concerns no tenant has number 0 in the tables, or none. */
const siteOf = (tenantId: Int64 | null, resource: string) => ({
  tenant_id: tenantId === null || Number(tenantId) === 0 ? null : tenantId,
  resource,
})

function quarantineIncident({
  tenant_id,
  resource,
  amount,
  first,
}: Facts['quarantine'][number]): KeptIncident {
  const words = `${amount === 1 ? 'a value or record' : `${count(amount)} values or records`} could not be stored`
  return incidentOf('quarantine', siteOf(tenant_id, resource), words, { since: first })
}

/** One per tenant and resource: which fields are new. Values are customer data and are not sent. */
function driftIncidents(drift: Facts['drift'], now: string): KeptIncident[] {
  const sites = new Map<string, Facts['drift'][number][]>()
  for (const entry of drift) {
    const site = `${entry.tenant_id ?? 0} ${entry.resource}`
    sites.set(site, [...(sites.get(site) ?? []), entry])
  }
  return [...sites.values()].flatMap((entries) => {
    const [first] = entries
    if (!first) return []
    const paths = [...new Set(entries.map(({ path }) => path))]
    const words = `seen for the first time: ${listText(paths)}`
    const since = first.first_seen_at ?? now
    return incidentOf('drift', siteOf(first.tenant_id, first.resource), words, { since, lasts: 'moment' })
  })
}

/** The first few items, and how many more there are. */
function listText(items: readonly string[], most = 5): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${count(items.length - most)} more` : shown
}
