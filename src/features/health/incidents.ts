/*
 * Finds the incidents, from the warehouse's state and the run that has just ended. Pure. Used by tellrules.ts, which
 * compares them with the known ones.
 */
import type { Int64 } from '../../../schema/resource.js'
import { count, isOlderThan, plural } from '../../engine/base/format.js'
import type { Reason } from '../../engine/base/reasons.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { EventTroubles } from '../events/eventtroubles.js'
import type { UnreadableInbox } from '../events/watchinbox.js'
import type { BehindTarget } from '../targets/missedtargets.js'
import { durationText } from '../targets/settings.js'
import type { AlertKind } from './alertsettings.js'
import { adviceOf, cursorMessage, listText } from './alerttext.js'
import { eventIncidents } from './eventincidents.js'
import type { Incident } from './incident.js'
import type { WholeTrouble } from './wholetrouble.js'

interface CursorFacts {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: string | null
  readonly reason: string | null
  readonly last_error: string | null
  readonly last_success_at: string | null
  readonly deletes_checked_at: string | null
}

/** What incidents follow from. */
export interface Facts {
  readonly nowMicros: bigint
  /** Cursors of tenants that are granted and wanted. */
  readonly cursors: readonly CursorFacts[]
  /** Tenants that are wanted but no longer granted. */
  readonly revoked: readonly { readonly tenant_id: Int64; readonly revoked_at: string | null }[]
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
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
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

const plus = (moment: string, milliseconds: number): string =>
  fromMicros(toMicros(moment) + BigInt(milliseconds) * 1000n)

/** Everything that needs attention now. Problems of the whole run come first. */
export function findIncidents(facts: Facts): Incident[] {
  const now = fromMicros(facts.nowMicros)
  return [
    ...facts.whole.map((trouble) => wholeIncident(trouble, now)),
    ...facts.revoked.map(({ tenant_id, revoked_at }) => revokedIncident(tenant_id, revoked_at ?? now)),
    ...facts.cursors.flatMap((cursor) => cursorIncidents(cursor, facts)),
    ...fromReports(facts, now),
    ...facts.quarantine.map(quarantineIncident),
    ...driftIncidents(facts.drift, now),
    ...eventIncidents(facts.events, facts.nowMicros),
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

function cursorIncidents(cursor: CursorFacts, facts: Facts): Incident[] {
  const { tenant_id: tenantId, resource, reason, last_success_at: last, deletes_checked_at: checked } = cursor
  const { nowMicros, staleAfterMs, deletesUncheckedAfterMs } = facts
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
  const now = fromMicros(nowMicros)
  if (cursor.status === 'failed') {
    const lasts = foundByComparison.has(reason as Reason | null) ? 'reconcile' : 'state'
    const message = cursorMessage(cursor, cursor.last_error)
    found.push(of(failureKind(reason), { since: now, cause: reason, message, lasts }))
  }
  const isRead = cursor.status !== 'unavailable'
  /** If a wrong clock dated it ahead, its true start is unknown. */
  const sinceThen = (moment: string, milliseconds: number): string =>
    moment > now ? now : plus(moment, milliseconds)
  if (isRead && last !== null && isOlderThan(last, nowMicros, staleAfterMs)) {
    const message = cursorMessage(cursor, `no complete run since ${last}`)
    found.push(of('stale', { since: sinceThen(last, staleAfterMs), message }))
  }
  if (checked !== null && isOlderThan(checked, nowMicros, deletesUncheckedAfterMs)) {
    const message = cursorMessage(cursor, `deletions were last checked at ${checked}`)
    found.push(of('deletes_unchecked', { since: sinceThen(checked, deletesUncheckedAfterMs), message }))
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
