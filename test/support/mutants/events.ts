/** What holds when the source sends events (docs/webhooks.md). */
import { Stop } from '../../../src/engine/base/errors.js'
import { breaking, type Mutants } from './breakage.js'

export const events: Mutants = {
  'answers before the commit': () =>
    breaking('features/events/intake').Intake.store(async (sound, rows) => {
      sound(rows).catch(() => {})
      return 0
    }),
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
  'settles events that arrived before the walk ended': () =>
    breaking('features/events/settling', 'daily').beforeWalk(
      async (sound, inbox, cursor) => async (floor) => (await sound(inbox, cursor))?.(floor),
    ),
  'accepts every version as the announced one': () => breaking('features/events/events').isOlder(() => false),
  'requests nothing by id': () =>
    breaking('features/events/notlisted').askUnlisted(async (_sound, _cursor, _floor, rows) => ({
      absent: [],
      stored: [],
      unseen: [...rows],
      open: new Map(),
    })),
  'counts a late record fetched because of an event as in time': () =>
    breaking('engine/run/lateness').LatenessMeter.take((sound, records, previous) => {
      if (records.length > 1) sound(records, previous)
    }),
  'treats every waiting event as due': () =>
    breaking('features/events/events').waitingOf(async (sound, ...given) =>
      (await sound(...given)).map((row) => ({ ...row, due_at: null })),
    ),
  'believes every event about a deletion': () =>
    breaking('features/events/deletedevents').DeletedEvents.ask(async (_sound, rows) => ({
      notLive: [],
      deleted: rows,
      exists: [],
      open: new Map(),
    })),
  'says that a record was not requested when the source refused it': () =>
    breaking('features/events/deletedevents').openEvents((sound, rows) => sound(rows)),
  'believes any number of deletions per hour': () =>
    breaking('engine/run/deletionguard').DeletionGuard.trips(() => false),
  'ignores which tenants and resources are granted and selected': () =>
    breaking('features/events/synced').isSynced((sound, those, key) =>
      sound({ ...those, tenants: new Set([...those.tenants, key.tenantId]), unavailable: new Set() }, key),
    ),
  'accepts any secret': () => breaking('features/events/secretcheck').SecretCheck.isRight(() => true),
  "listens for another source's warehouse": () =>
    breaking('engine/warehouse/state/sourceidentity').checkSourceIdentity((sound, warehouse, asked) =>
      sound(warehouse, asked).catch(() => undefined),
    ),
  'rings a cursor for each event': () =>
    breaking('features/events/ringmemory').RingMemory.restsUntil(() => 0),
  'rings a failing cursor as if it worked': () =>
    breaking('features/events/ringmemory').RingMemory.failed(() => {}),
  'rings a cursor by what was read before its last ring ended': () =>
    breaking('engine/run/cursorhands').CursorHands.wasReleased(() => false),
  "doesn't go back further for what reconcile finds late": () =>
    breaking('engine/run/lateness').quickOverlapOf((sound, overlap, known, resource) => {
      const walked = [...known].map(
        ([name, its]) => [name, { ...its, reconciled: { records: 0, largestMicros: 0 } }] as const,
      )
      return sound(overlap, new Map(walked), resource)
    }),
  'treats a ring as a planned walk': () => breaking('engine/run/resumecursor').isQuick(() => false),
  'counts no request that a ring has sent': () =>
    breaking('features/events/ringshare').RingShare.begun(() => ({ [Symbol.dispose]: () => {} })),
  'requests one record by id per walk': () => breaking('features/events/ringshare').RingShare.room(() => 0),
  'rings again what is left to the next run': () =>
    breaking('features/events/events').waitAgain((sound, inbox, rows, how) =>
      sound(inbox, rows, { ...how, dueAt: how.dueAt ?? '2026-01-01T00:00:00.000000Z' }),
    ),
  'believes the times of a host whose clock is ahead': () =>
    breaking('features/events/events').voidFrom(() => '9999-12-31T00:00:00.000000Z'),
  'starts planned walks at the watermark that rings have moved': () =>
    breaking('engine/run/stampsahead').plannedWatermark(async (_sound, _cursor, believed) => believed),
  'moves the watermark of planned walks with each ring': () =>
    breaking('engine/run/walkstore').plannedAfter((sound, walk, outcome) =>
      sound({ ...walk, isQuick: false }, outcome),
    ),
  'trusts the watermark of a warehouse without the column': () =>
    breaking('engine/warehouse/state/runcursors').recordedWatermarks(async () => ({
      planned: null,
      isRung: false,
    })),
  'measures lateness from the last walk of any kind': () =>
    breaking('engine/run/freshness').Freshness.columns(function (sound, outcome) {
      return { ...sound(outcome), walked_at: this.walkedAt }
    }),
  'names all values in one statement': () =>
    breaking('engine/base/parts').inParts(function* (_sound, items) {
      yield [...items]
    }),
  'ends the listener with a failed turn': () =>
    breaking('features/events/listener').Listener.run((sound, signal) =>
      sound(signal, (isFailing) => {
        if (isFailing) throw new Error('The turn failed')
      }),
    ),
  'fails the walk whose events cannot be settled': () =>
    breaking('features/events/deletedevents').DeletedEvents.ask((sound, rows) =>
      sound(rows).catch((error: Error) => {
        throw new Stop(error.message, { exitCode: 1 })
      }),
    ),
  'leaves the inbox of 0.2.0 with its key': () =>
    breaking('engine/warehouse/layout/ddl', 'sqlite').growKey(async () => {}),
  'drops an event whose id was seen before': () =>
    breaking('features/events/inbox').Inbox.insert((sound, rows, more) =>
      sound(rows.map((row) => ({ ...row, type: '', action: '', record_id: 0 })).slice(0, 1), more),
    ),
  "doesn't notice who wants the lease": () => breaking('engine/warehouse/lease/lease').wishes(async () => ''),
  'waits for the lease silently': () => breaking('engine/warehouse/lease/lease').wantLease(async () => {}),
  'keeps the connections it has, and refuses newcomers': () =>
    breaking('shell/connectionroom').whoLeaves(() => undefined),
  'asks only once in ten seconds who is forgotten': () =>
    breaking('features/events/inbox').forgottenAmong(async () => new Set()),
}
