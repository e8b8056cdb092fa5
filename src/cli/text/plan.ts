import type { ViewsMade } from '../../analytics/makeviews.js'
import { count, firstOf, indent, paragraphs, plural, right, span, table } from '../../format.js'
import type { RunPlan } from '../../sync/ask/plan.js'
import { changeLine, viewChangesText } from './tables.js'

const shownChanges = 12

export function planText(made: RunPlan, views: ViewsMade): string {
  const total = [plural(made.requests, 'request'), plural(made.records, 'record'), minutesText(made.minutes)]
  return paragraphs([
    `${made.of}: ${total.join(', ')} (${limitText(made.rate)})`,
    made.tenants.map(tenantText).join('\n'),
    cursorsText(made.cursors),
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
  indent(`tenant ${tenant_id}: ${plural(requests, 'request')}, ${plural(records, 'record')}`)

function cursorsText(cursors: RunPlan['cursors']): string {
  const busy = cursors
    .filter(({ requests, records }) => requests > 1 || records > 0)
    .toSorted((a, b) => b.requests - a.requests)
  const rows = busy.map(({ tenant_id, resource, requests, records, status, error }) => [
    String(tenant_id),
    resource,
    count(requests),
    count(records),
    status === 'ok' ? '' : (error ?? status),
  ])
  const idle = cursors.length - rows.length
  return paragraphs([
    rows.length > 0
      ? table([right('tenant'), 'resource', right('requests'), right('records'), ''], rows)
      : '',
    idle > 0 ? `${plural(idle, 'cursor')} with nothing new: one request each.` : '',
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
