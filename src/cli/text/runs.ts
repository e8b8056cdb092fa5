import { atSecond, count, firstOf, paragraphs, right, span, table } from '../../format.js'
import type { PastRun } from '../../sync/ask/runs.js'

export const noRunsText = (where: string): string =>
  `There is no warehouse at ${where} yet, and nothing has run. Type shopsync sync`

const mostFailures = 5

const number = (value: number | bigint | null): string => (value === null ? '' : count(value))

/** What kept a run from being whole, in a few lines. */
function troubleOf({ run_id, error, reason, failures }: PastRun): string {
  const what = error ?? reason
  const lines = firstOf(
    failures,
    mostFailures,
    ({ tenant_id, resource, status, error: why, reason: code }) =>
      `tenant ${tenant_id}, ${resource}: ${status}: ${why ?? code ?? 'no word of why'}`,
    (others) => `… and ${count(others)} more`,
  )
  if (what === null && failures.length === 0) return ''
  return [`${run_id}${what === null ? '' : `: ${what}`}`, lines].filter((line) => line !== '').join('\n')
}

/** The oldest first, so that the newest stands where the eye is. */
export function runsText(runs: readonly PastRun[], onlyFailed: boolean): string {
  if (runs.length === 0)
    return onlyFailed ? 'No run on record has failed.' : 'No run is on record yet. Type shopsync sync'
  const inTime = [...runs].reverse()
  const shown = table(
    [
      'run',
      'what',
      'started',
      right('took'),
      'ended',
      right('requests'),
      right('records'),
      right('rows'),
      right('deleted'),
      right('not done'),
    ],
    inTime.map((run) => [
      run.run_id,
      run.job ?? run.mode ?? '',
      run.started_at === null ? '' : atSecond(run.started_at),
      run.took_ms === null ? '' : span(run.took_ms),
      run.status ?? '',
      number(run.requests),
      count(run.records),
      number(run.rows_upserted),
      number(run.rows_deleted),
      run.failures.length === 0 ? '' : count(run.failures.length),
    ]),
  )
  return paragraphs([shown, ...inTime.map(troubleOf)])
}
