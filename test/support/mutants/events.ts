/** What holds when the source sends events (docs/webhooks.md): one function of it is broken at a time. */

import { Stop } from '../../../src/engine/base/errors.js'
import type * as parts from '../../../src/engine/base/parts.js'
import type * as cursorHands from '../../../src/engine/run/cursorhands.js'
import type * as guard from '../../../src/engine/run/deletionguard.js'
import type * as freshness from '../../../src/engine/run/freshness.js'
import type * as lateness from '../../../src/engine/run/lateness.js'
import type * as resume from '../../../src/engine/run/resumecursor.js'
import type * as stampsAhead from '../../../src/engine/run/stampsahead.js'
import type * as walkEnd from '../../../src/engine/run/walkstore.js'
import type * as ddl from '../../../src/engine/warehouse/ddl.js'
import type * as leases from '../../../src/engine/warehouse/lease.js'
import type * as runs from '../../../src/engine/warehouse/runs.js'
import type * as identity from '../../../src/engine/warehouse/sourceidentity.js'
import type * as deletions from '../../../src/features/events/deletedevents.js'
import type * as inboxes from '../../../src/features/events/inbox.js'
import type * as intake from '../../../src/features/events/intake.js'
import type * as listeners from '../../../src/features/events/listener.js'
import type * as notlisted from '../../../src/features/events/notlisted.js'
import type * as rings from '../../../src/features/events/ringmemory.js'
import type * as shares from '../../../src/features/events/ringshare.js'
import type * as secrets from '../../../src/features/events/secretcheck.js'
import type * as settling from '../../../src/features/events/settling.js'
import type * as synced from '../../../src/features/events/synced.js'
import type * as waiting from '../../../src/features/events/waiting.js'
import type * as room from '../../../src/shell/connectionroom.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const secondLook = 'test/features/events/secondlook.test.ts'
const deleted = 'test/features/events/deletions.test.ts'
const bounded = 'test/features/events/bounded.test.ts'
const overlap = 'test/features/events/overlap.test.ts'
const settled = 'test/features/events/settledby.test.ts'
const many = 'test/features/events/manyevents.test.ts'
const settlingFile = 'src/features/events/settling.ts'
const waitingFile = 'src/features/events/waiting.ts'
const ringsFile = 'src/features/events/ringmemory.ts'

export const events: readonly Promised[] = [
  {
    promise: 'an answered event is on disk',
    broken: 'answers before the commit',
    breakage: breaking<typeof intake>('src/features/events/intake.ts').method(
      'Intake',
      'store',
      (sound) =>
        async function (rows) {
          sound.call(this, rows).catch(() => {})
          return 0
        },
    ),
    test: 'test/features/listen/durable.test.ts',
    name: 'each event that was answered 2xx is there after SIGKILL',
    on: both,
  },
  {
    promise: 'an event changes no row',
    broken: 'moves the watermark to the version that an event announces',
    breakage: breaking<typeof settling>(settlingFile).function(
      'beforeWalk',
      (sound) => async (inbox, cursor) => {
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
      },
    ),
    test: 'test/features/events/changesnothing.test.ts',
    name: 'whatever events say',
    on: both,
  },
  {
    promise: 'an event is settled by a walk that started after it was received',
    broken: 'settles events that arrived before the walk ended',
    breakage: breaking<typeof settling>(settlingFile).function(
      'beforeWalk',
      (sound) => async (inbox, cursor) => async (floor) => (await sound(inbox, cursor))?.(floor),
    ),
    test: settled,
    name: 'one that arrives while the walk is reading',
    on: both,
  },
  {
    promise: 'what an event announces is looked for again',
    broken: 'accepts every version as the announced one',
    breakage: breaking<typeof waiting>(waitingFile).function('isOlder', () => () => false),
    test: secondLook,
    name: 'a lagging list',
    on: both,
  },
  {
    promise: 'what an event announces is looked for again',
    broken: 'requests nothing by id',
    breakage: breaking<typeof notlisted>('src/features/events/notlisted.ts').function(
      'askUnlisted',
      () => async (_cursor, _floor, rows) => ({ absent: [], stored: [], unseen: [...rows], open: new Map() }),
    ),
    test: secondLook,
    name: 'a list that hides a record',
    on: both,
  },
  {
    promise: 'what an event announces is looked for again',
    broken: 'counts a late record fetched because of an event as in time',
    breakage: breaking<typeof lateness>('src/engine/run/lateness.ts').method(
      'LatenessMeter',
      'take',
      (sound) =>
        function (records, previous) {
          if (records.length > 1) sound.call(this, records, previous)
        },
    ),
    test: secondLook,
    name: 'a record that is committed ten minutes late',
    on: both,
  },
  {
    promise: 'a forged event costs little',
    broken: 'treats every waiting event as due',
    breakage: breaking<typeof waiting>(waitingFile).function(
      'waitingOf',
      (sound) =>
        async (...given) =>
          (await sound(...given)).map((row) => ({ ...row, due_at: null })),
    ),
    test: secondLook,
    name: 'costs no more if the list is walked all the time',
    on: both,
  },
  {
    promise: 'only the source confirms a deletion',
    broken: 'believes every event about a deletion',
    breakage: breaking<typeof deletions>('src/features/events/deletedevents.ts').method(
      'DeletedEvents',
      'ask',
      () => async (rows) => ({ notLive: [], deleted: rows, exists: [], open: new Map() }),
    ),
    test: deleted,
    name: 'a record that exists stays',
    on: both,
  },
  {
    promise: 'only the source confirms a deletion',
    broken: 'says that a record was not requested when the source refused it',
    breakage: breaking<typeof deletions>('src/features/events/deletedevents.ts').function(
      'openEvents',
      (sound) => (rows) => sound(rows),
    ),
    test: deleted,
    name: 'one that the source refuses by id stays',
    on: both,
  },
  {
    promise: 'only the source confirms a deletion',
    broken: 'believes any number of deletions per hour',
    breakage: breaking<typeof guard>('src/engine/run/deletionguard.ts').method(
      'DeletionGuard',
      'trips',
      () => () => false,
    ),
    test: deleted,
    name: 'more than is believed per hour',
    on: both,
  },
  {
    promise: 'an event rings only what is synced',
    broken: 'ignores which tenants and resources are granted and selected',
    breakage: breaking<typeof synced>('src/features/events/synced.ts').function(
      'isSynced',
      (sound) => (those, key) =>
        sound({ ...those, tenants: new Set([...those.tenants, key.tenantId]), unavailable: new Set() }, key),
    ),
    test: 'test/features/events/onlysynced.test.ts',
    name: "isn't requested",
    on: both,
  },
  {
    promise: 'events stay in one environment',
    broken: 'accepts any secret',
    breakage: breaking<typeof secrets>('src/features/events/secretcheck.ts').method(
      'SecretCheck',
      'isRight',
      () => () => true,
    ),
    test: 'test/features/listen/receiver.test.ts',
    name: 'accepts both secrets while one replaces',
    on: both,
  },
  {
    promise: 'events stay in one environment',
    broken: "listens for another source's warehouse",
    breakage: breaking<typeof identity>('src/engine/warehouse/sourceidentity.ts').function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    test: 'test/features/listen/environment.test.ts',
    name: 'so does a command that rings',
    on: [],
  },
  {
    promise: 'what events cost is bounded',
    broken: 'rings a cursor for each event',
    breakage: breaking<typeof rings>(ringsFile).method('RingMemory', 'restsUntil', () => () => 0),
    test: bounded,
    name: 'several events of a cursor cause one ring',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'rings a failing cursor as if it worked',
    breakage: breaking<typeof rings>(ringsFile).method('RingMemory', 'failed', () => () => {}),
    test: bounded,
    name: 'a failing cursor is rung after',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'rings a cursor by what was read before its last ring ended',
    breakage: breaking<typeof cursorHands>('src/engine/run/cursorhands.ts').method(
      'CursorHands',
      'wasReleased',
      () => () => false,
    ),
    test: 'test/features/events/ring.test.ts',
    name: 'fetches it once, if it ends between',
    on: both,
  },
  {
    promise: "a ring's way back is no overlap",
    broken: 'starts planned walks at the watermark that rings have moved',
    breakage: breaking<typeof stampsAhead>('src/engine/run/stampsahead.ts').function(
      'plannedWatermark',
      () => async (_cursor, believed) => believed,
    ),
    test: overlap,
    name: 'the next planned walk fetches a record that came ',
    on: both,
  },
  {
    promise: "a ring's way back is no overlap",
    broken: 'moves the watermark of planned walks with each ring',
    breakage: breaking<typeof walkEnd>('src/engine/run/walkstore.ts').function(
      'plannedAfter',
      (sound) => (walk, outcome) => sound({ ...walk, isQuick: false }, outcome),
    ),
    test: 'test/laws/motionevents.test.ts',
    name: 'what comes late between rings is fetched by the next planned walk',
    on: both,
  },
  {
    promise: "a ring's way back is no overlap",
    broken: 'trusts the watermark of a warehouse without the column',
    breakage: breaking<typeof runs>('src/engine/warehouse/runs.ts').function(
      'recordedWatermarks',
      () => async () => ({ planned: null, isRung: false }),
    ),
    test: overlap,
    name: 'in a warehouse without the column',
    on: both,
  },
  {
    promise: 'rings measure no lateness',
    broken: 'measures lateness from the last walk of any kind',
    breakage: breaking<typeof freshness>('src/engine/run/freshness.ts').method(
      'Freshness',
      'columns',
      (sound) =>
        function (outcome) {
          return { ...sound.call(this, outcome), walked_at: this.walkedAt }
        },
    ),
    test: overlap,
    name: 'rings measure no lateness',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: "doesn't go back further for what reconcile finds late",
    breakage: breaking<typeof lateness>('src/engine/run/lateness.ts').function(
      'quickOverlapOf',
      (sound) => (overlap, known, resource) => {
        const walked = [...known].map(
          ([name, its]) => [name, { ...its, reconciled: { records: 0, largestMicros: 0 } }] as const,
        )
        return sound(overlap, new Map(walked), resource)
      },
    ),
    test: bounded,
    name: 'goes back by the whole overlap',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'goes back as far as a planned walk',
    breakage: breaking<typeof lateness>('src/engine/run/lateness.ts').function(
      'quickOverlapOf',
      () => (overlap) => (overlap === 'auto' ? 300_000 : overlap),
    ),
    test: bounded,
    name: 'goes back by the whole overlap',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'treats a ring as a planned walk',
    breakage: breaking<typeof resume>('src/engine/run/resumecursor.ts').function(
      'isQuick',
      () => () => false,
    ),
    test: bounded,
    name: 'leaves the progress of a planned walk',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'counts no request that a ring has sent',
    breakage: breaking<typeof shares>('src/features/events/ringshare.ts').method(
      'RingShare',
      'begun',
      () => () => ({ [Symbol.dispose]: () => {} }),
    ),
    test: bounded,
    name: 'counts what a ring has sent so far',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'requests one record by id per walk',
    breakage: breaking<typeof shares>('src/features/events/ringshare.ts').method(
      'RingShare',
      'room',
      () => () => 0,
    ),
    test: many,
    name: 'each turn settles what it has asked for',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'rings again what is left to the next run',
    breakage: breaking<typeof waiting>(waitingFile).function(
      'waitAgain',
      (sound) => (inbox, rows, how) =>
        sound(inbox, rows, { ...how, dueAt: how.dueAt ?? '2026-01-01T00:00:00.000000Z' }),
    ),
    test: many,
    name: 'a ring that is cut short twice',
    on: both,
  },
  {
    promise: 'what events cost is bounded',
    broken: 'believes the times of a host whose clock is ahead',
    breakage: breaking<typeof waiting>(waitingFile).function(
      'voidFrom',
      () => () => '9999-12-31T00:00:00.000000Z',
    ),
    test: bounded,
    name: 'a host whose clock is an hour ahead',
    on: both,
  },
  {
    promise: 'any number of events can wait',
    broken: 'names all values in one statement',
    breakage: breaking<typeof parts>('src/engine/base/parts.ts').function(
      'inParts',
      () =>
        function* (items) {
          yield [...items]
        },
    ),
    test: many,
    name: 'more deletions than a statement can name',
    on: both,
  },
  {
    promise: "trouble with events is nobody else's",
    broken: 'ends the listener with a failed turn',
    breakage: breaking<typeof listeners>('src/features/events/listener.ts').method(
      'Listener',
      'run',
      (sound) =>
        function (signal) {
          return sound.call(this, signal, (isFailing) => {
            if (isFailing) throw new Error('The turn failed')
          })
        },
    ),
    test: 'test/features/events/listener.test.ts',
    name: 'outlives a turn that ends with any error',
    on: both,
  },
  {
    promise: "trouble with events is nobody else's",
    broken: 'fails the walk whose events cannot be settled',
    breakage: breaking<typeof deletions>('src/features/events/deletedevents.ts').method(
      'DeletedEvents',
      'ask',
      (sound) =>
        function (rows) {
          return sound.call(this, rows).catch((error: Error) => {
            throw new Stop(error.message, { exitCode: 1 })
          })
        },
    ),
    test: many,
    name: 'a fault while events are settled fails no run',
    on: both,
  },
  {
    promise: 'every event that names something else is stored',
    broken: 'leaves the inbox of 0.2.0 with its key',
    breakage: breaking<typeof ddl>('src/engine/warehouse/ddl.ts').function('growKey', () => async () => {}),
    test: 'test/upgrade/migration.test.ts',
    name: 'the inbox of 0.2.0 is copied, whatever interrupts it',
    on: ['sqlite'],
  },
  {
    promise: 'every event that names something else is stored',
    broken: 'drops an event whose id was seen before',
    breakage: breaking<typeof inboxes>('src/features/events/inbox.ts').method(
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
    test: 'test/features/listen/receiver.test.ts',
    name: 'an id that was used for another record',
    on: both,
  },
  {
    promise: 'a command never waits for a listener in vain',
    broken: "doesn't notice who wants the lease",
    breakage: breaking<typeof leases>('src/engine/warehouse/lease.ts').function(
      'wishes',
      () => async () => '',
    ),
    test: bounded,
    name: 'gives the lease back as soon as someone wants it',
    on: both,
  },
  {
    promise: 'a command never waits for a listener in vain',
    broken: 'waits for the lease silently',
    breakage: breaking<typeof leases>('src/engine/warehouse/lease.ts').function(
      'wantLease',
      () => async () => {},
    ),
    test: 'test/features/events/listener.test.ts',
    name: 'a command that finds it at work',
    on: both,
  },
  {
    promise: 'a command never waits for a listener in vain',
    broken: 'treats a listener like any other run',
    breakage: breaking<typeof leases>('src/engine/warehouse/lease.ts').function(
      'claimLease',
      (sound) =>
        (...given) =>
          sound(...given).catch((error: object) => {
            throw 'by' in error ? Object.assign(error, { by: 'run' }) : error
          }),
    ),
    test: 'test/features/events/listener.test.ts',
    name: 'a command that finds it at work',
    on: both,
  },
  {
    promise: 'nobody takes every connection of the receiver',
    broken: 'keeps the connections it has, and refuses newcomers',
    breakage: breaking<typeof room>('src/shell/connectionroom.ts').function(
      'whoLeaves',
      () => () => undefined,
    ),
    test: 'test/features/listen/connections.test.ts',
    name: 'one address holds every connection',
    on: [],
  },
  {
    promise: 'nobody takes every connection of the receiver',
    broken: 'treats a connection that has shown the secret like any other',
    breakage: breaking<typeof room>('src/shell/connectionroom.ts').method(
      'ConnectionRoom',
      'trust',
      () => () => {},
    ),
    test: 'test/features/listen/connections.test.ts',
    name: 'one address holds every connection',
    on: [],
  },
  {
    promise: 'no event of a forgotten tenant is kept',
    broken: 'asks only once in ten seconds who is forgotten',
    breakage: breaking<typeof inboxes>('src/features/events/inbox.ts').function(
      'forgottenAmong',
      () => async () => new Set(),
    ),
    test: 'test/features/forget/underevents.test.ts',
    name: 'keeps none of its events',
    on: both,
  },
]
