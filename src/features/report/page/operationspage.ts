/* The operator's page: incidents, freshness, runs, the rate limit, events, quarantine and drift. All instants are UTC. */
import { count, dayOfMonth, plural, shortRequests, span } from '../../../engine/base/format.js'
import { foreignWarning } from '../../../shell/belongingwords.js'
import type { Incident } from '../../health/incident.js'
import type { Figure } from '../chart.js'
import {
  ageInWords,
  dayInShort,
  instantInFull,
  instantInShort,
  percentOfAll,
  unknownMark,
} from '../numberwords.js'
import type { OperationsData, ResourceFreshness } from '../operationsdata.js'
import { neverSynced } from '../reporttext.js'
import { type Draw, figureHtml, type Html, html, type Piece } from './figure.js'
import { pageFrame } from './pageframe.js'
import { numberCell, rowHtml, tableHtml, wordsCell } from './pagetable.js'
import { runRow, runsHeads } from './runspage.js'

const instant = (value: string | null): string => (value === null ? unknownMark : instantInShort(value))

function freshnessHtml(resources: readonly ResourceFreshness[]): Html {
  return tableHtml({
    id: 'freshness',
    title: 'Freshness by resource',
    heads: [
      'resource',
      ' complete through',
      ' deletions checked',
      'live rows',
      'proven',
      'repaired',
      'listed',
      'unproven',
      'never',
      'quarantine',
    ],
    rows: resources.map((line) =>
      rowHtml(line.resource, [
        wordsCell(instant(line.completeThrough)),
        wordsCell(instant(line.deletesCheckedAt)),
        numberCell(line.liveRows),
        ...(['proven', 'repaired', 'listed', 'unproven', 'none'] as const).map((v) =>
          numberCell(line.verdicts[v]),
        ),
        numberCell(line.quarantined),
      ]),
    ),
    caption:
      'Times are in UTC and show the tenant furthest behind. The verdicts count tenants. Proven: the counts add up. Repaired: they add up after doubtful pages were read again. Listed: read to the end, but the source’s own count is wrong. Unproven: something may be missing.',
    nothing: 'No list has been read yet.',
  })
}

/** A target is missed where most changes are late (the alert `behind_target`). */
function onTimeCell(met: number, all: number): Html {
  const tone = all === 0 ? 'none' : 2 * met < all ? 'trouble' : 10 * met < 9 * all ? 'watch' : ''
  return wordsCell(percentOfAll(met, all), tone)
}

/** How fresh each resource was; nothing without targets. */
function targetsHtml({ targets, stretched }: OperationsData): Piece {
  if (targets.length === 0) return null
  const caption =
    'A change is on time if it was stored within the target after the source changed it. Oldest poll: the list of this resource that has waited longest.'
  return tableHtml({
    id: 'targets',
    title: 'Targets, last 24 hours',
    heads: ['resource', ' target', 'changes', ' on time', ' oldest poll'],
    rows: targets.map(({ resource, tenant_id, target_seconds, met, missed, oldest_poll_at }) =>
      rowHtml(tenant_id === undefined ? resource : `${resource} of tenant ${tenant_id}`, [
        wordsCell(span(target_seconds * 1000)),
        numberCell(met + missed),
        onTimeCell(met, met + missed),
        wordsCell(instant(oldest_poll_at)),
      ]),
    ),
    caption: stretched === '' ? caption : `${caption} ${stretched}`,
    nothing: '',
  })
}

const dayTick = (day: string, index: number): string => (index % 7 === 0 ? dayOfMonth(day) : '')

function runFigures({ days }: OperationsData): readonly Figure[] {
  const over = {
    of: 'day (UTC)',
    categories: days.map(({ day }) => dayInShort(day)),
    ticks: days.map(({ day }, i) => dayTick(day, i)),
  }
  const limited = days.reduce((sum, day) => sum + day.rateLimited, 0)
  return [
    {
      id: 'runs',
      title: 'Runs by day',
      finding: '',
      definition:
        'Runs of the last 30 days by outcome. Partial: the run ended, but some of it failed or may be incomplete.',
      leftOut: [],
      chart: {
        shape: 'columns',
        unit: 'count',
        ...over,
        series: [
          { name: 'OK', color: 'blue', values: days.map(({ ok }) => ok) },
          { name: 'Partial', color: 'orange', values: days.map(({ partial }) => partial) },
          { name: 'Failed or interrupted', color: 'rust', values: days.map(({ failed }) => failed) },
        ],
      },
      extra: [],
      nothing: 'No runs on record.',
    },
    {
      id: 'requests',
      title: 'Requests and rate limit',
      finding:
        limited === 0
          ? 'No requests were refused.'
          : `${plural(limited, 'response')} said “too many requests”.`,
      definition: 'Requests sent by runs. Requests refused with status 429 were retried later.',
      leftOut: [],
      chart: {
        shape: 'columns',
        unit: 'count',
        ...over,
        series: [
          { name: 'Answered', color: 'sky', values: days.map((day) => day.requests - day.rateLimited) },
          { name: 'Rate limited', color: 'rust', values: days.map(({ rateLimited }) => rateLimited) },
        ],
      },
      extra: [],
      nothing: 'No requests on record.',
    },
  ]
}

const incidentRow = ({ kind, tenant_id, resource, since, message, advice }: Incident): Html =>
  rowHtml(kind.replaceAll('_', ' '), [
    wordsCell(tenant_id === null ? 'all' : String(tenant_id)),
    wordsCell(resource ?? 'all'),
    wordsCell(instantInShort(since)),
    wordsCell(shortRequests([message, advice].filter((text) => text !== '').join('. '))),
  ])

const incidentsHtml = (incidents: readonly Incident[]): Html =>
  tableHtml({
    id: 'incidents',
    title: incidents.length === 0 ? 'Incidents' : `Incidents: ${count(incidents.length)} open`,
    heads: ['kind', ' tenant', ' resource', ' since, UTC', ' what is wrong, and what to do'],
    rows: incidents.map(incidentRow),
    caption: '',
    nothing: 'No incident is open.',
  })

/** The state of everything, in a line. */
function headlineOf({ resources, incidents, late, oldestRead, nextRun, madeAt }: OperationsData): string {
  const sum = (of: (line: ResourceFreshness) => number): number =>
    resources.reduce((all, line) => all + of(line), 0)
  const proven = sum(({ verdicts }) => verdicts.proven + verdicts.repaired)
  return [
    `${count(proven)} of ${plural(
      sum(({ tenants }) => tenants),
      'list',
    )} proven`,
    late,
    oldestRead === null ? 'not every list has been read' : `oldest ${ageInWords(oldestRead, madeAt)}`,
    incidents.length === 0 ? 'no incident' : `${plural(incidents.length, 'incident')} open`,
    nextRun === null ? '' : `next run ${instantInShort(nextRun)} UTC`,
  ]
    .filter((words) => words !== '')
    .join(' · ')
}

const troubledHtml = ({ troubled: { all, worst } }: OperationsData): Piece =>
  all === 0
    ? null
    : tableHtml({
        id: 'tenants',
        title: `Tenants that need attention: ${count(all)}`,
        heads: ['tenant', 'lists', 'failing', 'unproven', 'stale', ' complete through, UTC'],
        rows: worst.map((line) =>
          rowHtml(line.tenant, [
            ...[line.lists, line.failing, line.unproven, line.stale].map(numberCell),
            wordsCell(instant(line.completeThrough)),
          ]),
        ),
        caption: `${all > worst.length ? `The worst ${count(worst.length)} of ${count(all)}. ` : ''}All of them: shopsync status --failing.`,
        nothing: '',
      })

const eventsHtml = (lines: readonly string[]): Piece =>
  lines.length === 0
    ? null
    : html`<section class="panel wide" aria-labelledby="events"><h3 id="events">Events</h3>${lines.map((line) => html`<p class="finding">${line}</p>`)}
<p class="caption">All events: shopsync events list.</p></section>`

const quarantineHtml = ({ quarantine }: OperationsData): Html =>
  tableHtml({
    id: 'quarantine',
    title: 'Quarantine',
    heads: ['resource', ' why', 'values', ' last seen, UTC'],
    rows: quarantine.map((line) =>
      rowHtml(line.resource, [
        wordsCell(line.reason),
        numberCell(line.values),
        wordsCell(instantInShort(line.lastSeenAt)),
      ]),
    ),
    caption: 'Values that could not be stored as the API sent them. To see them: shopsync quarantine list.',
    nothing: 'All values were stored as the API sent them.',
  })

const driftTable = ({ drift, driftSeen, driftSince }: OperationsData): Html =>
  tableHtml({
    id: 'drift',
    title: `Drift: ${count(driftSeen)} ${driftSeen === 1 ? 'kind' : 'kinds'}${driftSeen === 0 ? '' : `, ${driftSince === 0 ? 'none' : count(driftSince)} since the first load`}`,
    heads: ['resource', ' path', ' kind', ' example', ' first seen, UTC'],
    rows: drift.map((line) =>
      rowHtml(line.resource, [
        wordsCell(line.path),
        wordsCell(line.kind),
        wordsCell(line.example),
        wordsCell(instantInShort(line.firstSeenAt)),
      ]),
    ),
    caption:
      driftSeen > drift.length
        ? `Fields and values that are not in the API’s documentation: the newest ${count(drift.length)} of ${count(driftSeen)} (table sync_drift).`
        : 'Fields and values that are not in the API’s documentation.',
    nothing: 'Everything the API sends is documented.',
  })

/** What the first load saw is no news: it is folded until something else drifts. */
const driftHtml = (data: OperationsData): Piece =>
  data.driftSeen > 0 && data.driftSince === 0
    ? html`<details class="wide"><summary>Drift: ${count(data.driftSeen)} kinds, all seen by the first load</summary>${driftTable(data)}</details>`
    : driftTable(data)

const runsHtml = ({ runs }: OperationsData): Html =>
  tableHtml({
    id: 'last-runs',
    title: 'Last runs',
    heads: runsHeads,
    rows: runs.map(runRow),
    caption: 'More: shopsync runs.',
    nothing: 'No runs on record.',
  })

/** On a phone, the parts are closed. */
const part = (title: string, ...pieces: readonly Piece[]): Html =>
  html`<details class="part" open><summary><h2>${title}</h2></summary><div class="grid">${pieces}</div></details>`

/** Nothing unless the warehouse has the data of a source that isn't the configured one. */
function foreignHtml({ belongsTo }: OperationsData): Piece {
  const warning = foreignWarning(belongsTo)
  if (warning === '') return null
  return html`<section class="panel wide" aria-labelledby="source"><h3 id="source">Source</h3><p class="finding">${warning}</p></section>`
}

const bodyHtml = (data: OperationsData, draw: Draw): Html =>
  html`<p class="headline">${headlineOf(data)}</p>
${foreignHtml(data)}${incidentsHtml(data.incidents)}
${troubledHtml(data)}
${part('Freshness', freshnessHtml(data.resources), targetsHtml(data))}
${part(
  'Runs',
  runFigures(data).map((figure) => figureHtml(figure, draw, 'data')),
  runsHtml(data),
  eventsHtml(data.events),
)}
${part('Quarantine and drift', quarantineHtml(data), driftHtml(data))}`

/** Links to the other pages of `shopsync schedule`; a file has none. */
const linksHtml = html`<nav><a href="/">Shop report</a> <a href="/runs">Runs</a> <a href="/dictionary">Dictionary</a></nav>`

/** The whole page as text. `isServed`: served by `shopsync schedule`, together with its other pages. */
export function operationsPage(data: OperationsData, draw: Draw, isServed: boolean): string {
  const made = instantInFull(data.madeAt)
  return pageFrame({
    title: 'Operations',
    header: html`<div><h1>Operations</h1><p>${made}</p></div>${isServed ? linksHtml : null}`,
    main: data.isEmpty
      ? html`<article class="panel empty"><h2>No data yet</h2><p>${data.absent ?? neverSynced}</p></article>`
      : bodyHtml(data, draw),
    footer: html`Generated ${made} from ${data.warehouse}. All times are UTC. For the shops’ figures: <code>shopsync report</code>.`,
  })
}
