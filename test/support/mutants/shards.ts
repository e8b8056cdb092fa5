/** Leases by shard (docs/scale.md): one function is broken at a time. The tests run on Postgres, which alone has shards. */
import { sql } from 'kysely'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { storeMeta } from '../../../src/engine/warehouse/meta.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const fence = breaking(() => import('../../../src/engine/warehouse/fence.js'))
const meta = breaking(() => import('../../../src/engine/warehouse/meta.js'))
const oneconfiguration = breaking(() => import('../../../src/engine/warehouse/oneconfiguration.js'))
const runs = breaking(() => import('../../../src/engine/warehouse/runs.js'))
const waiting = breaking(() => import('../../../src/features/events/waiting.js'))

const rows = breaking(() => import('../../../src/engine/warehouse/leaserows.js'))
const claims = breaking(() => import('../../../src/engine/warehouse/claim.js'))

export const shards = mutants([
  [
    'one writer a tenant',
    'lets a shard begin beside a run of all tenants',
    rows.function(
      'overlaps',
      (sound) => (one, other) => one === other || (one !== 'run' && other !== 'run' && sound(one, other)),
    ),
    'test/laws/shards.test.ts: of claims of all names at once, none overlap',
  ],
  [
    'one writer a tenant',
    'lets shards of another number begin beside those at work',
    rows.function('overlaps', () => (one, other) => one === other || one === 'run' || other === 'run'),
    'test/laws/shards.test.ts: a shard of another number waits for those at work',
  ],
  [
    'one writer a tenant',
    'fences off nobody but who held the same name',
    claims.function('fencedOff', (sound) => (db) => sound(db, ['nobody'])),
    'test/laws/shards.test.ts: a holder that slept past its lease commits nothing once',
  ],
  [
    'one writer a tenant',
    'commits without a look at the lease',
    fence.function('checkFence', () => async () => {}),
    'test/laws/shardkill.test.ts: the warehouse of three shards is that of one process',
  ],
  [
    "a tenant's next holder stamps later",
    'begins where its own clock is',
    claims.function(
      'stampsFloor',
      () =>
        (_, { clock }) =>
          fromMicros(clock.nowMicros()),
    ),
    'test/laws/shards.test.ts: the next holder of a tenant',
  ],
  [
    'the whole warehouse gets its turn',
    'begins another shard while a command waits for all of them',
    rows.function('isWanted', () => () => false),
    'test/laws/shards.test.ts: while a command waits for the whole warehouse',
  ],
  [
    'a run with a lease is no orphan',
    'takes every run without an end for one that was killed',
    runs.function('isOrphan', () => () => sql`${sql.ref('status')} = 'running'`),
    'test/laws/shards.test.ts: are no orphans while they have a lease',
  ],
  [
    'one shard asks who is granted',
    'lets each of them ask',
    meta.function(
      'storeMetaUnless',
      () =>
        (db, { name, value }) =>
          storeMeta(db, name, value),
    ),
    'test/laws/shards.test.ts: one of them asks who is granted',
  ],
  [
    'shards of other configurations work beside each other',
    'says nothing of settings that differ',
    oneconfiguration.method('RowSettings', 'differing', () => () => []),
    'test/laws/shards.test.ts: work beside each other, and say which settings differ',
  ],
  [
    'the listener takes turns beside shards',
    'waits until all shards have ended',
    rows.function(
      'heldBy',
      (sound) =>
        (...given) =>
          Object.assign(sound(...given), { shards: undefined }),
    ),
    'test/features/events/shardturns.test.ts: a turn rings the other tenants',
  ],
  [
    'a shard rings its own tenants',
    'rings whatever is due',
    waiting.function('dueCursors', (sound) => (inbox, now) => sound(inbox, now)),
    'test/features/events/shardturns.test.ts: what is due in a shard at work waits for it',
  ],
])
