/* The incidents that are open, in words. Used by `shopsync status`. */
import { since as ageOf, atSecond, plural, span } from '../../format.js'
import type { OpenIncident } from '../../sync/ask/openincidents.js'

const shown = 5

/** A line each: which kind, since when, and what was found, which names tenant and resource. */
export function incidentsText(incidents: readonly OpenIncident[], nowMicros: bigint): string {
  if (incidents.length === 0) return ''
  const lines = incidents
    .slice(0, shown)
    .map(
      ({ kind, since, message }) =>
        `✗ ${kind} since ${atSecond(since)} (${span(Math.max(0, ageOf(since, nowMicros)))}): ${message}`,
    )
  const rest = incidents.length - shown
  const more = rest > 0 ? [`… and ${rest} more: shopsync status --json`] : []
  return [`Open: ${plural(incidents.length, 'incident')}`, ...lines, ...more].join('\n  ')
}
