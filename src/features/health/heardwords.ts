/* What was heard from the source, in the words of `shopsync status`. */
import { ago, atSecond, count, plural, since, span } from '../../engine/base/format.js'
import type { EventsStatus } from '../events/eventview.js'
import { listenerMessage } from '../events/listenerwords.js'
import { isUnreadable, type UnreadableInbox } from '../events/watchinbox.js'

export function heardText(events: EventsStatus | UnreadableInbox | undefined, nowMicros: bigint): string {
  if (events === undefined) return ''
  if (isUnreadable(events)) return `✗ ${events.unreadable}. ${events.advice}`
  return [
    `${listenerText(events, nowMicros)}${dueText(events, nowMicros)}`,
    todayText(events),
    unannouncedText(events),
  ]
    .filter((line) => line !== '')
    .join('\n  ')
}

function listenerText({ listener, last_received_at: last }: EventsStatus, nowMicros: bigint): string {
  const lately = last === null ? ', none yet' : `, last one ${ago(last, nowMicros)}`
  if (listener === null) return `events: no listener${lately}`
  if (listener.state === 'listening')
    return `events: listening since ${clockTime(listener.since, nowMicros)}${lately}`
  if (listener.state === 'ended')
    return `events: no listener since ${clockTime(listener.ended_at ?? listener.seen_at, nowMicros)}${lately}`
  return `✗ events: ${listenerMessage(listener)}${lately}`
}

/** Leaves out the date if it is today. */
function clockTime(moment: string, nowMicros: bigint): string {
  const whole = atSecond(moment)
  const isToday = since(`${moment.slice(0, 10)}T00:00:00.000000Z`, nowMicros) < 86_400_000
  return isToday ? `${whole.slice(11, 16)} UTC` : whole
}

function dueText({ due_cursors: due, due_since: first, waiting }: EventsStatus, nowMicros: bigint): string {
  if (due > 0) {
    const age = first === null ? '' : `, the oldest for ${span(Math.max(0, since(first, nowMicros)))}`
    return `; ${plural(due, 'cursor')} due${age}`
  }
  return waiting > 0 ? `; ${plural(waiting, 'event')} waiting for a later look` : ''
}

function todayText({ today }: EventsStatus): string {
  if (today.received === 0) return ''
  const again = today.received_again > 0 ? ` (${count(today.received_again)} more than once)` : ''
  const after =
    today.settled_after_seconds === null ? '' : ` (median ${span(today.settled_after_seconds * 1000)})`
  const deletions = today.deletions > 0 ? `, ${plural(today.deletions, 'deletion')}` : ''
  return `today (UTC) ${count(today.received)} received${again}, ${count(today.settled)} settled${after}${deletions}`
}

function unannouncedText({ unannounced }: EventsStatus): string {
  const found = unannounced.filter((one) => one.unannounced > 0)
  if (found.length === 0) return ''
  const parts = found.map(
    ({ resource, changes, unannounced: silent }) => `${resource} ${count(silent)} of ${count(changes)}`,
  )
  return `found by syncs in 30 days without an event: ${parts.join(', ')}`
}
