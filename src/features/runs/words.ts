import {
  atMinute,
  atSecond,
  count,
  firstOf,
  paragraphs,
  plural,
  shortRequests,
  span,
} from '../../engine/base/format.js'
import { modeText } from '../../engine/run/runreport.js'
import { groupLines } from '../../shell/grouped.js'
import { type Ink, plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import type { PastRun } from './work.js'

const mostFailures = 5

const number = (value: number | bigint | null): string => (value === null ? '' : count(value))

/** What kept a run from being complete, in a few lines; empty if it was complete. */
function troubleOf({ error, reason, failures }: PastRun): string {
  const what = error ?? reason
  const lines = firstOf(
    groupLines(
      failures,
      ({ status, error: why, reason: code }) => `${status}: ${why ?? code ?? 'no reason given'}`,
    ),
    mostFailures,
    (line) => `✗ ${line}`,
    (others) => `… and ${count(others)} more`,
  )
  return [what === null ? '' : shortRequests(what), lines].filter((line) => line !== '').join('\n')
}

const nameOf = ({ job, mode, started_at, run_id }: PastRun): string =>
  `${job ?? modeText(mode) ?? 'run'} of ${started_at === null ? 'an unknown time' : atMinute(started_at)} (${run_id})`

/** `whole`: what the shards of a job left to it. */
const shardOf = ({ shard, mode }: PastRun): string => shard ?? (mode === 'whole' ? mode : '')

/** What failed in each run. The same failure in several runs is shown once. */
function troubles(inTime: readonly PastRun[]): string[] {
  const alike = new Map<string, PastRun[]>()
  for (const run of inTime) {
    const trouble = troubleOf(run)
    if (trouble !== '') alike.set(trouble, [...(alike.get(trouble) ?? []), run])
  }
  return [...alike].map(([trouble, runs]) => {
    const [first] = runs
    const last = runs.at(-1)
    const names =
      first && last && first !== last
        ? `${plural(runs.length, 'run')} from ${nameOf(first)} to ${nameOf(last)}`
        : first
          ? nameOf(first)
          : ''
    return `${names}:\n${trouble}`
  })
}

const inks: Readonly<Record<string, Ink>> = { ok: 'good', running: 'good', partial: 'odd' }
const statusInk = (status: string): Ink => inks[status] ?? 'bad'

/** Oldest first, so the newest is next to the prompt. */
export function runsText(
  runs: readonly PastRun[],
  onlyFailed: boolean,
  terminal: Terminal = plainTerminal,
  since?: string,
): string {
  if (runs.length === 0 && since !== undefined)
    return `No run ${onlyFailed ? 'has failed' : 'is on record'} since ${atSecond(since)}.`
  if (runs.length === 0)
    return onlyFailed ? 'No run on record has failed.' : 'No run is on record yet. Type shopsync sync'
  const inTime = [...runs].reverse()
  // A column that is empty everywhere would take room from the others.
  const hasShards = runs.some((run) => shardOf(run) !== '')
  const shown = table(
    [
      unbroken('run', { spare: 1 }),
      'what',
      ...(hasShards ? [unbroken('shard')] : []),
      unbroken('started (UTC)'),
      right('took'),
      unbroken('ended', { ink: statusInk }),
      right('requests', { spare: 3 }),
      right('new or changed'),
      right('read', { spare: 4 }),
      right('rows', { spare: 2 }),
      right('deleted', { spare: 5 }),
      right('not done'),
    ],
    inTime.map((run) => [
      run.run_id,
      run.job ?? modeText(run.mode) ?? '',
      ...(hasShards ? [shardOf(run)] : []),
      run.started_at === null ? '' : atMinute(run.started_at),
      run.took_ms === null ? '' : span(run.took_ms),
      run.status ?? '',
      number(run.requests),
      number(run.records_changed),
      count(run.records),
      number(run.rows_upserted),
      number(run.rows_deleted),
      run.failures.length === 0 ? '' : count(run.failures.length),
    ]),
    terminal,
  )
  return paragraphs([shown, ...troubles(inTime)])
}
