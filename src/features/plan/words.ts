import { count, firstOf, paragraphs, plural, span } from '../../engine/base/format.js'
import { modeText } from '../../engine/run/runreport.js'
import { groupsText } from '../../shell/grouped.js'
import { changeLine, viewChangesText } from '../../shell/tablechanges.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table } from '../../shell/texttable.js'
import type { ViewsMade } from '../analytics/makeviews.js'
import type { RunPlan } from './work.js'

const shownChanges = 12
/** More lines of one kind would push the others off the screen. */
const shownLines = 20

/** `more`: additional text, in its own paragraph. */
export function planText(
  made: RunPlan,
  {
    views,
    absent = '',
    more = '',
  }: {
    readonly views: ViewsMade
    /** That there is no warehouse; empty if there is one. */
    readonly absent?: string | undefined
    readonly more?: string
  },
  terminal: Terminal = plainTerminal,
): string {
  const total = [plural(made.requests, 'request'), plural(made.records, 'record'), minutesText(made)]
  return paragraphs([
    `${modeText(made.of)}: ${total.join(', ')} (${limitText(made.rate)})`,
    sampleText(made),
    firstOf(
      // The tenants of a sample differ by chance.
      (made.sampled ? [] : made.tenants).toSorted((a, b) => b.requests - a.requests),
      shownLines,
      tenantText,
      (others) => `… and ${plural(others, 'more tenant')} with as many requests or fewer: --json lists them`,
    ),
    cursorsText(made.cursors, terminal),
    refillsText(made.cursors),
    absent,
    changesText(made.table_changes),
    viewsText(views),
    more,
    `Nothing was written. This plan cost ${plural(made.asked, 'request')}.`,
  ])
}

/** A plan that asked only some of the cursors says so. */
function sampleText({ sampled, cursors }: RunPlan): string {
  if (!sampled) return ''
  const others = cursors.filter(({ is_estimated }) => is_estimated)
  const requests = others.reduce((all, one) => all + one.requests, 0)
  return `An estimate: ${count(sampled.asked)} of ${plural(sampled.of, 'list')} were asked, picked at random, because asking all would take more than a minute of the rate limit. The other ${count(others.length)} are taken to be like them: ${plural(requests, 'request')}. For an exact plan of some tenants: shopsync plan --tenant <id>.`
}

/** Until a run has seen a window begin and end, this one may be longer than its rest shows. */
function minutesText({ minutes, rate, requests }: Pick<RunPlan, 'minutes' | 'rate' | 'requests'>): string {
  if (rate?.window_seen === false && requests > rate.remaining) return `at least ${span(minutes * 60_000)}`
  return minutes < 1 ? 'less than a minute' : `about ${plural(Math.ceil(minutes), 'minute')}`
}

function limitText(rate: RunPlan['rate']): string {
  if (!rate) return 'no rate limit is known'
  const { window_seconds: seconds, window_known: isKnown } = rate
  const inLength = seconds === 60 ? 'a minute' : `in ${span(seconds * 1000)}`
  const window = isKnown ? inLength : `in ${span(seconds * 1000)} or longer`
  return `${plural(rate.limit, 'request')} ${window}, ${count(rate.remaining)} of them left now`
}

const tenantText = ({ tenant_id, requests, records }: RunPlan['tenants'][number]): string =>
  `tenant ${tenant_id}: ${plural(requests, 'request')}, ${plural(records, 'record')}`

function cursorsText(cursors: RunPlan['cursors'], terminal: Terminal): string {
  const well = cursors.filter(({ status, is_estimated }) => status === 'ok' && !is_estimated)
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
      ? table([right('tenant'), 'resource', right('requests'), right('records')], rows, terminal)
      : '',
    more > 0 ? `… and ${plural(more, 'more cursor')} with as many requests or fewer: --json lists them` : '',
    idle.length > 0
      ? `${plural(idle.length, 'cursor')} with at most one request: ${plural(read, 'record')} in all.`
      : '',
    groupsText(
      cursors.filter(({ status }) => status !== 'ok'),
      '✗',
      ({ status, error }) => error ?? status,
    ),
  ])
}

/** What is read completely once, and why that doesn't delay the rest. */
function refillsText(cursors: RunPlan['cursors']): string {
  const lists = cursors.flatMap(({ resource, refill }) => (refill ? [{ resource, ...refill }] : []))
  if (lists.length === 0) return ''
  const sum = (name: 'requests' | 'records'): number => lists.reduce((all, list) => all + list[name], 0)
  const names = [...new Set(lists.map(({ resource }) => resource))].join(', ')
  return `Of these, ${plural(sum('requests'), 'request')} and ${plural(sum('records'), 'record')} are for reading ${plural(lists.length, 'list')} in full once (${names}). That comes after everything else; if a run is cut short, a later one resumes it.`
}

const viewsText = ({ made, troubles }: ViewsMade): string =>
  [
    ...(made.length > 0 ? [`${viewChangesText(made)}.`] : []),
    ...troubles.map(({ message, hint }) => `${message}. ${hint}.`),
  ].join('\n')

const changesText = (changes: RunPlan['table_changes']): string =>
  changes.length === 0
    ? 'The tables are up to date.'
    : `Changes to the tables:\n${firstOf(changes, shownChanges, changeLine, (others) => `and ${count(others)} more`)}`
