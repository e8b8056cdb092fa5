/* `shopsync events list`: what was received, and its outcome. */
import { atSecond, count, span } from '../../engine/base/format.js'
import type { CommandContext } from '../../shell/command.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import { type EventRow, listEvents, secondsBetween } from './events.js'
import { Inbox } from './inbox.js'

/** undefined if events have never been received here. */
export async function receivedEvents(
  context: CommandContext,
  filter: Parameters<typeof listEvents>[1],
): Promise<EventRow[] | undefined> {
  const warehouse = await context.open('read')
  const { clock, invocation } = context
  const inbox = await Inbox.there(warehouse, { clock, signal: invocation.signals.signal })
  if (inbox) context.onClose(() => inbox.close())
  return inbox && listEvents(inbox, filter)
}

export const nobodyListened =
  'Nobody has received events for this warehouse yet. Type shopsync listen; docs/webhooks.md explains how to register it with the source'

const kindOf = ({ type, action }: EventRow): string => (type === '' ? 'by hand' : `${type} ${action}`)

function tookOf({ received_at, settled_at }: EventRow): string {
  const seconds = secondsBetween(received_at, settled_at)
  return seconds === null ? '' : span(seconds * 1000)
}

const stateOf = ({ state, reason }: EventRow): string =>
  reason === null ? `${state}` : `${state}: ${reason}`

export function eventsText(events: readonly EventRow[], terminal: Terminal = plainTerminal): string {
  if (events.length === 0) return 'No events found.'
  return table(
    [
      unbroken('received'),
      right('tenant'),
      'list',
      'event',
      right('record'),
      'state',
      right('after', { spare: 1 }),
      right('times', { spare: 2 }),
    ],
    events.map((event) => [
      event.received_at === null ? '' : atSecond(event.received_at),
      String(event.tenant_id),
      event.resource,
      kindOf(event),
      String(event.record_id ?? ''),
      stateOf(event),
      tookOf(event),
      count(event.deliveries ?? 1),
    ]),
    terminal,
  )
}
