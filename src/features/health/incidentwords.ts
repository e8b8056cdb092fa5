/* The open incidents in words. Used by `shopsync status`. */
import type { Int64 } from '../../../schema/resource.js'
import { since as ageOf, atSecond, count, plural, shortRequests, span } from '../../engine/base/format.js'
import { groupLine, troubleGroups } from '../../shell/grouped.js'
import type { Incident } from './incident.js'

const shown = 5

const isOfCursor = (
  incident: Incident,
): incident is Incident & { readonly tenant_id: Int64; readonly resource: string } =>
  incident.tenant_id !== null && incident.resource !== null

/** A message begins with its tenant and resource. If several share it, they come before the sentence. */
const sentenceOf = ({ kind, message }: Incident): string =>
  `${kind}: ${message.replace(/^tenant \S+, [^:\s]+: /, '')}`

interface Told {
  readonly since: string
  readonly kind: string
  readonly text: string
}

function toldOf(incidents: readonly Incident[]): Told[] {
  const alone = incidents.filter((incident) => !isOfCursor(incident))
  const groups = troubleGroups(incidents.filter(isOfCursor), sentenceOf)
  return [
    ...alone.map(({ since, kind, message }) => ({ since, kind, text: shortRequests(message) })),
    ...groups.map((group) => {
      const kind = group.cursors[0]?.kind ?? ''
      const [since = ''] = group.cursors.map((one) => one.since).toSorted()
      return { since, kind, text: groupLine(group).replace(`: ${kind}: `, ': ') }
    }),
  ].toSorted((a, b) => (a.since < b.since ? -1 : 1))
}

const lineOf = ({ since, kind, text }: Told): string => `${kind} since ${atSecond(since)}: ${text}`

/** The same without marks, for people who see nothing else of the status. */
export const incidentTroubles = (incidents: readonly Incident[]): string[] =>
  toldOf(incidents).map((told) => `open: ${lineOf(told)}`)

/** One line per problem: its kind, since when, who has it, and what was found. */
export function incidentsText(incidents: readonly Incident[], nowMicros: bigint): string {
  if (incidents.length === 0) return ''
  const told = toldOf(incidents)
  const lines = told
    .slice(0, shown)
    .map(
      ({ since, kind, text }) =>
        `✗ ${kind} since ${atSecond(since)} (${span(Math.max(0, ageOf(since, nowMicros)))}): ${text}`,
    )
  const rest = told.length - shown
  const more = rest > 0 ? [`… and ${count(rest)} more: shopsync status --json`] : []
  return [`Open: ${plural(incidents.length, 'incident')}`, ...lines, ...more].join('\n  ')
}
