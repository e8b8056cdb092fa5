/* What happens to a received event: which cursors it makes due, or why none. */
import type { Int64 } from '../../../schema/resource.js'
import type { EventRow } from './events.js'
import type { ReceiverCall, SyncedNow } from './threadmessages.js'
import type { ReceivedEvent } from './understand.js'

export type EventRowToStore = Pick<
  EventRow,
  'tenant_id' | 'event_id' | 'resource' | 'type' | 'action' | 'record_id' | 'version' | 'triggered_at'
> & {
  readonly received_at: string
  readonly state: 'waiting' | 'ignored' | 'unknown'
  readonly reason: string | null
  readonly due_at: string | null
  readonly settled_at: string | null
}

const actions: ReadonlySet<string> = new Set(['created', 'updated', 'deleted'])

type Known = Pick<ReceiverCall, 'resources' | 'also'>

/** The 12 types and 3 actions of the API documentation; all others share one label in the counts. */
export const isDocumented = ({ resources }: Known, { type, action }: ReceivedEvent): boolean =>
  resources.has(type) && actions.has(action)

/** Why a cursor can't be made due; undefined if it can. */
function whyIgnored(synced: SyncedNow, tenantId: Int64, resource: string): string | undefined {
  if (!synced.tenants.has(tenantId)) return 'tenant_not_synced'
  // A list that isn't offered yet may be by the time of the ring, which finds out.
  return synced.resources.has(resource) ? undefined : 'resource_not_synced'
}

/** `at`: canonical timestamp of its receipt. */
export function judge(
  event: ReceivedEvent,
  known: Known,
  synced: SyncedNow,
  at: string,
): {
  /** The outcome of an event, as it is counted. */
  readonly judgement: 'stored' | 'ignored' | 'unknown' | 'unknown_tenant' | 'forgotten'
  readonly rows: readonly EventRowToStore[]
} {
  const { tenantId, type, action } = event
  // A refusal might disable the address for everyone, so an event of an unknown tenant is accepted but not stored.
  if (synced.forgotten.has(tenantId)) return { judgement: 'forgotten', rows: [] }
  if (!synced.known.has(tenantId)) return { judgement: 'unknown_tenant', rows: [] }
  const own = {
    tenant_id: tenantId,
    event_id: event.id,
    type,
    action,
    record_id: event.recordId,
    version: event.version,
    triggered_at: event.triggeredAt,
    received_at: at,
  }
  const waiting = { state: 'waiting', reason: null, due_at: at, settled_at: null } as const
  const over = { due_at: null, settled_at: at } as const
  const resource = known.resources.get(type)
  if (resource === undefined || !actions.has(action))
    return { judgement: 'unknown', rows: [{ ...own, ...over, resource: '', state: 'unknown', reason: null }] }
  const reason = whyIgnored(synced, tenantId, resource)
  const first: EventRowToStore =
    reason === undefined
      ? { ...own, ...waiting, resource }
      : { ...own, ...over, resource, state: 'ignored', reason }
  const besides = (known.also.get(resource) ?? []).filter(
    (name) => name !== resource && whyIgnored(synced, tenantId, name) === undefined,
  )
  const rows = [first, ...besides.map((name) => ({ ...own, ...waiting, resource: name }))]
  return { judgement: rows.some(({ state }) => state === 'waiting') ? 'stored' : 'ignored', rows }
}
