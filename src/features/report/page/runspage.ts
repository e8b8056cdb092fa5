/* The page of runs: what ran, how it ended, and why. Served by `shopsync schedule`; the operator's page has its newest rows. */
import { count, span } from '../../../engine/base/format.js'
import { fromMicros } from '../../../engine/base/timestamp.js'
import { modeText } from '../../../engine/run/runreport.js'
import { groupLines } from '../../../shell/grouped.js'
import type { PastRun } from '../../runs/work.js'
import { instantInFull, instantInShort, unknownMark } from '../numberwords.js'
import { type Html, html } from './figure.js'
import { pageFrame } from './pageframe.js'
import { numberCell, rowHtml, tableHtml, wordsCell } from './pagetable.js'

export const runsHeads = [
  'started, UTC',
  ' what',
  ' outcome',
  ' took',
  'requests',
  'rate limited',
  'records read',
  'new or changed',
  'rows written',
  'rows deleted',
] as const

const mostFailures = 5

/** What went wrong in a run, in a few lines. */
function failuresOf({ error, reason, failures }: PastRun): string[] {
  const lines = groupLines(
    failures,
    ({ status, error: why, reason: code }) => `${status}: ${why ?? code ?? ''}`,
  )
  const more = lines.length - mostFailures
  return [
    ...[error ?? reason ?? ''].filter((text) => text !== ''),
    ...lines.slice(0, mostFailures),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]
}

function outcomeCell(run: PastRun): Html {
  const lines = failuresOf(run)
  const tone = run.status === 'ok' || run.status === 'running' ? '' : ' trouble'
  return html`<td class="text${tone}">${run.status ?? unknownMark}${lines.map((line) => html`<br><small>${line}</small>`)}</td>`
}

export const runRow = (run: PastRun): Html =>
  rowHtml(
    html`${run.started_at === null ? unknownMark : instantInShort(run.started_at)}<small>${run.run_id}</small>`,
    [
      wordsCell(`${run.job ?? modeText(run.mode) ?? ''}${run.shard === null ? '' : `, shard ${run.shard}`}`),
      outcomeCell(run),
      wordsCell(run.took_ms === null ? unknownMark : span(run.took_ms)),
      ...[run.requests, run.rate_limited, run.records, run.records_changed].map(numberCell),
      ...[run.rows_upserted, run.rows_deleted].map(numberCell),
    ],
  )

/** Runs beyond these are closed on a phone. */
const firstShown = 12

function tablesHtml(runs: readonly PastRun[]): Html {
  const table = (id: string, title: string, of: readonly PastRun[], caption: string): Html =>
    tableHtml({
      id,
      title,
      caption,
      heads: runsHeads,
      rows: of.map(runRow),
      nothing: 'No runs on record yet.',
    })
  const [newest, older] = [runs.slice(0, firstShown), runs.slice(firstShown)]
  const more = 'More runs: shopsync runs --last 500. Only failed ones: shopsync runs --failed.'
  if (older.length === 0) return table('runs', 'Last runs', newest, more)
  return html`${table('runs', 'Last runs', newest, '')}
<details class="part" open><summary><h2>Older runs</h2></summary>${table('older-runs', `The ${count(older.length)} runs before these`, older, more)}</details>`
}

/** The whole page as text; the newest run first. */
export const runsPage = (runs: readonly PastRun[], nowMicros: bigint): string =>
  pageFrame({
    title: 'Runs',
    header: html`<div><h1>Runs</h1><p>${instantInFull(fromMicros(nowMicros))}</p></div><nav><a href="/operations">Operations</a> <a href="/runs.json">As JSON</a></nav>`,
    main: tablesHtml(runs),
    footer: 'All times are UTC.',
  })
