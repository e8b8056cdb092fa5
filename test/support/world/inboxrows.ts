/** Rows of the inbox as left by a receiver and by those who ring. Doesn't use vitest. */
import type { Insertable } from 'kysely'
import type { RowsOf } from '../../../src/engine/model/statetable.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import type { eventTables } from '../../../src/features/events/tables.js'

/** As whoever receives or settles events opens it; its tables are made if they are lacking. */
export const openInbox = (warehouse: Warehouse): Promise<Inbox> => Inbox.open(warehouse)

type EventRow = Insertable<RowsOf<typeof eventTables>['sync_events']>
type ListenerRow = Insertable<RowsOf<typeof eventTables>['sync_listeners']>

export async function putEvents(inbox: Inbox, rows: readonly Partial<EventRow>[]): Promise<void> {
  const usual = {
    tenant_id: 101,
    resource: 'repair_orders',
    type: 'RepairOrder',
    action: 'updated',
    record_id: 1,
  }
  const values = rows.map(
    (row, i): EventRow => ({
      ...usual,
      event_id: `e${i + 1}`,
      deliveries: 1,
      state: 'waiting',
      tries: 0,
      ...row,
    }),
  )
  await inbox.write([inbox.db.insertInto('sync_events').values(values).compile()])
}

export async function putListener(inbox: Inbox, row: Partial<ListenerRow>): Promise<void> {
  const usual = { listener_id: 'l1', address: 'http://127.0.0.1:8787/webhooks', host: 'here', pid: 1 }
  await inbox.write([
    inbox.db
      .insertInto('sync_listeners')
      .values({ ...usual, trouble: null, ended_at: null, ...row })
      .onConflict((conflict) => conflict.column('listener_id').doUpdateSet({ ...row }))
      .compile(),
  ])
}

/** An event that has waited in a warehouse since it was received; and a listener that has been up since then, if any. */
export async function waitingEvent(
  warehouse: Warehouse,
  event: Partial<EventRow> & { readonly received_at: string },
  listenerSince?: string,
): Promise<void> {
  const inbox = await Inbox.open(warehouse)
  await putEvents(inbox, [{ due_at: event.received_at, ...event }])
  const seen_at = new Date().toISOString().replace('Z', '000Z')
  if (listenerSince) await putListener(inbox, { up_at: listenerSince, seen_at })
  await inbox.close()
}
