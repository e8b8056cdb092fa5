/* Problems with events that need attention, as incidents. Pure. Used by incidents.ts. */
import { count, plural } from '../../engine/base/format.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { EventTroubles, LateCursor, OddEvents } from '../events/eventtroubles.js'
import type { ListenerView } from '../events/eventview.js'
import { listenerAdvice, listenerMessage } from '../events/listenerwords.js'
import { isUnreadable, type UnreadableInbox } from '../events/watchinbox.js'
import { adviceOf, cursorMessage } from './alerttext.js'
import { foundIncident, type KeptIncident } from './incident.js'

/** Events that stay unsettled. The cause may be a problem that stops every run. */
export const lateCause = 'late'

/** Nothing is known of the events while this lasts: what was open about them stays open. */
export const unreadableCause = 'unreadable'

export function eventIncidents(
  troubles: EventTroubles | UnreadableInbox | undefined,
  nowMicros: bigint,
): KeptIncident[] {
  if (troubles === undefined) return []
  if (isUnreadable(troubles)) return [unreadableIncident(troubles, nowMicros)]
  return [
    ...troubles.listeners.map(listenerIncident),
    ...lateIncidents(troubles.late),
    ...troubles.notListed.map((odd) => oddIncident(odd, notListed)),
    ...troubles.left.map((odd) => oddIncident(odd, left)),
  ]
}

const found = (incident: Omit<Parameters<typeof foundIncident>[0], 'kind'>): KeptIncident =>
  foundIncident({ kind: 'events', ...incident })

const unreadableIncident = ({ unreadable, advice }: UnreadableInbox, nowMicros: bigint): KeptIncident =>
  found({ since: fromMicros(nowMicros), cause: unreadableCause, message: unreadable, advice })

const listenerIncident = (listener: ListenerView): KeptIncident =>
  found({
    since: listener.seen_at,
    cause: listenerCause(listener),
    message: listenerMessage(listener),
    advice: listenerAdvice(listener),
  })

/** One incident for all cursors: what delays one of them usually delays all. */
function lateIncidents(late: readonly LateCursor[]): KeptIncident[] {
  const [oldest] = late
  if (!oldest) return []
  const { tenantId, resource, since } = oldest
  const others = late.length > 1 ? `, and ${count(late.length - 1)} more` : ''
  return [
    found({
      since,
      cause: lateCause,
      message: `Events wait too long for ${plural(late.length, 'list')}: tenant ${tenantId}, ${resource}${others}`,
      advice: adviceOf('events', { tenant_id: null, resource: null }),
    }),
  ]
}

interface Oddity {
  readonly cause: string
  readonly found: (amount: number) => string
  readonly advice: (odd: OddEvents) => string
}

const notListed: Oddity = {
  cause: 'not_listed',
  found: (amount) =>
    `events announced ${plural(amount, 'record')} that the list did not show for 13 minutes; they were fetched by id and stored`,
  advice: (odd) =>
    `${adviceOf('events', siteOf(odd))}, and ask the source's operator why its list lags or omits records`,
}

const left: Oddity = {
  cause: 'left',
  found: (amount) =>
    `events announced ${plural(amount, 'deletion')}: too many to be plausible, so the rows were left alone`,
  advice: ({ tenantId, resource }) =>
    `If that is right, type shopsync reconcile --accept-deletes --tenant ${tenantId} --resource ${resource}`,
}

const siteOf = ({ tenantId: tenant_id, resource }: OddEvents) => ({ tenant_id, resource })

const oddIncident = (odd: OddEvents, { cause, ...words }: Oddity): KeptIncident =>
  found({
    ...siteOf(odd),
    since: odd.since,
    cause,
    message: cursorMessage(siteOf(odd), words.found(odd.amount)),
    advice: words.advice(odd),
  })

const listenerCause = ({ state, trouble }: ListenerView): string =>
  state === 'lost' ? 'listener_ended' : (trouble ?? 'not_ready')
