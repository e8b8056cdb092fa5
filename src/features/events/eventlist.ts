/* `shopsync events list`: what was received, and its outcome. */
import type { Int64 } from '../../../schema/resource.js'
import { atSecond, count, span } from '../../engine/base/format.js'
import type { CommandContext } from '../../shell/command.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import { secondsBetween } from './eventview.js'
import { Inbox } from './inbox.js'

/** The JSON of one event: the columns of sync_events. */
interface ListedEvent {
  readonly tenant_id: Int64
  readonly event_id: string
  readonly resource: string
  readonly type: string | null
  readonly action: string | null
  readonly record_id: Int64 | null
  readonly version: string | null
  readonly triggered_at: string | null
  readonly received_at: string | null
  readonly deliveries: Int64 | null
  readonly state: string | null
  readonly reason: string | null
  readonly tries: Int64 | null
  readonly due_at: string | null
  readonly settled_at: string | null
  readonly run_id: string | null
}

/** The inbox of a warehouse; undefined if nobody has listened. */
async function inboxOf(context: CommandContext): Promise<Inbox | undefined> {
  const warehouse = await context.open('read')
  const { clock, invocation } = context
  const inbox = await Inbox.there(warehouse, { clock, signal: invocation.signals.signal })
  if (inbox) context.onClose(() => inbox.close())
  return inbox
}

/** Newest first; undefined if events have never been received here. */
export async function listEvents(
  context: CommandContext,
  {
    last,
    state,
    since,
    tenants,
    resources,
  }: {
    readonly last: number
    readonly state: string | undefined
    /** Received at that time or later; canonical. */
    readonly since: string | undefined
    readonly tenants: readonly Int64[] | null
    readonly resources: readonly string[] | null
  },
): Promise<ListedEvent[] | undefined> {
  const inbox = await inboxOf(context)
  return inbox?.read((db) =>
    db
      .selectFrom('sync_events')
      .selectAll()
      .$if(state !== undefined, (query) => query.where('state', '=', state ?? ''))
      .$if(since !== undefined, (query) => query.where('received_at', '>=', since ?? ''))
      .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
      .$if(resources !== null, (query) => query.where('resource', 'in', resources ?? []))
      .orderBy('received_at', 'desc')
      .orderBy('event_id')
      .orderBy('resource')
      .limit(last)
      .execute(),
  )
}

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
