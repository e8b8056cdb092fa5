/** Leases by shard (docs/scale.md): one function is broken at a time. The tests run on Postgres, which alone has shards. */
import { sql } from 'kysely'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type * as claim from '../../../src/engine/warehouse/claim.js'
import type * as fence from '../../../src/engine/warehouse/fence.js'
import type * as leaserows from '../../../src/engine/warehouse/leaserows.js'
import type * as meta from '../../../src/engine/warehouse/meta.js'
import { storeMeta } from '../../../src/engine/warehouse/meta.js'
import type * as oneconfiguration from '../../../src/engine/warehouse/oneconfiguration.js'
import type * as runs from '../../../src/engine/warehouse/runs.js'
import type * as waiting from '../../../src/features/events/waiting.js'
import { breaking } from './breakage.js'
import type { Promised } from './promise.js'

const test = 'test/laws/shards.test.ts'
const turns = 'test/features/events/shardturns.test.ts'
const rows = breaking<typeof leaserows>('src/engine/warehouse/leaserows.ts')
const claims = breaking<typeof claim>('src/engine/warehouse/claim.ts')

export const shards: readonly Promised[] = [
  {
    promise: 'one writer a tenant',
    broken: 'lets a shard begin beside a run of all tenants',
    breakage: rows.function(
      'overlaps',
      (sound) => (one, other) => one === other || (one !== 'run' && other !== 'run' && sound(one, other)),
    ),
    test,
    name: 'of claims of all names at once, none overlap',
    on: [],
  },
  {
    promise: 'one writer a tenant',
    broken: 'lets shards of another number begin beside those at work',
    breakage: rows.function(
      'overlaps',
      () => (one, other) => one === other || one === 'run' || other === 'run',
    ),
    test,
    name: 'a shard of another number waits for those at work',
    on: [],
  },
  {
    promise: 'one writer a tenant',
    broken: 'fences off nobody but who held the same name',
    breakage: claims.function('fencedOff', (sound) => (db) => sound(db, ['nobody'])),
    test,
    name: 'a holder that slept past its lease commits nothing once',
    on: [],
  },
  {
    promise: 'one writer a tenant',
    broken: 'commits without a look at the lease',
    breakage: breaking<typeof fence>('src/engine/warehouse/fence.ts').function(
      'checkFence',
      () => async () => {},
    ),
    test: 'test/laws/shardkill.test.ts',
    name: 'the warehouse of three shards is that of one process',
    on: [],
  },
  {
    promise: "a tenant's next holder stamps later",
    broken: 'begins where its own clock is',
    breakage: claims.function(
      'stampsFloor',
      () =>
        (_, { clock }) =>
          fromMicros(clock.nowMicros()),
    ),
    test,
    name: 'the next holder of a tenant',
    on: [],
  },
  {
    promise: 'the whole warehouse gets its turn',
    broken: 'begins another shard while a command waits for all of them',
    breakage: rows.function('isWanted', () => () => false),
    test,
    name: 'while a command waits for the whole warehouse',
    on: [],
  },
  {
    promise: 'a run with a lease is no orphan',
    broken: 'takes every run without an end for one that was killed',
    breakage: breaking<typeof runs>('src/engine/warehouse/runs.ts').function(
      'isOrphan',
      () => () => sql`${sql.ref('status')} = 'running'`,
    ),
    test,
    name: 'are no orphans while they have a lease',
    on: [],
  },
  {
    promise: 'one shard asks who is granted',
    broken: 'lets each of them ask',
    breakage: breaking<typeof meta>('src/engine/warehouse/meta.ts').function(
      'storeMetaUnless',
      () =>
        (db, { name, value }) =>
          storeMeta(db, name, value),
    ),
    test,
    name: 'one of them asks who is granted',
    on: [],
  },
  {
    promise: 'shards of other configurations work beside each other',
    broken: 'says nothing of settings that differ',
    breakage: breaking<typeof oneconfiguration>('src/engine/warehouse/oneconfiguration.ts').method(
      'RowSettings',
      'differing',
      () => () => [],
    ),
    test,
    name: 'work beside each other, and say which settings differ',
    on: [],
  },
  {
    promise: 'the listener takes turns beside shards',
    broken: 'waits until all shards have ended',
    breakage: rows.function(
      'heldBy',
      (sound) =>
        (...given) =>
          Object.assign(sound(...given), { shards: undefined }),
    ),
    test: turns,
    name: 'a turn rings the other tenants',
    on: [],
  },
  {
    promise: 'a shard rings its own tenants',
    broken: 'rings whatever is due',
    breakage: breaking<typeof waiting>('src/features/events/waiting.ts').function(
      'dueCursors',
      (sound) => (inbox, now) => sound(inbox, now),
    ),
    test: turns,
    name: 'what is due in a shard at work waits for it',
    on: [],
  },
]
