/** What holds when the source sends events (docs/webhooks.md): one function of it is broken at a time. */

import { Stop } from '../../../src/engine/base/errors.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const parts = breaking(() => import('../../../src/engine/base/parts.js'))
const cursorhands = breaking(() => import('../../../src/engine/run/cursorhands.js'))
const deletionguard = breaking(() => import('../../../src/engine/run/deletionguard.js'))
const freshness = breaking(() => import('../../../src/engine/run/freshness.js'))
const lateness = breaking(() => import('../../../src/engine/run/lateness.js'))
const resumecursor = breaking(() => import('../../../src/engine/run/resumecursor.js'))
const stampsahead = breaking(() => import('../../../src/engine/run/stampsahead.js'))
const walkstore = breaking(() => import('../../../src/engine/run/walkstore.js'))
const ddl = breaking(() => import('../../../src/engine/warehouse/ddl.js'))
const lease = breaking(() => import('../../../src/engine/warehouse/lease.js'))
const runs = breaking(() => import('../../../src/engine/warehouse/runs.js'))
const sourceidentity = breaking(() => import('../../../src/engine/warehouse/sourceidentity.js'))
const deletedevents = breaking(() => import('../../../src/features/events/deletedevents.js'))
const inbox = breaking(() => import('../../../src/features/events/inbox.js'))
const intake = breaking(() => import('../../../src/features/events/intake.js'))
const listener = breaking(() => import('../../../src/features/events/listener.js'))
const notlisted = breaking(() => import('../../../src/features/events/notlisted.js'))
const ringmemory = breaking(() => import('../../../src/features/events/ringmemory.js'))
const ringshare = breaking(() => import('../../../src/features/events/ringshare.js'))
const secretcheck = breaking(() => import('../../../src/features/events/secretcheck.js'))
const settling = breaking(() => import('../../../src/features/events/settling.js'))
const synced = breaking(() => import('../../../src/features/events/synced.js'))
const waiting = breaking(() => import('../../../src/features/events/waiting.js'))
const connectionroom = breaking(() => import('../../../src/shell/connectionroom.js'))

export const events = mutants([
  [
    'an answered event is on disk',
    'answers before the commit',
    intake.method(
      'Intake',
      'store',
      (sound) =>
        async function (rows) {
          sound.call(this, rows).catch(() => {})
          return 0
        },
    ),
    'test/features/listen/durable.test.ts: each event that was answered 2xx is there after SIGKILL',
  ],
  [
    'an event changes no row',
    'moves the watermark to the version that an event announces',
    settling.function('beforeWalk', (sound) => async (inbox, cursor) => {
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
    'test/features/events/changesnothing.test.ts: whatever events say',
  ],
  [
    'an event is settled by a walk that started after it was received',
    'settles events that arrived before the walk ended',
    settling.function(
      'beforeWalk',
      (sound) => async (inbox, cursor) => async (floor) => (await sound(inbox, cursor))?.(floor),
    ),
    'test/features/events/settledby.test.ts: one that arrives while the walk is reading',
    'daily',
  ],
  [
    'what an event announces is looked for again',
    'accepts every version as the announced one',
    waiting.function('isOlder', () => () => false),
    'test/features/events/secondlook.test.ts: a lagging list',
  ],
  [
    'what an event announces is looked for again',
    'requests nothing by id',
    notlisted.function('askUnlisted', () => async (_cursor, _floor, rows) => ({
      absent: [],
      stored: [],
      unseen: [...rows],
      open: new Map(),
    })),
    'test/features/events/secondlook.test.ts: a list that hides a record',
  ],
  [
    'what an event announces is looked for again',
    'counts a late record fetched because of an event as in time',
    lateness.method(
      'LatenessMeter',
      'take',
      (sound) =>
        function (records, previous) {
          if (records.length > 1) sound.call(this, records, previous)
        },
    ),
    'test/features/events/secondlook.test.ts: a record that is committed ten minutes late',
  ],
  [
    'a forged event costs little',
    'treats every waiting event as due',
    waiting.function(
      'waitingOf',
      (sound) =>
        async (...given) =>
          (await sound(...given)).map((row) => ({ ...row, due_at: null })),
    ),
    'test/features/events/secondlook.test.ts: costs no more if the list is walked all the time',
  ],
  [
    'only the source confirms a deletion',
    'believes every event about a deletion',
    deletedevents.method('DeletedEvents', 'ask', () => async (rows) => ({
      notLive: [],
      deleted: rows,
      exists: [],
      open: new Map(),
    })),
    'test/features/events/deletions.test.ts: a record that exists stays',
  ],
  [
    'only the source confirms a deletion',
    'says that a record was not requested when the source refused it',
    deletedevents.function('openEvents', (sound) => (rows) => sound(rows)),
    'test/features/events/deletions.test.ts: one that the source refuses by id stays',
  ],
  [
    'only the source confirms a deletion',
    'believes any number of deletions per hour',
    deletionguard.method('DeletionGuard', 'trips', () => () => false),
    'test/features/events/deletions.test.ts: more than is believed per hour',
  ],
  [
    'an event rings only what is synced',
    'ignores which tenants and resources are granted and selected',
    synced.function(
      'isSynced',
      (sound) => (those, key) =>
        sound({ ...those, tenants: new Set([...those.tenants, key.tenantId]), unavailable: new Set() }, key),
    ),
    "test/features/events/onlysynced.test.ts: isn't requested",
  ],
  [
    'events stay in one environment',
    'accepts any secret',
    secretcheck.method('SecretCheck', 'isRight', () => () => true),
    'test/features/listen/receiver.test.ts: accepts both secrets while one replaces',
  ],
  [
    'events stay in one environment',
    "listens for another source's warehouse",
    sourceidentity.function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    'test/features/listen/environment.test.ts: so does a command that rings',
  ],
  [
    'what events cost is bounded',
    'rings a cursor for each event',
    ringmemory.method('RingMemory', 'restsUntil', () => () => 0),
    'test/features/events/bounded.test.ts: several events of a cursor cause one ring',
  ],
  [
    'what events cost is bounded',
    'rings a failing cursor as if it worked',
    ringmemory.method('RingMemory', 'failed', () => () => {}),
    'test/features/events/bounded.test.ts: a failing cursor is rung after',
  ],
  [
    'what events cost is bounded',
    'rings a cursor by what was read before its last ring ended',
    cursorhands.method('CursorHands', 'wasReleased', () => () => false),
    'test/features/events/ring.test.ts: fetches it once, if it ends between',
  ],
  [
    "a ring's way back is no overlap",
    'starts planned walks at the watermark that rings have moved',
    stampsahead.function('plannedWatermark', () => async (_cursor, believed) => believed),
    'test/features/events/overlap.test.ts: the next planned walk fetches a record that came ',
  ],
  [
    "a ring's way back is no overlap",
    'moves the watermark of planned walks with each ring',
    walkstore.function(
      'plannedAfter',
      (sound) => (walk, outcome) => sound({ ...walk, isQuick: false }, outcome),
    ),
    'test/laws/motionevents.test.ts: what comes late between rings is fetched by the next planned walk',
  ],
  [
    "a ring's way back is no overlap",
    'trusts the watermark of a warehouse without the column',
    runs.function('recordedWatermarks', () => async () => ({ planned: null, isRung: false })),
    'test/features/events/overlap.test.ts: in a warehouse without the column',
  ],
  [
    'rings measure no lateness',
    'measures lateness from the last walk of any kind',
    freshness.method(
      'Freshness',
      'columns',
      (sound) =>
        function (outcome) {
          return { ...sound.call(this, outcome), walked_at: this.walkedAt }
        },
    ),
    'test/features/events/overlap.test.ts: rings measure no lateness',
  ],
  [
    'what events cost is bounded',
    "doesn't go back further for what reconcile finds late",
    lateness.function('quickOverlapOf', (sound) => (overlap, known, resource) => {
      const walked = [...known].map(
        ([name, its]) => [name, { ...its, reconciled: { records: 0, largestMicros: 0 } }] as const,
      )
      return sound(overlap, new Map(walked), resource)
    }),
    'test/features/events/bounded.test.ts: goes back by the whole overlap',
  ],
  [
    'what events cost is bounded',
    'goes back as far as a planned walk',
    lateness.function('quickOverlapOf', () => (overlap) => (overlap === 'auto' ? 300_000 : overlap)),
    'test/features/events/bounded.test.ts: goes back by the whole overlap',
  ],
  [
    'what events cost is bounded',
    'treats a ring as a planned walk',
    resumecursor.function('isQuick', () => () => false),
    'test/features/events/bounded.test.ts: leaves the progress of a planned walk',
  ],
  [
    'what events cost is bounded',
    'counts no request that a ring has sent',
    ringshare.method('RingShare', 'begun', () => () => ({ [Symbol.dispose]: () => {} })),
    'test/features/events/bounded.test.ts: counts what a ring has sent so far',
  ],
  [
    'what events cost is bounded',
    'requests one record by id per walk',
    ringshare.method('RingShare', 'room', () => () => 0),
    'test/features/events/manyevents.test.ts: each turn settles what it has asked for',
  ],
  [
    'what events cost is bounded',
    'rings again what is left to the next run',
    waiting.function(
      'waitAgain',
      (sound) => (inbox, rows, how) =>
        sound(inbox, rows, { ...how, dueAt: how.dueAt ?? '2026-01-01T00:00:00.000000Z' }),
    ),
    'test/features/events/manyevents.test.ts: a ring that is cut short twice',
  ],
  [
    'what events cost is bounded',
    'believes the times of a host whose clock is ahead',
    waiting.function('voidFrom', () => () => '9999-12-31T00:00:00.000000Z'),
    'test/features/events/bounded.test.ts: a host whose clock is an hour ahead',
  ],
  [
    'any number of events can wait',
    'names all values in one statement',
    parts.function(
      'inParts',
      () =>
        function* (items) {
          yield [...items]
        },
    ),
    'test/features/events/manyevents.test.ts: more deletions than a statement can name',
  ],
  [
    "trouble with events is nobody else's",
    'ends the listener with a failed turn',
    listener.method(
      'Listener',
      'run',
      (sound) =>
        function (signal) {
          return sound.call(this, signal, (isFailing) => {
            if (isFailing) throw new Error('The turn failed')
          })
        },
    ),
    'test/features/events/listener.test.ts: outlives a turn that ends with any error',
  ],
  [
    "trouble with events is nobody else's",
    'fails the walk whose events cannot be settled',
    deletedevents.method(
      'DeletedEvents',
      'ask',
      (sound) =>
        function (rows) {
          return sound.call(this, rows).catch((error: Error) => {
            throw new Stop(error.message, { exitCode: 1 })
          })
        },
    ),
    'test/features/events/manyevents.test.ts: a fault while events are settled fails no run',
  ],
  [
    'every event that names something else is stored',
    'leaves the inbox of 0.2.0 with its key',
    ddl.function('growKey', () => async () => {}),
    'test/upgrade/migration.test.ts: the inbox of 0.2.0 is copied, whatever interrupts it',
    'sqlite',
  ],
  [
    'every event that names something else is stored',
    'drops an event whose id was seen before',
    inbox.method(
      'Inbox',
      'insert',
      (sound) =>
        function (rows, more) {
          return sound.call(
            this,
            rows.map((row) => ({ ...row, type: '', action: '', record_id: 0 })).slice(0, 1),
            more,
          )
        },
    ),
    'test/features/listen/receiver.test.ts: an id that was used for another record',
  ],
  [
    'a command never waits for a listener in vain',
    "doesn't notice who wants the lease",
    lease.function('wishes', () => async () => ''),
    'test/features/events/bounded.test.ts: gives the lease back as soon as someone wants it',
  ],
  [
    'a command never waits for a listener in vain',
    'waits for the lease silently',
    lease.function('wantLease', () => async () => {}),
    'test/features/events/listener.test.ts: a command that finds it at work',
  ],
  [
    'a command never waits for a listener in vain',
    'treats a listener like any other run',
    lease.function(
      'claimLease',
      (sound) =>
        (...given) =>
          sound(...given).catch((error: object) => {
            throw 'by' in error ? Object.assign(error, { by: 'run' }) : error
          }),
    ),
    'test/features/events/listener.test.ts: a command that finds it at work',
  ],
  [
    'nobody takes every connection of the receiver',
    'keeps the connections it has, and refuses newcomers',
    connectionroom.function('whoLeaves', () => () => undefined),
    'test/features/listen/connections.test.ts: one address holds every connection',
  ],
  [
    'nobody takes every connection of the receiver',
    'treats a connection that has shown the secret like any other',
    connectionroom.method('ConnectionRoom', 'trust', () => () => {}),
    'test/features/listen/connections.test.ts: one address holds every connection',
  ],
  [
    'no event of a forgotten tenant is kept',
    'asks only once in ten seconds who is forgotten',
    inbox.function('forgottenAmong', () => async () => new Set()),
    'test/features/forget/underevents.test.ts: keeps none of its events',
  ],
])
