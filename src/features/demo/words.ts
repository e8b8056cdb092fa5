import { count, plural, span } from '../../engine/base/format.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { changedText, elapsed } from '../../shell/runsummary.js'
import type { Terminal } from '../../shell/terminal.js'
import { right, table } from '../../shell/texttable.js'
import type { ReportData } from '../report/data.js'
import { answersText } from '../report/reporttext.js'
import { type HeardChange, hearPatience } from './hear.js'

/* The text of the demo. */

export const opening = (url: string, tenantIds: readonly number[]): string =>
  `A sandbox of the whole API is up at ${url}: ${plural(tenantIds.length, 'repair business')} (tenants ${tenantIds.join(', ')}).
It goes away when the demo ends.

First sync: everything there is.`

const changedOf = (report: RunReport): number =>
  report.cursors.reduce((sum, cursor) => sum + cursor.records_changed, 0)

export const afterSync = (report: RunReport): string =>
  `  ${changedText(report)}, in ${span(elapsed(report))}.`

/** What happened at the source: `tenant`, `resource` and `id` name the record. */
type Change = Readonly<Record<'action' | 'resource', string> & Record<'tenant' | 'id', number>>

/** How many records were created and deleted again: no sync has seen them. */
function passing(changes: readonly Change[]): number {
  const nameOf = ({ tenant, resource, id }: Change): string => `${tenant} ${resource} ${id}`
  const created = new Set(changes.filter(({ action }) => action === 'created').map(nameOf))
  return changes.filter((change) => change.action === 'deleted' && created.has(nameOf(change))).length
}

export function work(changes: readonly Change[]): string {
  const amount = (action: string): string =>
    count(changes.filter((change) => change.action === action).length)
  return `
The shops work: cars come in, estimates become invoices, stock moves. ${plural(changes.length, 'change')}:
  ${amount('created')} created, ${amount('updated')} updated, ${amount('deleted')} deleted, ${count(passing(changes))} of them right after being created.
  A sync cannot see deletions. The reconcile below finds them.

Second sync: only what changed.`
}

const verdicts = (report: RunReport): string => {
  const proven = report.cursors.filter((cursor) => cursor.completeness === 'proven').length
  return `${count(proven)} of ${count(report.cursors.length)}`
}

export function sideBySide(first: RunReport, second: RunReport, terminal: Terminal): string {
  const line = (title: string, of: (report: RunReport) => string): string[] => [title, of(first), of(second)]
  const rows = [
    line('outcome', (report) => report.status),
    line('requests', (report) => count(report.requests)),
    line('records new or changed', (report) => count(changedOf(report))),
    line('rows written', (report) => count(report.rows_upserted)),
    line('rows removed', (report) => count(report.rows_deleted)),
    line('proven complete', verdicts),
    line('time', (report) => span(elapsed(report))),
  ]
  return `${afterSync(second)}\n\n${table(['', right('first sync'), right('second sync')], rows, terminal)}`
}

export const afterReconcile = (report: RunReport): string => `
Reconcile, as the nightly job does it: it finds deletions by counting, without reading any list again.
  ${plural(report.rows_deleted, 'record')} marked deleted, by ${plural(report.requests, 'request')} in ${span(elapsed(report))}.`

export const heard = ({ seconds, completeness }: HeardChange): string =>
  seconds === undefined
    ? `
The source sent an event for a change. Its row did not arrive within ${span(hearPatience)}.`
    : `
The source sends an event; the listener reads the list that it names.
  A change at the source was in the warehouse, ${completeness}, after ${(Math.ceil(seconds * 10) / 10).toFixed(1)} s.`

export const answers = (data: ReportData, terminal: Terminal): string => `
Four questions, answered from the warehouse.

${answersText(data, terminal)}`

const titled = (title: string, { columns }: Terminal): string =>
  `── ${title} `.padEnd(Math.min(73, columns), '─')

export const closing = (file: string, page: string, terminal: Terminal): string => `
${titled('The report', terminal)}
It is ${page}: open it in a browser. It needs no network.

${titled('The warehouse', terminal)}
It is ${file}, a plain SQLite file. Open it with any tool that reads SQLite (DBeaver, Metabase, a spreadsheet), or:`

/** To be pasted as they are: a line break inside the second one's question is an error of syntax. */
export function queries(file: string): string {
  const question =
    'select month, sum(sales_cents) / 100 as sales from shop_months where is_whole group by month'
  return `
  sqlite3 ${file} "${question}"
  node -p "new (require('better-sqlite3'))('${file}').prepare('${question}').all()"`
}

export const farewell = `
The meaning of every table, view and column: shopsync dictionary. With your own API: shopsync init.`
