import type { ViewsMade } from '../../analytics/makeviews.js'
import { count, firstOf, paragraphs, plural, span } from '../../format.js'
import { type Paper, plainPaper } from '../../paper.js'
import type { RunPlan } from '../../sync/ask/plan.js'
import { right, table } from '../../table.js'
import { groupsText } from './grouped.js'
import { changeLine, viewChangesText } from './tables.js'

const shownChanges = 12
/** More lines of one kind would push the others off the screen. */
const shownLines = 20

export function planText(made: RunPlan, views: ViewsMade, paper: Paper = plainPaper): string {
  const total = [plural(made.requests, 'request'), plural(made.records, 'record'), minutesText(made.minutes)]
  return paragraphs([
    `${made.of}: ${total.join(', ')} (${limitText(made.rate)})`,
    firstOf(
      made.tenants.toSorted((a, b) => b.requests - a.requests),
      shownLines,
      tenantText,
      (others) => `… and ${plural(others, 'tenant')} more with as many requests or fewer: --json`,
    ),
    cursorsText(made.cursors, paper),
    changesText(made.table_changes),
    viewsText(views),
    `Nothing was written. This plan has cost ${plural(made.asked, 'request')}.`,
  ])
}

const minutesText = (minutes: number): string =>
  minutes < 1 ? 'less than a minute' : `some ${Math.ceil(minutes)} minutes`

function limitText(rate: RunPlan['rate']): string {
  if (!rate) return 'no rate limit is known'
  const window = `${span(rate.window_seconds * 1000)}${rate.window_known ? '' : ' (assumed)'}`
  return `${count(rate.limit)} requests in ${window}, of which ${count(rate.remaining)} are left now`
}

const tenantText = ({ tenant_id, requests, records }: RunPlan['tenants'][number]): string =>
  `tenant ${tenant_id}: ${plural(requests, 'request')}, ${plural(records, 'record')}`

function cursorsText(cursors: RunPlan['cursors'], paper: Paper): string {
  const well = cursors.filter(({ status }) => status === 'ok')
  const busy = well.filter(({ requests }) => requests > 1).toSorted((a, b) => b.requests - a.requests)
  const rows = busy
    .slice(0, shownLines)
    .map(({ tenant_id, resource, requests, records }) => [
      String(tenant_id),
      resource,
      count(requests),
      count(records),
    ])
  const more = busy.length - rows.length
  const idle = well.filter(({ requests }) => requests <= 1)
  const read = idle.reduce((sum, { records }) => sum + records, 0)
  return paragraphs([
    rows.length > 0
      ? table([right('tenant'), 'resource', right('requests'), right('records')], rows, paper)
      : '',
    more > 0 ? `… and ${plural(more, 'cursor')} more with as many requests or fewer: --json` : '',
    idle.length > 0
      ? `${plural(idle.length, 'cursor')} with one request at most: ${plural(read, 'record')} in all.`
      : '',
    groupsText(
      cursors.filter(({ status }) => status !== 'ok'),
      '✗',
      ({ status, error }) => error ?? status,
    ),
  ])
}

const viewsText = ({ made, troubles }: ViewsMade): string =>
  [
    ...(made.length > 0 ? [`${viewChangesText(made)}.`] : []),
    ...troubles.map(({ message, hint }) => `${message}. ${hint}.`),
  ].join('\n')

const isNew = (changes: RunPlan['table_changes']): boolean =>
  changes.some(({ table, what }) => table === 'sync_cursors' && what === 'create table')

const changesText = (changes: RunPlan['table_changes']): string =>
  isNew(changes) ? `There is no warehouse there yet: the run makes it. ${listOf(changes)}` : listOf(changes)

const listOf = (changes: RunPlan['table_changes']): string =>
  changes.length === 0
    ? 'The tables are up to date.'
    : `Changes to the tables:\n${firstOf(changes, shownChanges, changeLine, (others) => `and ${others} more`)}`
