/*
 * Finds the incidents, from the warehouse's state and the run that has just ended. Pure. Used by tellrules.ts, which
 * compares them with the known ones.
 */
import type { Int64 } from '../../../schema/resource.js'
import { count, plural } from '../../engine/base/format.js'
import type { Reason } from '../../engine/base/reasons.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { EventTroubles } from '../events/eventtroubles.js'
import type { UnreadableInbox } from '../events/watchinbox.js'
import type { BehindTarget } from '../targets/missedtargets.js'
import { durationText } from '../targets/settings.js'
import type { AlertKind } from './alertsettings.js'
import { adviceOf, cursorMessage, listText } from './alerttext.js'
import {
  type CursorRow,
  cursorState,
  type HealthRule,
  staleSince,
  type TenantStanding,
  uncheckedSince,
} from './cursorhealth.js'
import { eventIncidents } from './eventincidents.js'
import type { Incident } from './incident.js'
import type { WholeTrouble } from './wholetrouble.js'

/** What incidents follow from. */
export interface Facts {
  readonly rule: HealthRule
  /** Cursors of tenants that are granted and wanted. */
  readonly cursors: readonly CursorRow[]
  /** Tenants that are wanted but no longer granted. */
  readonly revoked: readonly TenantStanding[]
  /** Problems of the whole run. */
  readonly whole: readonly WholeTrouble[]
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
export function findIncidents(facts: Facts): Incident[] {
  const now = fromMicros(facts.rule.nowMicros)
  return [
    ...facts.whole.map((trouble) => wholeIncident(trouble, now)),
    ...facts.revoked.map(({ tenant_id, revoked_at }) => revokedIncident(tenant_id, revoked_at ?? now)),
    ...facts.cursors.flatMap((cursor) => cursorIncidents(cursor, facts)),
    ...fromReports(facts, now),
    ...facts.quarantine.map(quarantineIncident),
    ...driftIncidents(facts.drift, now),
    ...eventIncidents(facts.events, facts.rule.nowMicros),
    ...facts.behind.map(behindIncident),
  ]
}

const behindIncident = ({ resource, met, missed, target, since }: BehindTarget): Incident => ({
  ...{ kind: 'behind_target', tenantId: 0, resource, since, cause: null, lasts: 'state' },
  message: cursorMessage(
    { tenant_id: 0, resource },
    `${count(missed)} of ${plural(met + missed, 'change')} missed the target of ${durationText(target)}`,
  ),
  advice: adviceOf('behind_target', { tenantId: 0, resource }),
})

const wholeIncident = ({ cause, since, message, advice, lasts }: WholeTrouble, now: string): Incident => ({
  kind: 'failed',
  tenantId: 0,
  resource: '',
  since: since ?? now,
  cause,
  message,
  advice,
  lasts,
})

const revokedIncident = (tenantId: Int64, since: string): Incident => ({
  kind: 'revoked',
  tenantId,
  resource: '',
  since,
  cause: 'revoked' satisfies Reason,
  message: `Tenant ${tenantId} is no longer granted; its rows are kept`,
  advice: adviceOf('revoked', { tenantId, resource: '' }),
  lasts: 'state',
})

function cursorIncidents(cursor: CursorRow, { rule }: Facts): Incident[] {
  const { tenant_id: tenantId, resource, reason } = cursor
  const of = (kind: AlertKind, more: Pick<Incident, 'since' | 'message'> & Partial<Incident>): Incident => ({
    kind,
    tenantId,
    resource,
    cause: null,
    advice: adviceOf(kind, { tenantId, resource }),
    lasts: 'state',
    ...more,
  })
  const found: Incident[] = []
  const state = cursorState(cursor, rule)
  if (state === 'failed' || state === 'unproven') {
    const lasts = foundByComparison.has(reason as Reason | null) ? 'reconcile' : 'state'
    const message = cursorMessage(cursor, cursor.last_error)
    const kind = state === 'failed' ? failureKind(reason) : state
    found.push(of(kind, { since: fromMicros(rule.nowMicros), cause: reason, message, lasts }))
  }
  // A cursor that keeps failing is stale, too.
  const stale = staleSince(cursor, rule)
  if (stale !== null) {
    const message = cursorMessage(cursor, `no complete run since ${cursor.last_success_at}`)
    found.push(of('stale', { since: stale, message }))
  }
  const unchecked = uncheckedSince(cursor, rule)
  if (unchecked !== null) {
    const message = cursorMessage(cursor, `deletions were last checked at ${cursor.deletes_checked_at}`)
    found.push(of('deletes_unchecked', { since: unchecked, message }))
  }
  return found
}

/** What a run found about cursors but didn't record with them: a failed backfill, or differences found by verify. */
function fromReports({ reports, cursors }: Facts, now: string): Incident[] {
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

function reportedIncident(cursor: CursorReport, { mode }: RunReport, now: string): Incident {
  const { tenant_id: tenantId, resource, reason, error } = cursor
  const kind = failureKind(reason)
  // If the source didn't answer a comparison, any run may ask again. Once a difference was found, only a comparison can
  // find it gone.
  const isCompared = mode === 'verify' && (reason === null || !cameToNoEnd.has(reason))
  const advice = isCompared
    ? `Type shopsync reconcile --tenant ${tenantId} --resource ${resource}`
    : adviceOf(kind, { tenantId, resource })
  const lasts = isCompared || foundByComparison.has(reason) ? 'reconcile' : 'asked'
  return {
    kind,
    tenantId,
    resource,
    since: now,
    cause: reason,
    message: cursorMessage(cursor, error),
    advice,
    lasts,
  }
}

function quarantineIncident({ tenant_id, resource, amount, first }: Facts['quarantine'][number]): Incident {
  const site = { tenantId: tenant_id, resource }
  return {
    kind: 'quarantine',
    ...site,
    since: first,
    cause: null,
    message: cursorMessage(
      { tenant_id, resource },
      `${amount === 1 ? 'a value or record' : `${count(amount)} values or records`} could not be stored`,
    ),
    advice: adviceOf('quarantine', site),
    lasts: 'state',
  }
}

/** One per tenant and resource: which fields are new. Values are customer data and are not sent. */
function driftIncidents(drift: Facts['drift'], now: string): Incident[] {
  const sites = new Map<string, Facts['drift'][number][]>()
  for (const entry of drift) {
    const site = `${entry.tenant_id ?? 0} ${entry.resource}`
    sites.set(site, [...(sites.get(site) ?? []), entry])
  }
  return [...sites.values()].flatMap((entries) => {
    const [first] = entries
    if (!first) return []
    const { tenant_id, resource, first_seen_at } = first
    const site = { tenantId: tenant_id ?? 0, resource }
    const paths = [...new Set(entries.map(({ path }) => path))]
    const message = cursorMessage(
      { tenant_id: site.tenantId, resource },
      `seen for the first time: ${listText(paths)}`,
    )
    const since = first_seen_at ?? now
    return {
      kind: 'drift',
      ...site,
      since,
      cause: null,
      message,
      advice: adviceOf('drift', site),
      lasts: 'moment',
    }
  })
}
