import { atSecond, count, plural, span } from '../../engine/base/format.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import type { RungByHand } from './byhand.js'
import type { ListedEvent } from './eventlist.js'
import { secondsBetween } from './eventview.js'

export const nobodyListened =
  'Nobody has received events for this warehouse yet. Type shopsync listen; docs/webhooks.md explains how to register it with the source'

const kindOf = ({ type, action }: ListedEvent): string => (type === '' ? 'by hand' : `${type} ${action}`)

function tookOf({ received_at, settled_at }: ListedEvent): string {
  const seconds = secondsBetween(received_at, settled_at)
  return seconds === null ? '' : span(seconds * 1000)
}

const stateOf = ({ state, reason }: ListedEvent): string =>
  reason === null ? `${state}` : `${state}: ${reason}`

export function eventsText(events: readonly ListedEvent[], terminal: Terminal = plainTerminal): string {
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

export function rungText({ rung, settled, waiting }: RungByHand): string {
  if (rung === 0) return 'No list was made due: the flags choose no list that is synced.'
  if (settled === rung) return `${plural(rung, 'list')} made due and read.`
  const made = `${plural(rung, 'list')} made due, ${count(settled)} read`
  if (waiting === 0) return `${made}; the others were not: shopsync events list`
  return `${made}; ${count(waiting)} still wait: shopsync events list --state waiting`
}
