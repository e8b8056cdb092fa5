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
    doc: 'Events of the source that were received: one row for each cursor that an event makes due. No payload is kept.',
    key: ['tenant_id', 'event_id', 'resource'],
    fields: {
      tenant_id: id('Tenant.'),
      event_id: text('Id of the event; its SHA-256 where it is longer than 200 characters.'),
      resource: text('The resource whose cursor it makes due: its own, or one of `events.also`.'),
      type: text('`payload.type`, such as RepairOrder.'),
      action: text('`created`, `updated` or `deleted`.'),
      record_id: id('`payload.id`.'),
      version: timestamp('`updated_at` of its data; null where it has none that can be read.'),
      triggered_at: timestamp('`timestamp` of the event; null where it cannot be read.'),
      received_at: timestamp('When it was first received.'),
      deliveries: integer('How often it was received.'),
      state: text(
        "`waiting`; `settled`: a walk has met it; `deleted`: its record was confirmed to be gone; `exists`: it announced a deletion, and the record is there; `unseen`: nobody but the event has seen its version; `ignored`: nobody syncs its cursor; `left`: the next reconcile decides; `unknown`: no such type or action is in the API's document.",
      ),
      reason: text('Why it still waits, or ended so; null where that is plain.'),
      tries: integer('Walks that met it and did not settle it.'),
      due_at: timestamp('When its cursor is due; null where it is settled, or left to the next run.'),
      settled_at: timestamp('When it was settled.'),
      run_id: text('The run that settled it.'),
    },
    indexes: [['state', 'due_at'], ['tenant_id', 'resource', 'state'], ['received_at'], ['reason']],
  }),
  sync_event_counts: define({
    doc: 'What was received and what became of it, as totals that do not fall when rows go.',
    key: ['metric', 'labels', 'part'],
    fields: {
      metric: text(
        '`received`, `settled`, `accept_seconds` or `settle_seconds`; by day, `changes` that walks brought while somebody listened and, of these, `unannounced` ones; `judged_through`: how far those of a cursor were judged, in microseconds.',
      ),
      labels: text('Its labels, as JSON.'),
      part: text('Of a histogram: the upper end of a range, or `sum`. Else empty.'),
      value: integer('The total so far. Seconds are kept as microseconds.'),
    },
  }),
  sync_listeners: define({
    doc: 'Programs that receive events, and from when to when.',
    key: ['listener_id'],
    fields: {
      listener_id: text('Id of the listener.'),
      address: text('Where it listens.'),
      source: text('The source whose events it receives: address and partner.'),
      host: text('Where it runs.'),
      pid: integer('Its process.'),
      trouble: text(
        'Why it takes no events: `database`, `disk_full`, `backlog`, `certificate`; or `wrong_secret`: ten wrong secrets within ten minutes, and none right. null where all is well.',
      ),
      up_at: timestamp('Since when.'),
      seen_at: timestamp('When it last said that it lives.'),
      ended_at: timestamp('When it ended; null while it lives, and where it ended without a word.'),
    },
  }),
} as const

export type EventDb = Kysely<Database & RowsOf<typeof eventTables>>

/** The database with these tables. */
export const withEvents = (db: Db): EventDb => db.withTables<RowsOf<typeof eventTables>>()
