/* How the data came: freshness by resource, runs, the rate limit, quarantine and drift. */
import { count, plural, span } from '../../../engine/base/format.js'
import type { Figure } from '../chart.js'
import type { OperationsAnswer, ResourceFreshness, RunLine } from '../data.js'
import { instantInShort, monthInShort, unknownMark } from '../numberwords.js'
import { type Draw, figureHtml, type Html, html, type Piece } from './figure.js'

const instant = (value: string | null): string => (value === null ? unknownMark : instantInShort(value))

interface TableWords {
  readonly id: string
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly Html[]
  readonly caption: string
  readonly nothing: string
}

function tableHtml({ id, title, heads, rows, caption, nothing }: TableWords): Html {
  const body = html`<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}"><table>
<thead><tr>${heads.map((head) => html`<th scope="col" class="${head.startsWith(' ') ? 'text' : ''}">${head.trim()}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section class="panel wide" aria-labelledby="${id}"><h3 id="${id}">${title}</h3>
${rows.length === 0 ? html`<p class="nothing">${nothing}</p>` : body}
<p class="caption">${caption}</p></section>`
}

const row = (head: string, cells: readonly Piece[]): Html =>
  html`<tr><th scope="row">${head}</th>${cells}</tr>`
const number = (value: number): Html => html`<td>${count(value)}</td>`
const words = (value: string): Html => html`<td class="text">${value}</td>`

function freshness(resources: readonly ResourceFreshness[]): Html {
  return tableHtml({
    id: 'freshness',
    title: 'Freshness',
    // A blank before a heading: its column holds words, and stands to the left.
    heads: [
      'kind of record',
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
      row(line.resource, [
        words(instant(line.completeThrough)),
        words(instant(line.deletesCheckedAt)),
        number(line.liveRows),
        ...(['proven', 'repaired', 'listed', 'unproven', 'none'] as const).map((v) =>
          number(line.verdicts[v]),
        ),
        number(line.quarantined),
      ]),
    ),
    caption:
      'In UTC, the oldest of all businesses. The verdicts count businesses: “proven” closes the books in one reading, “repaired” after doubtful places were read again, “listed” was read to the end of a source that does not count truly, “unproven” may lack something.',
    nothing: 'No list has been read yet.',
  })
}

const dayTick = (day: string, index: number): string =>
  index % 7 === 0 ? `${Number(day.slice(8, 10))} ${monthInShort(day).slice(0, 3)}` : ''

function runFigures({ days }: OperationsAnswer): readonly Figure[] {
  const over = {
    of: 'day (UTC)',
    categories: days.map(({ day }) => `${Number(day.slice(8, 10))} ${monthInShort(day)}`),
    ticks: days.map(({ day }, i) => dayTick(day, i)),
  }
  const limited = days.reduce((sum, day) => sum + day.rateLimited, 0)
  return [
    {
      id: 'runs',
      title: 'Runs',
      finding: '',
      definition:
        'Runs of the last 30 days by their outcome. Partial: the run came to its end, and something in it failed or may lack something.',
      leftOut: [],
      chart: {
        shape: 'columns',
        unit: 'count',
        ...over,
        series: [
          { name: 'Whole', color: 'blue', values: days.map(({ ok }) => ok) },
          { name: 'Partial', color: 'orange', values: days.map(({ partial }) => partial) },
          { name: 'Failed or cut short', color: 'rust', values: days.map(({ failed }) => failed) },
        ],
      },
      extra: [],
      nothing: 'No run is on record.',
    },
    {
      id: 'requests',
      title: 'Requests and rate limit',
      finding:
        limited === 0 ? 'No request was refused.' : `${plural(limited, 'answer')} said “too many requests”.`,
      definition: 'Requests that runs sent, and those answered with status 429, which were sent again later.',
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
      nothing: 'No request is on record.',
    },
  ]
}

const runLine = (run: RunLine): Html =>
  row(instantInShort(run.startedAt), [
    words(run.what),
    words(run.error === null ? run.status : `${run.status}: ${run.error}`),
    words(run.seconds === null ? unknownMark : span(run.seconds * 1000)),
    number(run.requests),
    number(run.rateLimited),
    number(run.rows),
  ])

export function operationsHtml(operations: OperationsAnswer, draw: Draw): Html {
  const { runs, quarantine, drift, driftSeen } = operations
  return html`<section class="part" id="operations" aria-labelledby="operations-title"><h2 id="operations-title">How the data came</h2><div class="grid">
${freshness(operations.resources)}
${runFigures(operations).map((figure) => figureHtml(figure, draw, 'data'))}
${tableHtml({
  id: 'last-runs',
  title: 'Last runs',
  heads: ['started, UTC', ' what', ' outcome', ' took', 'requests', 'rate limited', 'rows written'],
  rows: runs.map(runLine),
  caption: 'More: shopsync runs.',
  nothing: 'No run is on record.',
})}
${tableHtml({
  id: 'quarantine',
  title: 'Quarantine',
  heads: ['kind of record', ' why', 'values', ' last seen, UTC'],
  rows: quarantine.map((line) =>
    row(line.resource, [words(line.reason), number(line.values), words(instantInShort(line.lastSeenAt))]),
  ),
  caption:
    'Values that could not be stored as the API sent them. Values themselves: shopsync quarantine list.',
  nothing: 'Every value could be stored as the API sent it.',
})}
${tableHtml({
  id: 'drift',
  title: 'Drift',
  heads: ['kind of record', ' where', ' what', ' example', ' first seen, UTC'],
  rows: drift.map((line) =>
    row(line.resource, [
      words(line.path),
      words(line.kind),
      words(line.example),
      words(instantInShort(line.firstSeenAt)),
    ]),
  ),
  caption:
    driftSeen > drift.length
      ? `Fields and values that the API’s document does not show: the newest ${count(drift.length)} of ${count(driftSeen)} (table sync_drift).`
      : 'Fields and values that the API’s document does not show.',
  nothing: 'The API sends what its document shows.',
})}
</div></section>`
}
