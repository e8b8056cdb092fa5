import { atSecond, count, indent, plural, since, span, table } from '../../format.js'
import { type CursorStatus, isTrouble, type StatusReport } from '../../sync/ask/status.js'
import { toMicros } from '../../timestamp.js'

const shownTroubles = 40

/** The status for people: freshness first, then what is wrong, then how much there is. */
export function statusText(report: StatusReport): string {
  const now = toMicros(report.checked_at)
  const troubled = report.cursors.filter(isTrouble)
  const parts = [
    headline(report, troubled),
    lastRun(report, now),
    lease(report, now),
    perTenant(report),
    perResource(report),
    troubles(troubled),
    quarantine(report),
    next(report, troubled),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function headline(report: StatusReport, troubled: readonly CursorStatus[]): string {
  const oldest = Math.max(0, ...report.cursors.map((cursor) => cursor.age_seconds ?? 0))
  if (report.cursors.length === 0) return `${report.warehouse}: no tenant has been synced yet.`
  if (troubled.length > 0)
    return `${report.warehouse}: ${troubled.length} of ${plural(report.cursors.length, 'cursor')} stale or failing.`
  return `${report.warehouse}: all fresh; every cursor was complete ${span(oldest * 1000)} ago or later.`
}

function lastRun({ last_run: run }: StatusReport, now: bigint): string {
  if (!run?.started_at) return ''
  const name = run.job ? `${run.job} (${run.mode})` : run.mode
  const error = run.error ? `: ${run.error}` : ''
  return `Last run: ${name}, ${run.status}, ${span(since(run.started_at, now))} ago${error}`
}

function lease({ lease: holder }: StatusReport, now: bigint): string {
  if (holder === null) return ''
  const age = holder.since ? ` for ${span(since(holder.since, now))}` : ''
  return `At work${age}: ${holder.command ?? 'a run'}, on ${holder.host}, pid ${holder.pid} (run ${holder.run_id})`
}

const ageOf = (cursors: readonly CursorStatus[]): string => {
  const ages = cursors.map((cursor) => cursor.age_seconds).filter((age) => age !== null)
  return ages.length === 0 ? 'never' : span(Math.max(...ages) * 1000)
}

/** The latest watermark: the last thing that happened, as far as the warehouse knows. */
const newest = (cursors: readonly CursorStatus[]): string => {
  const marks = cursors
    .map((cursor) => cursor.watermark)
    .filter((mark) => mark !== null)
    .sort()
  return marks.at(-1) ? atSecond(marks.at(-1) ?? '') : '-'
}

const states = (cursors: readonly CursorStatus[]): string => {
  const amounts = new Map<string, number>()
  for (const { state } of cursors) amounts.set(state, (amounts.get(state) ?? 0) + 1)
  if (amounts.size === 1) return [...amounts.keys()].join()
  return [...amounts].map(([state, amount]) => `${amount} ${state}`).join(', ')
}

const rowsOf = (cursors: readonly CursorStatus[]): string =>
  count(cursors.reduce((total, cursor) => total + Number(cursor.rows), 0))

function perTenant(report: StatusReport): string {
  if (report.tenants.length === 0) return ''
  const rows = report.tenants.map(({ tenant_id, revoked_at }) => {
    const own = report.cursors.filter((cursor) => cursor.tenant_id === tenant_id)
    const state = revoked_at === null ? states(own) : `access revoked ${atSecond(revoked_at)}`
    return [String(tenant_id), ageOf(own), newest(own), rowsOf(own), state]
  })
  return table(
    [
      { title: 'tenant' },
      { title: 'oldest' },
      { title: 'newest record' },
      { title: 'live records', align: 'right' },
      { title: 'state' },
    ],
    rows,
  )
}

function perResource(report: StatusReport): string {
  const names = [...new Set(report.cursors.map((cursor) => cursor.resource))]
  if (names.length === 0) return ''
  const rows = names.map((name) => {
    const own = report.cursors.filter((cursor) => cursor.resource === name && cursor.state !== 'revoked')
    return [name, ageOf(own), newest(own), rowsOf(own), states(own)]
  })
  return table(
    [
      { title: 'resource' },
      { title: 'oldest' },
      { title: 'newest record' },
      { title: 'live records', align: 'right' },
      { title: 'state' },
    ],
    rows,
  )
}

function troubles(troubled: readonly CursorStatus[]): string {
  if (troubled.length === 0) return ''
  const lines = troubled.slice(0, shownTroubles).map((cursor) => {
    const age =
      cursor.age_seconds === null ? 'never complete' : `complete ${span(cursor.age_seconds * 1000)} ago`
    const error = cursor.last_error ? `: ${cursor.last_error}` : ''
    return `✗ tenant ${cursor.tenant_id}, ${cursor.resource}: ${cursor.state}, ${age}${error}`
  })
  if (troubled.length > shownTroubles)
    lines.push(`… and ${troubled.length - shownTroubles} more: shopsync status --json`)
  return indent(lines.join('\n'))
}

const quarantine = (report: StatusReport): string =>
  Number(report.quarantined) === 0
    ? ''
    : `In quarantine: ${plural(Number(report.quarantined), 'value')} (table sync_quarantine)`

function next(report: StatusReport, troubled: readonly CursorStatus[]): string {
  if (report.cursors.length === 0) return 'Type shopsync sync'
  if (troubled.some((cursor) => cursor.state === 'failed'))
    return 'To see what is wrong, type shopsync check; to try again, shopsync sync'
  return troubled.length > 0 ? 'Type shopsync sync' : ''
}
