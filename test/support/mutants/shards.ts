/** Leases by shard (docs/scale.md): one function is broken at a time. The tests run on Postgres, which alone has shards. */
import { sql } from 'kysely'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { storeMeta } from '../../../src/engine/warehouse/meta.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const shards = mutants({
  'one writer a tenant': {
    'test/laws/shards.test.ts: of claims of all names at once, none overlap': {
      'lets a shard begin beside a run of all tenants': () =>
        breaking('engine/warehouse/leaserows').overlaps(
          (sound, one, other) => one === other || (one !== 'run' && other !== 'run' && sound(one, other)),
        ),
    },
    'test/laws/shards.test.ts: a shard of another number waits for those at work': {
      'lets shards of another number begin beside those at work': () =>
        breaking('engine/warehouse/leaserows').overlaps(
          (_sound, one, other) => one === other || one === 'run' || other === 'run',
        ),
    },
    'test/laws/shards.test.ts: a holder that slept past its lease commits nothing once': {
      'fences off nobody but who held the same name': () =>
        breaking('engine/warehouse/claim').fencedOff((sound, db) => sound(db, ['nobody'])),
    },
    'test/laws/shardkill.test.ts: the warehouse of three shards is that of one process': {
      'commits without a look at the lease': () =>
        breaking('engine/warehouse/fence').checkFence(async () => {}),
    },
  },
  "a tenant's next holder stamps later": {
    'test/laws/shards.test.ts: the next holder of a tenant': {
      'begins where its own clock is': () =>
        breaking('engine/warehouse/claim').stampsFloor((_sound, _, { clock }) =>
          fromMicros(clock.nowMicros()),
        ),
    },
  },
  'the whole warehouse gets its turn': {
    'test/laws/shards.test.ts: while a command waits for the whole warehouse': {
      'begins another shard while a command waits for all of them': () =>
        breaking('engine/warehouse/leaserows').isWanted(() => false),
    },
  },
  'a run with a lease is no orphan': {
    'test/laws/shards.test.ts: are no orphans while they have a lease': {
      'takes every run without an end for one that was killed': () =>
        breaking('engine/warehouse/runs').isOrphan(() => sql`${sql.ref('status')} = 'running'`),
    },
  },
  'one shard asks who is granted': {
    'test/laws/shards.test.ts: one of them asks who is granted': {
      'lets each of them ask': () =>
        breaking('engine/warehouse/meta').storeMetaUnless((_sound, db, { name, value }) =>
          storeMeta(db, name, value),
        ),
    },
  },
  'shards of other configurations work beside each other': {
    'test/laws/shards.test.ts: work beside each other, and say which settings differ': {
      'says nothing of settings that differ': () =>
        breaking('engine/warehouse/oneconfiguration').RowSettings.differing(() => []),
    },
  },
  'the listener takes turns beside shards': {
    'test/features/events/listener.test.ts: a turn rings the other tenants': {
      'waits until all shards have ended': () =>
        breaking('engine/warehouse/leaserows').heldBy((sound, ...given) =>
          Object.assign(sound(...given), { shards: undefined }),
        ),
    },
  },
  'a shard rings its own tenants': {
    'test/features/events/listener.test.ts: what is due in a shard at work waits for it': {
      'rings whatever is due': () =>
        breaking('features/events/waiting').dueCursors((sound, inbox, now) => sound(inbox, now)),
    },
  },
})
