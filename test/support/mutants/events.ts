/** What holds when the source sends events (docs/webhooks.md): one function of it is broken at a time. */

import { Stop } from '../../../src/engine/base/errors.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const events = mutants({
  'an answered event is on disk': {
    'test/features/listen/durable.test.ts: each event that was answered 2xx is there after SIGKILL': {
      'answers before the commit': () =>
        breaking('features/events/intake').Intake.store(async (sound, rows) => {
          sound(rows).catch(() => {})
          return 0
        }),
    },
  },
  'an event changes no row': {
    'test/features/events/changesnothing.test.ts: whatever events say': {
      'moves the watermark to the version that an event announces': () =>
        breaking('features/events/settling').beforeWalk(async (sound, inbox, cursor) => {
          const rows = await inbox.read((db) => db.selectFrom('sync_events').select('version').execute())
          const watermark = rows
            .map(({ version }) => version ?? '')
            .sort()
            .at(-1)
          const after = await sound(inbox, cursor)
          return async (floor) => {
            await after?.(floor)
            if (!watermark) return
            const { db } = cursor.warehouse
            await cursor.warehouse.write([db.updateTable('sync_cursors').set({ watermark }).compile()])
          }
        }),
    },
  },
  'an event is settled by a walk that started after it was received': {
    'test/features/events/became.test.ts: one that arrives while the walk is reading': {
      'settles events that arrived before the walk ended': () =>
        breaking('features/events/settling', 'daily').beforeWalk(
          async (sound, inbox, cursor) => async (floor) => (await sound(inbox, cursor))?.(floor),
        ),
    },
  },
  'what an event announces is looked for again': {
    'test/features/events/became.test.ts: a lagging list': {
      'accepts every version as the announced one': () =>
        breaking('features/events/waiting').isOlder(() => false),
    },
    'test/features/events/became.test.ts: a list that hides a record': {
      'requests nothing by id': () =>
        breaking('features/events/notlisted').askUnlisted(async (_sound, _cursor, _floor, rows) => ({
          absent: [],
          stored: [],
          unseen: [...rows],
          open: new Map(),
        })),
    },
    'test/features/events/became.test.ts: a record that is committed ten minutes late': {
      'counts a late record fetched because of an event as in time': () =>
        breaking('engine/run/lateness').LatenessMeter.take((sound, records, previous) => {
          if (records.length > 1) sound(records, previous)
        }),
    },
  },
  'a forged event costs little': {
    'test/features/events/became.test.ts: a list that is walked all the time': {
      'treats every waiting event as due': () =>
        breaking('features/events/waiting').waitingOf(async (sound, ...given) =>
          (await sound(...given)).map((row) => ({ ...row, due_at: null })),
        ),
    },
  },
  'only the source confirms a deletion': {
    'test/features/events/became.test.ts: a deletion of a record that exists': {
      'believes every event about a deletion': () =>
        breaking('features/events/deletedevents').DeletedEvents.ask(async (_sound, rows) => ({
          notLive: [],
          deleted: rows,
          exists: [],
          open: new Map(),
        })),
    },
    'test/features/events/became.test.ts: one that the source refuses by id stays': {
      'says that a record was not requested when the source refused it': () =>
        breaking('features/events/deletedevents').openEvents((sound, rows) => sound(rows)),
    },
    'test/features/events/became.test.ts: more deletions than are believed per hour': {
      'believes any number of deletions per hour': () =>
        breaking('engine/run/deletionguard').DeletionGuard.trips(() => false),
    },
  },
  'an event rings only what is synced': {
    'test/features/events/became.test.ts: none of a tenant or a resource that is not known': {
      'ignores which tenants and resources are granted and selected': () =>
        breaking('features/events/synced').isSynced((sound, those, key) =>
          sound(
            { ...those, tenants: new Set([...those.tenants, key.tenantId]), unavailable: new Set() },
            key,
          ),
        ),
    },
  },
  'events stay in one environment': {
    'test/features/listen/receiver.test.ts: accepts both secrets while one replaces': {
      'accepts any secret': () => breaking('features/events/secretcheck').SecretCheck.isRight(() => true),
    },
    'test/features/listen/environment.test.ts: so does a command that rings': {
      "listens for another source's warehouse": () =>
        breaking('engine/warehouse/sourceidentity').checkSourceIdentity((sound, warehouse, asked) =>
          sound(warehouse, asked).catch(() => undefined),
        ),
    },
  },
  'what events cost is bounded': {
    'test/features/events/bounded.test.ts: several events of a cursor cause one ring': {
      'rings a cursor for each event': () =>
        breaking('features/events/ringmemory').RingMemory.restsUntil(() => 0),
    },
    'test/features/events/bounded.test.ts: a failing cursor is rung after': {
      'rings a failing cursor as if it worked': () =>
        breaking('features/events/ringmemory').RingMemory.failed(() => {}),
    },
    'test/features/events/bounded.test.ts: is fetched once, if its ring ends between': {
      'rings a cursor by what was read before its last ring ended': () =>
        breaking('engine/run/cursorhands').CursorHands.wasReleased(() => false),
    },
    'test/features/events/bounded.test.ts: goes back by the whole overlap': {
      "doesn't go back further for what reconcile finds late": () =>
        breaking('engine/run/lateness').quickOverlapOf((sound, overlap, known, resource) => {
          const walked = [...known].map(
            ([name, its]) => [name, { ...its, reconciled: { records: 0, largestMicros: 0 } }] as const,
          )
          return sound(overlap, new Map(walked), resource)
        }),
      'goes back as far as a planned walk': () =>
        breaking('engine/run/lateness').quickOverlapOf((_sound, overlap) =>
          overlap === 'auto' ? 300_000 : overlap,
        ),
    },
    "test/features/events/bounded.test.ts: keeps no progress, and leaves a planned walk's": {
      'treats a ring as a planned walk': () => breaking('engine/run/resumecursor').isQuick(() => false),
    },
    'test/features/events/bounded.test.ts: counts what a ring has sent so far': {
      'counts no request that a ring has sent': () =>
        breaking('features/events/ringshare').RingShare.begun(() => ({ [Symbol.dispose]: () => {} })),
    },
    'test/features/events/bounded.test.ts: each turn settles what it has asked for': {
      'requests one record by id per walk': () =>
        breaking('features/events/ringshare').RingShare.room(() => 0),
    },
    'test/features/events/bounded.test.ts: a ring that is cut short twice': {
      'rings again what is left to the next run': () =>
        breaking('features/events/waiting').waitAgain((sound, inbox, rows, how) =>
          sound(inbox, rows, { ...how, dueAt: how.dueAt ?? '2026-01-01T00:00:00.000000Z' }),
        ),
    },
    'test/features/events/bounded.test.ts: a host whose clock is an hour ahead': {
      'believes the times of a host whose clock is ahead': () =>
        breaking('features/events/waiting').voidFrom(() => '9999-12-31T00:00:00.000000Z'),
    },
  },
  "a ring's way back is no overlap": {
    'test/features/events/overlap.test.ts: the next planned walk fetches a record that came ': {
      'starts planned walks at the watermark that rings have moved': () =>
        breaking('engine/run/stampsahead').plannedWatermark(async (_sound, _cursor, believed) => believed),
    },
    'test/laws/motionevents.test.ts: what comes late between rings is fetched by the next planned walk': {
      'moves the watermark of planned walks with each ring': () =>
        breaking('engine/run/walkstore').plannedAfter((sound, walk, outcome) =>
          sound({ ...walk, isQuick: false }, outcome),
        ),
    },
    'test/features/events/overlap.test.ts: in a warehouse without the column': {
      'trusts the watermark of a warehouse without the column': () =>
        breaking('engine/warehouse/runs').recordedWatermarks(async () => ({ planned: null, isRung: false })),
    },
  },
  'rings measure no lateness': {
    'test/features/events/overlap.test.ts: rings measure no lateness': {
      'measures lateness from the last walk of any kind': () =>
        breaking('engine/run/freshness').Freshness.columns(function (sound, outcome) {
          return { ...sound(outcome), walked_at: this.walkedAt }
        }),
    },
  },
  'any number of events can wait': {
    'test/features/events/bounded.test.ts: more deletions than a statement can name': {
      'names all values in one statement': () =>
        breaking('engine/base/parts').inParts(function* (_sound, items) {
          yield [...items]
        }),
    },
  },
  "trouble with events is nobody else's": {
    'test/features/events/listener.test.ts: outlives a turn that ends with any error': {
      'ends the listener with a failed turn': () =>
        breaking('features/events/listener').Listener.run((sound, signal) =>
          sound(signal, (isFailing) => {
            if (isFailing) throw new Error('The turn failed')
          }),
        ),
    },
    'test/features/events/bounded.test.ts: a fault while events are settled fails no run': {
      'fails the walk whose events cannot be settled': () =>
        breaking('features/events/deletedevents').DeletedEvents.ask((sound, rows) =>
          sound(rows).catch((error: Error) => {
            throw new Stop(error.message, { exitCode: 1 })
          }),
        ),
    },
  },
  'every event that names something else is stored': {
    'test/upgrade/migration.test.ts: the inbox of 0.2.0 is copied, whatever interrupts it': {
      'leaves the inbox of 0.2.0 with its key': () =>
        breaking('engine/warehouse/ddl', 'sqlite').growKey(async () => {}),
    },
    'test/features/listen/receiver.test.ts: an id that was used for another record': {
      'drops an event whose id was seen before': () =>
        breaking('features/events/inbox').Inbox.insert((sound, rows, more) =>
          sound(rows.map((row) => ({ ...row, type: '', action: '', record_id: 0 })).slice(0, 1), more),
        ),
    },
  },
  'a command never waits for a listener in vain': {
    'test/features/events/bounded.test.ts: gives the lease back as soon as someone wants it': {
      "doesn't notice who wants the lease": () => breaking('engine/warehouse/lease').wishes(async () => ''),
    },
    'test/features/events/listener.test.ts: a command that finds it at work': {
      'waits for the lease silently': () => breaking('engine/warehouse/lease').wantLease(async () => {}),
      'treats a listener like any other run': () =>
        breaking('engine/warehouse/lease').claimLease((sound, ...given) =>
          sound(...given).catch((error: object) => {
            throw 'by' in error ? Object.assign(error, { by: 'run' }) : error
          }),
        ),
    },
  },
  'nobody takes every connection of the receiver': {
    'test/features/listen/connections.test.ts: one address holds every connection': {
      'keeps the connections it has, and refuses newcomers': () =>
        breaking('shell/connectionroom').whoLeaves(() => undefined),
      'treats a connection that has shown the secret like any other': () =>
        breaking('shell/connectionroom').ConnectionRoom.trust(() => {}),
    },
  },
  'no event of a forgotten tenant is kept': {
    'test/features/forget/underevents.test.ts: keeps none of its events': {
      'asks only once in ten seconds who is forgotten': () =>
        breaking('features/events/inbox').forgottenAmong(async () => new Set()),
    },
  },
})
