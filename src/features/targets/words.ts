/* The text of `plan` and `status` about targets. */
import type { Int64 } from '../../../schema/resource.js'
import { atMinute, count, plural, span } from '../../engine/base/format.js'
import { durationText } from '../../engine/config/targetsection.js'
import type { Rate } from '../../engine/source/rate/knownrate.js'
import { type FreshnessPlan, mostChanges, type ResourceFreshnessStatus } from './freshnessplan.js'
import type { StretchedBound } from './stretchedbound.js'

const percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)}%`

/** A resource, or the list of a tenant with a target of its own. */
const nameOf = ({
  resource,
  tenant_id,
}: {
  readonly resource: string
  readonly tenant_id?: Int64 | undefined
}): string => (tenant_id === undefined ? resource : `${resource} of tenant ${tenant_id}`)

/** How many resources are named one by one. */
const namedResources = 3

/** What the targets take. The configuration may have targets only for resources that this plan leaves out. */
function needsText({ lists, resources, needed_for_most: most, needed_for_all: all }: FreshnessPlan): string {
  if (resources.length === 0)
    return `Freshness: none of ${plural(lists, 'list')} has a target; polling each within polling.atLeast needs ${plural(all, 'request')} an hour.`
  return `Freshness: for ${percent(mostChanges)} of changes to arrive within their targets, runs need ${plural(most, 'request')} an hour; for all of them, always, ${count(all)}.`
}

/** What to expect under the rate limit. */
export function freshnessPlanText(plan: FreshnessPlan, rate: Rate | null): string {
  const needs = needsText(plan)
  const { window, share, resources } = plan
  if (window === null) return `${needs}\nNo rate limit is known: every list is polled when it is due.`
  const named = resources.slice(0, namedResources).map((one) => {
    const target = durationText(one.target_seconds * 1000)
    return `${nameOf(one)} ${target} ${percent(one.share ?? 0)}`
  })
  const more = resources.length - named.length
  const list = [...named, ...(more > 0 ? [`${more} more: --json`] : [])].join(', ')
  const met = share === null ? '' : `: ${percent(share)} of changes should arrive within target`
  return [
    needs,
    `The rate limit gives ${count(window)} an hour${rate ? ` (${limitText(rate)})` : ''}${met}.`,
    `  ${list === '' ? '' : `${list}. `}Longest wait of any list: ${span(plan.longest_wait_seconds * 1000)}.`,
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

/** How many lists with targets of their own are shown, the worst first. */
const shownOwn = 10

/** Those that missed most, by their share; then those that have waited longest. */
const worstFirst = (resources: readonly ResourceFreshnessStatus[]): readonly ResourceFreshnessStatus[] => {
  const share = ({ met, missed }: ResourceFreshnessStatus): number =>
    met + missed === 0 ? 1 : met / (met + missed)
  const wait = ({ oldest_poll_seconds: age, target_seconds }: ResourceFreshnessStatus): number =>
    (age ?? 0) / target_seconds
  return resources.toSorted((a, b) => share(a) - share(b) || wait(b) - wait(a))
}

/** How fresh each resource was in the last 24 hours. */
export function freshnessStatusText(resources: readonly ResourceFreshnessStatus[] | undefined): string {
  if (!resources || resources.length === 0) return ''
  const own = resources.filter(({ tenant_id }) => tenant_id !== undefined)
  const all = resources.filter(({ tenant_id }) => tenant_id === undefined)
  const shown = own.length > shownOwn ? worstFirst(own).slice(0, shownOwn) : own
  const lines = [...all, ...shown].map(({ target_seconds, met, missed, oldest_poll_at: oldest, ...list }) => {
    const share =
      met + missed === 0
        ? 'no changes'
        : `${percent(met / (met + missed))} of ${plural(met + missed, 'change')} in time`
    const poll = oldest === null ? 'never polled' : `oldest poll ${atMinute(oldest)}`
    return `  ${nameOf(list)} ${durationText(target_seconds * 1000)}: ${share}, ${poll}`
  })
  const more = own.length - shown.length
  const rest =
    more > 0 ? [`  … and ${plural(more, 'more list')} of single tenants: shopsync status --json`] : []
  return ['Targets, last 24 hours:', ...lines, ...rest].join('\n')
}
