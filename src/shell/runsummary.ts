/*
 * The end of a run in words: headline, totals by resource, failures, next steps. Used by the commands that run, by the
 * steps of a job and by the demo.
 */
import { count, paragraphs, plural, span } from '../engine/base/format.js'
import { reasons } from '../engine/base/reasons.js'
import { toMicros } from '../engine/base/timestamp.js'
import { type Verdict, worstFirst } from '../engine/list/verdict.js'
import { isCut } from '../engine/run/ending.js'
import { reasonText } from '../engine/run/reasontext.js'
import { type CursorReport, modeText, type RunReport } from '../engine/run/runreport.js'
import { groupLines, groupsText } from './grouped.js'
import { type Ink, plainTerminal, type Terminal } from './terminal.js'
import { right, table } from './texttable.js'

/* What needs attention after a run, one per line: the lines that --quiet prints, and parts of a run's summary. */

/** More lines of one kind would hide the others. */
const shownLines = 40

/** Whether what a cursor reports applies to all cursors of its tenant. */
const isOfTenant = ({ reason }: CursorReport): boolean =>
  reason === 'revoked' || reason === 'grants_incomplete'

/** Whether nothing was requested for a cursor, since its tenant isn't granted. */
const isLeftOut = (cursor: CursorReport): boolean => isOfTenant(cursor) && cursor.requests === 0

/** The tenants that aren't granted, one per line. */
function tenantTroubles({ cursors }: Pick<RunReport, 'cursors'>): string[] {
  const lines = new Map(
    cursors.filter(isOfTenant).map(({ tenant_id, error }) => [tenant_id, error ?? `Tenant ${tenant_id}`]),
  )
  return [...lines.values()]
}

/** The cursors that failed for their own reasons. */
const failedCursors = ({ cursors }: Pick<RunReport, 'cursors'>): CursorReport[] =>
  cursors.filter((cursor) => cursor.status === 'failed' && !isOfTenant(cursor))

const failureText = ({ error }: CursorReport): string => error ?? 'no reason given'

/** Everything about a run that needs attention, one per line. */
export function runTroubles(report: RunReport): string[] {
  const title = report.job ?? modeText(report.mode)
  const failed = groupLines(failedCursors(report), failureText)
  const more = failed.length - shownLines
  const undone = report.cursors.filter(
    ({ status, reason }) => status === 'skipped' && reason !== 'revoked',
  ).length
  const lines = [
    reasonText(report.reason),
    undone > 0 && report.reason !== null
      ? `${reasons[report.reason]}: ${plural(undone, 'cursor')} not done; the next run continues with them`
      : '',
    ...tenantTroubles(report),
    ...failed.slice(0, shownLines),
    more > 0 ? `… and ${plural(more, 'more line')} of failures: shopsync status` : '',
  ]
  // A database's message may have several lines.
  return lines.filter((line) => line !== '').map((line) => `${title}: ${line.replaceAll(/\s*\n\s*/g, ' ')}`)
}

const verdictInk = (cell: string): Ink =>
  /failed|unproven/.test(cell) ? 'bad' : /skipped|not offered/.test(cell) ? 'odd' : 'good'

const headings = [
  'resource',
  right('tenants', { spare: 2 }),
  right('requests', { spare: 1 }),
  right('new or changed'),
  right('read again', { spare: 4 }),
  right('rows written', { spare: 5 }),
  right('rows removed', { spare: 3 }),
  { title: 'completeness', ink: verdictInk },
]

const sum = (cursors: readonly CursorReport[], of: (cursor: CursorReport) => number): number =>
  cursors.reduce((total, cursor) => total + of(cursor), 0)

/** How long a run took, in milliseconds. */
export const elapsed = (report: RunReport): number =>
  Number(toMicros(report.finished_at) - toMicros(report.started_at)) / 1000

/** The end of a run: its outcome, its totals, its failures, and the next steps. */
export function runSummary(report: RunReport, terminal: Terminal = plainTerminal): string {
  const ungranted = tenantTroubles(report)
  const asked = report.cursors.filter((cursor) => !isLeftOut(cursor))
  // Only the grants were requested: one line says it all.
  if (report.reason === null && asked.length === 0 && ungranted.length > 0) return `${ungranted.join('\n')}\n`
  const failed = failedCursors(report)
  const text = paragraphs([
    headline(report),
    totals(asked, terminal),
    compared(report.cursors),
    [reasonText(report.reason), ...ungranted]
      .filter((line) => line !== '')
      .map((line) => `✗ ${line}`)
      .join('\n'),
    failures(failed),
    cutShort(report),
    absences(report),
    nextSteps(report, failed),
  ])
  return `${text}\n`
}

const words = { ok: 'done', partial: 'finished, but something failed', failed: 'failed' } as const

const cutWords = {
  time_limit: 'stopped by its time limit',
  wanted: 'made room for another command',
} as const

const outcome = ({ status, reason, cursors }: RunReport): string =>
  isCut(reason) && !cursors.some((cursor) => cursor.status === 'failed') ? cutWords[reason] : words[status]

function headline(report: RunReport): string {
  const tenants = new Set(report.cursors.map((cursor) => String(cursor.tenant_id))).size
  const extra = [
    report.rate_limited > 0 ? `${count(report.rate_limited)} refused by the rate limit` : '',
    report.retries > 0 ? `${count(report.retries)} of them retries` : '',
  ].filter((part) => part !== '')
  const requests = plural(report.requests, 'request') + (extra.length > 0 ? ` (${extra.join(', ')})` : '')
  const title = report.job ? `${report.job} (${report.mode})` : modeText(report.mode)
  const amounts = [changedText(report), plural(tenants, 'tenant'), requests].join(', ')
  return `${title}: ${outcome(report)} in ${span(elapsed(report))}: ${amounts}`
}

/** Of the records that came, only those that were not here yet are news: every run reads its overlap again. */
export function changedText({ cursors }: Pick<RunReport, 'cursors'>): string {
  const changed = sum(cursors, (cursor) => cursor.records_changed)
  return changed === 0 ? 'nothing new' : `${plural(changed, 'record')} new or changed`
}

/** One line per resource; resources without changes share one. */
function totals(cursors: readonly CursorReport[], terminal: Terminal): string {
  // By name: cursors end in another order in each run.
  const groups = [...groupsOf(cursors)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const busy = groups.filter(([, group]) => !group.every(isQuiet))
  const quiet = groups.length - busy.length
  if (busy.length > 1) busy.push(['all of these', busy.flatMap(([, group]) => group)])
  const rows = busy.map(([name, group]) => totalsRow(name, group))
  const lines = rows.length > 0 ? [table(headings, rows, terminal)] : []
  if (quiet > 0) lines.push(`${plural(quiet, 'resource')} without changes, all complete.`)
  return lines.join('\n')
}

const isQuiet = (cursor: CursorReport): boolean =>
  cursor.status === 'ok' &&
  cursor.rows_upserted + cursor.rows_deleted === 0 &&
  cursor.completeness !== 'unproven'

function groupsOf(cursors: readonly CursorReport[]): Map<string, CursorReport[]> {
  const groups = new Map<string, CursorReport[]>()
  for (const cursor of cursors) {
    const group = groups.get(cursor.resource)
    if (group) group.push(cursor)
    else groups.set(cursor.resource, [cursor])
  }
  return groups
}

const totalsRow = (name: string, group: readonly CursorReport[]): string[] => [
  name,
  count(new Set(group.map((cursor) => String(cursor.tenant_id))).size),
  count(sum(group, (cursor) => cursor.requests)),
  count(sum(group, (cursor) => cursor.records_changed)),
  count(sum(group, (cursor) => cursor.records - cursor.records_changed)),
  count(sum(group, (cursor) => cursor.rows_upserted)),
  count(sum(group, (cursor) => cursor.rows_deleted)),
  completeness(group),
]

const verdicts: readonly Verdict[] = worstFirst.toReversed()

/** `proven` if all are, otherwise how many of each. */
function completeness(group: readonly CursorReport[]): string {
  const counts = [
    ...verdicts.map((verdict) => ({
      name: verdict,
      amount: group.filter((cursor) => cursor.status === 'ok' && cursor.completeness === verdict).length,
    })),
    { name: 'failed', amount: group.filter((cursor) => cursor.status === 'failed').length },
    { name: 'skipped', amount: group.filter((cursor) => cursor.status === 'skipped').length },
    { name: 'not offered', amount: group.filter((cursor) => cursor.status === 'unavailable').length },
  ].filter(({ amount }) => amount > 0)
  const only = counts.length === 1 ? counts[0] : undefined
  return only ? only.name : counts.map(({ name, amount }) => `${count(amount)} ${name}`).join(', ')
}

/** For a reconcile: how many records it fixed, and how it compared the cursors. */
function compared(cursors: readonly CursorReport[]): string {
  const found = cursors.flatMap(({ reconciled }) => reconciled ?? [])
  if (found.length === 0) return ''
  const deleted = found.reduce((total, one) => total + one.deleted, 0)
  const stored = found.reduce((total, one) => total + one.stored, 0)
  const listed = found.filter(({ method }) => method === 'listing').length
  const counting = found.length - listed
  return `${plural(deleted, 'record')} marked deleted, ${plural(stored, 'record')} fetched that no sync had stored; ${plural(counting, 'cursor')} compared by counting, ${plural(listed, 'cursor')} by listing every id.`
}

function failures(failed: readonly CursorReport[]): string {
  if (failed.length === 0) return ''
  const list = groupsText(failed, '✗', failureText)
  return `${plural(failed.length, 'cursor')} failed; everything else is stored:\n${list}`
}

/** For a run that its time limit ended, or that made room for another command. */
function cutShort({ reason, cursors }: RunReport): string {
  if (!isCut(reason)) return ''
  const undone = cursors.filter((cursor) => cursor.reason === reason).length
  const why =
    reason === 'wanted' ? 'Another command needs the whole warehouse' : 'The time limit ended the run'
  return `${why}: ${plural(undone, 'cursor')} of ${count(cursors.length)} not done. The next run starts with those that have waited longest.`
}

function absences(report: RunReport): string {
  const missing = report.cursors.filter((cursor) => cursor.status === 'unavailable')
  if (missing.length === 0) return ''
  const names = [...new Set(missing.map((cursor) => cursor.resource))].join(', ')
  return `Not offered by the API (404): ${names}. If the API has them at another path, set resources.NAME.path; if not, set resources.NAME.enabled to false.`
}

function nextSteps(report: RunReport, failed: readonly CursorReport[]): string {
  const unproven = report.cursors.some(
    (cursor) => cursor.status === 'ok' && cursor.completeness === 'unproven',
  )
  const steps = [
    report.quarantined > 0
      ? `${plural(report.quarantined, 'value')} could not be stored as sent: see shopsync quarantine list.`
      : '',
    unproven
      ? 'Some walks could not be proven complete. Their watermarks stay, and the next run reads those lists again.'
      : '',
    failed.length > 0
      ? 'The next run tries again automatically. To find out what is wrong, type shopsync check'
      : '',
  ].filter((step) => step !== '')
  return steps.join('\n')
}
