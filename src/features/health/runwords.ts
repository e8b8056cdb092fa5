/* What is at work, and how it ended last, in words. */
import { ago, count, plural, since, span } from '../../engine/base/format.js'
import { modeText } from '../../engine/run/runreport.js'
import type { StatusReport } from './statusdocument.js'

export function lastRun({ last_run: run }: StatusReport, now: bigint): string {
  if (!run?.started_at) return ''
  const work = run.job ? `${run.job} (${run.mode})` : modeText(run.mode)
  const name = run.shard === null ? work : `${work}, shard ${run.shard}`
  if (run.ended_without_a_word) return run.shard === null ? `✗ ${lostRun(run, now)}` : ''
  const error = run.error ? `: ${run.error}` : ''
  return `Last run: ${name}, ${run.status}, ${ago(run.started_at, now)}${error}`
}

/** The shards whose last run was no good, and how many were. */
export function shardsText({ shards = [] }: StatusReport, now: bigint): string {
  if (shards.length === 0) return ''
  const bad = shards.filter(
    ({ status, ended_without_a_word: lost }) => lost || (status !== 'ok' && status !== 'running'),
  )
  const lines = bad.map((run) =>
    run.ended_without_a_word
      ? `✗ ${lostRun(run, now)}`
      : `✗ shard ${run.shard}: ${run.status}${run.error ? `: ${run.error}` : ''}`,
  )
  const running = shards.filter((run) => run.status === 'running' && !run.ended_without_a_word).length
  const ended = `${count(shards.length - bad.length - running)} of ${plural(shards.length, 'shard')} ended well`
  return [`Shards: ${ended}${running > 0 ? `, ${count(running)} at work` : ''}`, ...lines].join('\n')
}

export const lostRun = (
  { job, mode, shard, started_at }: NonNullable<StatusReport['last_run']>,
  now: bigint,
): string =>
  `The last run (${job ?? modeText(mode)}${shard === null ? '' : `, shard ${shard}`}, started ${started_at === null ? 'at an unknown time' : ago(started_at, now)}) died without reporting: it was killed, or its machine or the warehouse went down. What it stored is complete; the next run resumes where it stopped`

/** Whose increments stand still, and why. */
export const standingText = ({ increments_stand: lost = [] }: StatusReport, now: bigint): string =>
  lost
    .map(({ shard, command, host, since: from }) => {
      const whose = shard === null ? 'of all tenants' : `of the tenants of shard ${shard}`
      const who = `${command ?? 'a run'} on ${host}${from ? `, which began ${ago(from, now)},` : ''}`
      const flag = shard === null ? '' : ` --shard ${shard}`
      return `✗ Increments ${whose} stand still: ${who} died or is asleep. They go on when another run has taken its place: shopsync sync${flag}`
    })
    .join('\n')

/** What is writing now. */
export function lease({ lease: holder, leases = holder ? [holder] : [] }: StatusReport, now: bigint): string {
  return leases
    .map(({ since: from, command, shard, host, pid, run_id }) => {
      const age = from ? ` for ${span(since(from, now))}` : ''
      const what = `${command ?? 'a run'}${shard === null ? '' : `, shard ${shard}`}`
      return `Running${age}: ${what}, on ${host}, pid ${pid} (run ${run_id})`
    })
    .join('\n')
}
