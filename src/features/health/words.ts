/* The document of `shopsync status` in words. Used by src/features/health/command.ts. */
import { atSecond, count, joinedNames, paragraphs, plural, span } from '../../engine/base/format.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { revokedText } from '../../engine/run/absence.js'
import { reasonText } from '../../engine/run/reasontext.js'
import { mostNamed, type PrivacyStatus } from '../../engine/warehouse/hiding/privacystate.js'
import { foreignAdvice, foreignWarning, ownerText } from '../../shell/belongingwords.js'
import { customerTroubles, forgottenText } from '../../shell/forgottenfile.js'
import { groupLines, groupsText } from '../../shell/grouped.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table } from '../../shell/texttable.js'
import { isUnreadable } from '../events/watchinbox.js'
import { freshnessStatusText, stretchedText } from '../targets/words.js'
import { type CursorHealth, isLostTenant, isStateTrouble, isTrouble, lateWords } from './cursorhealth.js'
import { perResource, perTenant } from './cursortables.js'
import { heardText } from './heardwords.js'
import type { Incident } from './incident.js'
import { incidentsText, incidentTroubles } from './incidentwords.js'
import { quietText } from './quietlists.js'
import { lastRun, lease, lostRun, shardsText, standingText } from './runwords.js'
import { onlyFailing, type StatusReport } from './statusdocument.js'
import { workersAdvice, workersText } from './workerhealth.js'

/** The status for people: freshness, the last run, each tenant and resource, then problems and the next step. */
export function statusText(
  whole: StatusReport,
  {
    failing = false,
    tenantNames = {},
    terminal = plainTerminal,
  }: {
    /** Only what needs attention. */
    readonly failing?: boolean
    /** By tenant. */
    readonly tenantNames?: Readonly<Record<string, string>>
    readonly terminal?: Terminal
  } = {},
): string {
  const report = failing ? onlyFailing(whole) : whole
  const now = toMicros(report.checked_at)
  const troubled = report.cursors.filter(isTrouble)
  const text = paragraphs([
    failing && whole.healthy && lateWords(whole.cursors) === ''
      ? `${whole.warehouse}: nothing needs attention.`
      : headline(whole),
    belonging(report),
    lastRun(report, now),
    shardsText(report, now),
    lease(report, now),
    standingText(report, now),
    failing && !report.workers?.trouble ? '' : workersText(report.workers),
    perTenant(report, tenantNames, terminal),
    perResource(report, terminal),
    [...lostTenants(report), ...worksText(report)].map((line) => `✗ ${line}`).join('\n'),
    troublesText(troubled),
    failing ? '' : unavailableText(report),
    incidentsText(report.incidents, now),
    failing ? '' : quietText(report.quiet, tenantNames),
    stampsAhead(report),
    oddLists(report),
    refills(report),
    setBack(report),
    sharedServices(report),
    lateness(report, terminal),
    failing && !(report.events && isUnreadable(report.events)) ? '' : heardText(report.events, now),
    failing ? '' : freshnessStatusText(report.freshness),
    report.stretched_polling ? stretchedText(report.stretched_polling) : '',
    quarantine(report),
    report.privacy ? privacyText(report.privacy) : '',
    forgottenText(report),
    next(whole, troubled),
  ])
  return `${text}\n`
}

/** The state of everything, in a sentence: what `status` begins with, and `headline` of its document. */
export function headlineOf(report: StatusReport): string {
  const { cursors, forgotten, healthy, incidents, reason, tenants } = report
  if (reason !== null) return reasonText(reason)
  if (cursors.length === 0 && healthy)
    return forgotten > 0 ? 'every tenant was forgotten.' : 'first load: the tenants are being listed.'
  if (report.warehouse_absent !== undefined) return report.warehouse_absent
  if (cursors.length === 0) return 'no tenant has been synced yet.'
  const loading = loadingText(report)
  const late = lateWords(cursors)
  const troubled = cursors.filter(isTrouble).length
  const lost = tenants.filter(isLostTenant).length
  const said = (...words: string[]): string => `${words.filter((word) => word !== '').join('; ')}.`
  if (troubled > 0)
    return said(`${count(troubled)} of ${plural(cursors.length, 'cursor')} stale or failing`, loading, late)
  if (lost > 0) return said(`${plural(lost, 'tenant')} no longer granted`, late || 'all others are fresh')
  if (loading !== '' && healthy) return said(loading, late)
  const absent = unavailableIn(report).length
  const every = absent > 0 ? `every cursor but ${count(absent)} unavailable` : 'every cursor'
  const oldest = Math.max(0, ...cursors.map((cursor) => cursor.age_seconds ?? 0))
  const lately = `${every} completed within the last ${oldest < 1 ? 'second' : span(oldest * 1000)}`
  const wrong =
    incidents.length > 0
      ? `${plural(incidents.length, 'incident')} open`
      : healthy
        ? ''
        : 'something needs attention'
  return said(wrong || late || 'all fresh', wrong && late, lately)
}

const headline = (report: StatusReport): string => `${report.warehouse}: ${headlineOf(report)}`

/** How far the first load is; empty if no run is making one. */
function loadingText({ cursors }: StatusReport): string {
  const unread = cursors.filter(({ state }) => state === 'loading').length
  const all = cursors.filter(({ state }) => state !== 'revoked' && state !== 'excepted').length
  return unread === 0 ? '' : `first load: ${count(all - unread)} of ${plural(all, 'list')} read`
}

const unavailableIn = ({ cursors }: StatusReport): readonly CursorHealth[] =>
  cursors.filter(({ state }) => state === 'unavailable')

/** Lists that the source has never shown, which fails nothing. */
function unavailableText(report: StatusReport): string {
  const absent = unavailableIn(report)
  if (absent.length === 0) return ''
  const names = [...new Set(absent.map(({ resource }) => resource))].join(', ')
  return `${count(absent.length)} of ${plural(report.cursors.length, 'list')} unavailable, because the API answers 404: ${names}. Later runs ask again; if the API has none, set resources.NAME.enabled to false.`
}

function belonging({ belongs_to: owner }: StatusReport): string {
  if (owner === null) return ''
  return owner.configured ? ownerText(owner) : foreignWarning(owner)
}

/** The tenants that are no longer granted, one per line. */
const lostTenants = ({ tenants }: StatusReport): string[] =>
  tenants.filter(isLostTenant).map(({ tenant_id }) => revokedText(tenant_id))

/** The snapshot and the report, if the last attempt failed. */
const worksText = ({ failed_works: failed, forgotten_customers: customers }: StatusReport): string[] => [
  ...failed.map(({ message, since: moment, advice }) => `${message} (since ${atSecond(moment)}). ${advice}`),
  ...customerTroubles(customers),
]

/** The open incidents that no other line mentions. */
function untold(report: StatusReport, troubled: readonly CursorHealth[]): readonly Incident[] {
  const told = new Set(troubled.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`))
  const works = new Set(report.failed_works.map(({ message }) => message))
  const lost = new Set(report.tenants.filter(isLostTenant).map(({ tenant_id }) => tenant_id))
  return report.incidents.filter(
    ({ kind, tenant_id, resource, message }) =>
      !(told.has(`${tenant_id} ${resource}`) && kind !== 'quarantine') &&
      !works.has(message) &&
      !(kind === 'revoked' && tenant_id !== null && lost.has(tenant_id)),
  )
}

/** Everything that needs attention, one per line. */
export function statusTroubles(report: StatusReport): string[] {
  const now = toMicros(report.checked_at)
  const troubled = report.cursors.filter(isTrouble)
  const { last_run: run, belongs_to: owner } = report
  const lines = [
    report.cursors.length === 0 && !report.healthy && report.reason === null ? headline(report) : '',
    reasonText(report.reason),
    owner?.configured === false ? foreignAdvice : '',
    ...(report.shards ?? (run ? [run] : [])).map((one) =>
      one.ended_without_a_word ? lostRun(one, now) : '',
    ),
    ...lostTenants(report),
    ...worksText(report),
    report.workers?.trouble ? `${report.workers.trouble}. ${workersAdvice}` : '',
    ...troubleLines(troubled),
    ...incidentTroubles(untold(report, troubled)),
  ]
  return lines
    .filter((line) => line !== '')
    .flatMap((line) => line.split('\n'))
    .map((line) => `status: ${line}`)
}

const troubleOf = ({ state, age_seconds, last_error, ...cursor }: CursorHealth): string => {
  if (cursor.deletes_unchecked && !isStateTrouble({ state }))
    return `deletions were last checked at ${atSecond(cursor.deletes_checked_at ?? '')}. Type shopsync reconcile`
  const { last_success_at: last } = cursor
  const age =
    age_seconds !== null
      ? `complete ${span(age_seconds * 1000)} ago`
      : last === null
        ? 'never complete'
        : `complete at ${atSecond(last)}, ahead of this machine's clock: how long ago is unknown`
  const error = last_error ? `: ${last_error}` : ''
  return `${state === 'never' ? '' : `${state}, `}${age}${error}`
}

/** Oldest first: for cursors with the same problem, the age of the first one is shown. */
const byUrgency = (troubled: readonly CursorHealth[]): readonly CursorHealth[] =>
  troubled.toSorted((a, b) => (b.age_seconds ?? 0) - (a.age_seconds ?? 0))

const troubleLines = (troubled: readonly CursorHealth[]): string[] =>
  groupLines(byUrgency(troubled), troubleOf)

const troublesText = (troubled: readonly CursorHealth[]): string =>
  groupsText(byUrgency(troubled), '✗', troubleOf)

const setBack = ({ cursors }: StatusReport): string =>
  groupsText(
    cursors.filter(({ complete_through_before: before }) => before !== null),
    '!',
    ({ complete_through, complete_through_before }) =>
      `complete through ${atSecond(complete_through ?? '')}, set back from ${atSecond(complete_through_before ?? '')} by a record that became visible late`,
  )

const lateness = (report: StatusReport, terminal: Terminal): string => {
  const late = report.lateness.filter((one) => one.largest_seconds + one.reconciled_largest_seconds > 0)
  if (late.length === 0) return ''
  const seconds = (amount: number): string => span(Math.ceil(amount) * 1000)
  const rows = late.map((one) => [
    one.resource,
    count(one.records),
    seconds(one.largest_seconds),
    seconds(one.p999_seconds),
    one.reconciled_records === 0
      ? '-'
      : `${count(one.reconciled_records)}, ${seconds(one.reconciled_largest_seconds)}`,
  ])
  return table(
    ['late in the last 30 days', right('records'), 'largest', '99.9%', 'only by reconcile'],
    rows as string[][],
    terminal,
  )
}

const stampsAhead = ({ cursors }: StatusReport): string =>
  groupsText(
    cursors.filter(({ stamps_ahead }) => stamps_ahead !== null),
    '!',
    ({ stamps_ahead }) =>
      `${plural(Number(stamps_ahead?.records), 'record')} stamped ahead of the source's clock, until ${atSecond(stamps_ahead?.until ?? '')}; every run reads them again until then`,
  )

/** What is unusual about a list, in words, and what to do about it. */
function anomalies({ odd }: CursorHealth): string[] {
  if (odd === null) return []
  const [first] = odd.holes
  const hole = first && `, the first between ${atSecond(first.after)} and ${atSecond(first.until)}`
  return [
    odd.unreadable > 0
      ? `has ${plural(odd.unreadable, 'record')} that no response shows${hole ?? ''}: each run tries again`
      : '',
    odd.not_shown > 0 ? `counts ${plural(odd.not_shown, 'record')} that it never shows` : '',
    odd.left_the_list > 0
      ? `no longer lists ${plural(odd.left_the_list, 'record')} that can still be read by id`
      : '',
    odd.listed_twice > 0 ? `shows a record twice in ${plural(odd.listed_twice, 'place')}` : '',
    odd.no_true_total ? 'has no true total' : '',
    odd.not_newest_first ? 'is not sorted newest first: every run reads everything new' : '',
    odd.longer_without_filter ? 'is longer without updated_after: only reconcile sees the rest' : '',
  ].filter((text) => text !== '')
}

const oddLists = ({ cursors }: StatusReport): string =>
  groupsText(
    cursors.filter(({ odd }) => odd !== null),
    '!',
    (cursor) => `the list ${anomalies(cursor).join('; ')}`,
  )

const refills = ({ cursors }: StatusReport): string =>
  groupsText(
    cursors.filter(({ refill }) => refill !== null),
    '!',
    ({ refill, refill_progress: progress }) =>
      progress === null
        ? `the next sync reads the whole list, because ${refill}`
        : `the whole list is being read, because ${refill}: ${count(progress.read)} of ${plural(progress.of, 'record')} so far; shopsync sync continues`,
  )

const sharedServices = ({ tenants }: StatusReport): string =>
  tenants
    .filter(({ shared_services }) => shared_services > 0)
    .map(
      ({ tenant_id, shared_services: services }) =>
        `! Tenant ${tenant_id}: ${plural(services, 'service')} under two live orders, counted in the sums of both`,
    )
    .join('\n')

const quarantine = (report: StatusReport): string =>
  Number(report.quarantined) === 0
    ? ''
    : `In quarantine: ${plural(Number(report.quarantined), 'value')} (shopsync quarantine list)`

function next(report: StatusReport, troubled: readonly CursorHealth[]): string {
  // Every run would be refused; the line above about the source says what to type.
  if (report.belongs_to?.configured === false) return ''
  if (report.warehouse_absent !== undefined) return ''
  if (report.cursors.length === 0) return 'Type shopsync sync'
  if (troubled.some((cursor) => cursor.state === 'failed'))
    return 'To find out what is wrong, type shopsync check; to try again, shopsync sync'
  if (troubled.some(isStateTrouble)) return 'Type shopsync sync'
  const [incident] = report.incidents
  if (troubled.length === 0 && incident) return incident.advice
  if (troubled.length > 0) return 'Only reconcile sees deletions: type shopsync reconcile'
  return lateWords(report.cursors) === '' ? '' : 'To look for late records, type shopsync reconcile'
}

/** What `privacy` hides. */
function privacyText({ hidden, unfinished, traces_left, reading }: PrivacyStatus): string {
  const named = (columns: readonly string[]): string => joinedNames(columns, mostNamed)
  return [
    hidden === 0 ? '' : `Privacy hides ${plural(hidden, 'column')}.`,
    unfinished.length === 0
      ? ''
      : `Stored values are not hidden yet in ${named(unfinished)}. The next command that writes hides them first; shopsync migrate does so now.`,
    traces_left
      ? "The database's files may still contain values from before. End the programs that read it, then type shopsync migrate."
      : '',
    reading.length === 0
      ? ''
      : `Lists are read in full because of ${named(reading)}: only the source has what they hide.`,
  ]
    .filter((line) => line !== '')
    .join('\n')
}
