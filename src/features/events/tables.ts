import type { Kysely } from 'kysely'
import { id, integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/**
 * The inbox of the source's events. Its tables are made when `shopsync listen` first starts: on Postgres next to the
 * others, on SQLite in a separate file, `<file>.events`.
 */
export const eventTables = {
  sync_events: define({
    doc: 'Events received from the source, one row per cursor that an event makes due. Payloads are not kept.',
    // A source may use an id again: an event of another record or action is another event.
    key: ['tenant_id', 'event_id', 'resource', 'type', 'action', 'record_id'],
    fields: {
      tenant_id: id('Tenant.'),
      event_id: text('Id of the event; if longer than 200 characters, its SHA-256.'),
      resource: text('The resource whose cursor it makes due: its own, or one of `events.also`.'),
      type: text('`payload.type`, such as RepairOrder.'),
      action: text('`created`, `updated` or `deleted`.'),
      record_id: id('`payload.id`.'),
      version: timestamp('`updated_at` of its data; null if missing or unreadable.'),
      triggered_at: timestamp('`timestamp` of the event; null if unreadable.'),
      received_at: timestamp('When it was first received.'),
      deliveries: integer('How many times it was received.'),
      state: text(
        "`waiting`. `settled`: a walk that began after it has read its list. `deleted`: its record is confirmed gone. `exists`: it announced a deletion, but the record exists. `unseen`: its version was never seen except in the event. `ignored`: its cursor isn't synced. `left`: the next reconcile decides. `unknown`: its type or action isn't in the API documentation.",
      ),
      reason: text('Why it is still waiting or ended this way; null if that is obvious.'),
      tries: integer('Walks that did not settle it.'),
      due_at: timestamp('When its cursor is due; null if it is settled or left to the next run.'),
      settled_at: timestamp('When it was settled.'),
      run_id: text('The run that settled it.'),
    },
    indexes: [['state', 'due_at'], ['tenant_id', 'resource', 'state'], ['received_at'], ['reason']],
  }),
  sync_event_counts: define({
    doc: 'Totals of received events and their outcomes. They never decrease, even when rows are removed.',
    key: ['metric', 'labels', 'part'],
    fields: {
      metric: text(
        '`received`, `settled`, `accept_seconds` or `settle_seconds`. By day: `changes` that walks fetched while a listener ran and, of these, `unannounced` ones. `judged_through`: how far the changes of a cursor have been counted, in microseconds.',
      ),
      labels: text('Its labels, as JSON.'),
      part: text('For a histogram: the upper end of a range, or `sum`. Otherwise empty.'),
      value: integer('The total so far. Seconds are kept as microseconds.'),
    },
  }),
  sync_listeners: define({
    doc: 'Programs that receive events, and when they ran.',
    key: ['listener_id'],
    fields: {
      listener_id: text('Id of the listener.'),
      address: text('Where it listens.'),
      source: text('The source of its events: address and partner.'),
      host: text('Host it runs on.'),
      pid: integer('Its process id.'),
      trouble: text(
        'Why it accepts no events: `database`, `disk_full`, `backlog` or `certificate`; or `wrong_secret`: ten wrong secrets and no right one within ten minutes; or `turns`: events are accepted, but the lists that they make due cannot be read. null if all is well.',
      ),
      up_at: timestamp('Since when.'),
      seen_at: timestamp('When it last reported that it is alive.'),
      ended_at: timestamp('When it ended; null while it is alive, or if it died without reporting.'),
    },
  }),
} as const

export type EventDb = Kysely<Database & RowsOf<typeof eventTables>>

/** The database with these tables. */
export const withEvents = (db: Db): EventDb => db.withTables<RowsOf<typeof eventTables>>()
