/* The text of `plan` and `status` about targets. */
import { atMinute, count, plural, span } from '../../engine/base/format.js'
import type { Rate } from '../plan/forecast.js'
import { type FreshnessPlan, mostChanges, type ResourceFreshnessStatus } from './freshnessplan.js'
import { durationText } from './settings.js'
import type { StretchedBound } from './stretchedbound.js'

const percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)}%`

/** How many resources are named one by one. */
const namedResources = 3

/** What to expect under the rate limit. */
export function freshnessPlanText(plan: FreshnessPlan, rate: Rate | null): string {
  const needs = `Freshness: for ${percent(mostChanges)} of changes to arrive within their targets, runs need ${plural(plan.needed_for_most, 'request')} an hour; for all of them, always, ${count(plan.needed_for_all)}.`
  const { window, share } = plan
  const hours = span(plan.longest_wait_seconds * 1000)
  if (window === null || share === null)
    return `${needs}\nNo rate limit is known: every list is polled when it is due.`
  const named = plan.resources.slice(0, namedResources)
  const rest = plan.resources.length > named.length
  const list = named.map(
    (one) => `${one.resource} ${durationText(one.target_seconds * 1000)} ${percent(one.share ?? 0)}`,
  )
  return [
    needs,
    `The rate limit gives ${count(window)} an hour${rate ? ` (${limitText(rate)})` : ''}: ${percent(share)} of changes should arrive within target.`,
    `  ${[...list, ...(rest ? [`${plan.resources.length - named.length} more: --json`] : [])].join(', ')}. Longest wait of any list: ${hours}.`,
    ...(plan.stretched ? [stretchedText({ ...plan, window })] : []),
  ].join('\n')
}

/** How the source counts, as its headers tell. */
const limitText = ({ limit, window_seconds: seconds, counted_by: by }: Rate): string =>
  `${count(limit)} ${seconds === 60 ? 'a minute' : `in ${span(seconds * 1000)}`}${by === null ? '' : `, counted by ${by}`}`

/** What a too small rate limit means for the lists that are polled least. */
export const stretchedText = ({
  lists,
  needed_for_bound,
  window,
  longest_wait_seconds,
}: StretchedBound): string =>
  `✗ Polling each of ${plural(lists, 'list')} within polling.atLeast needs a rate limit of ${plural(needed_for_bound, 'request')} an hour, and there are ${count(window)}: some lists wait ${span(longest_wait_seconds * 1000)}. Set a longer polling.atLeast, or ask the source's operator for a larger limit.`

/** How fresh each resource was in the last 24 hours. */
export function freshnessStatusText(resources: readonly ResourceFreshnessStatus[] | undefined): string {
  if (!resources || resources.length === 0) return ''
  const lines = resources.map(({ resource, target_seconds, met, missed, oldest_poll_at: oldest }) => {
    const share =
      met + missed === 0
        ? 'no changes'
        : `${percent(met / (met + missed))} of ${plural(met + missed, 'change')} in time`
    const poll = oldest === null ? 'never polled' : `oldest poll ${atMinute(oldest)}`
    return `  ${resource} ${durationText(target_seconds * 1000)}: ${share}, ${poll}`
  })
  return ['Targets, last 24 hours:', ...lines].join('\n')
}
