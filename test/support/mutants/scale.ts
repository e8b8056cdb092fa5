/** Several processes and machines on one warehouse (docs/scale.md). */
import { sql } from 'kysely'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { storeMeta } from '../../../src/engine/warehouse/state/meta.js'
import { breaking, type Mutants } from './breakage.js'

export const scale: Mutants = {
  // Leases by shard; their tests run on Postgres, which alone has shards.
  'lets a shard begin beside a run of all tenants': () =>
    breaking('engine/warehouse/lease/holder').overlaps(
      (sound, one, other) => one === other || (one !== 'run' && other !== 'run' && sound(one, other)),
    ),
  'lets shards of another number begin beside those at work': () =>
    breaking('engine/warehouse/lease/holder', 'postgres').overlaps(
      (_sound, one, other) => one === other || one === 'run' || other === 'run',
    ),
  'fences off nobody but who held the same name': () =>
    breaking('engine/warehouse/lease/lease', 'postgres').fencedOff((sound, db) => sound(db, ['nobody'])),
  'commits without a look at the lease': () =>
    breaking('engine/warehouse/lease/fence').checkFence(async () => {}),
  'begins where its own clock is': () =>
    breaking('engine/warehouse/lease/lease').stampsFloor((_sound, _, { clock }) =>
      fromMicros(clock.nowMicros()),
    ),
  'begins another shard while a command waits for all of them': () =>
    breaking('engine/warehouse/lease/holder').isWanted(() => false),
  'takes every run without an end for one that was killed': () =>
    breaking('engine/warehouse/state/runs').isOrphan(() => sql`${sql.ref('status')} = 'running'`),
  'lets each of them ask': () =>
    breaking('engine/warehouse/state/meta').storeMetaUnless((_sound, db, { name, value }) =>
      storeMeta(db, name, value),
    ),
  'says nothing of settings that differ': () =>
    breaking('engine/warehouse/lease/oneconfiguration').RowSettings.differing(() => []),
  'waits until all shards have ended': () =>
    breaking('engine/warehouse/lease/holder').heldBy((sound, ...given) =>
      Object.assign(sound(...given), { shards: undefined }),
    ),
  'rings whatever is due': () =>
    breaking('features/events/events').dueCursors((sound, inbox, now) => sound(inbox, now)),

  // Several machines.
  'chooses among the lists of all tenants': () =>
    breaking('features/targets/roundnow').wantedLists((sound, run, choice, granted) =>
      sound({ ...run, shard: undefined }, choice, granted),
    ),
  'asks whether the job has run, whichever shard': () =>
    breaking('engine/warehouse/state/rounds').hasRunSince(async (sound, warehouse, slot, times) => {
      const all = [undefined, { index: 0, of: 2 }, { index: 1, of: 2 }, { index: 0, of: 3 }]
      const found = await Promise.all(all.map((shard) => sound(warehouse, { ...slot, shard }, times)))
      return found.includes(true)
    }),
  'each shard takes a snapshot': () => breaking('features/jobs/shards').isLeftOut(() => false),
  'sees the last run only': () => breaking('engine/run/lastrun').readShardRuns(async () => []),
  'records the lists of one statement only': () =>
    breaking('engine/run/records').recordCursors((sound, run, ends, mode) =>
      sound(run, ends.slice(0, 200), mode),
    ),

  // docs/scale.md, Workers.
  'is done with every delivery, however its run ended': () =>
    breaking('features/worker/pool').becomes(() => 'done'),
  'counts no death': () => breaking('engine/warehouse/queue/deliveryqueue').wasSilent(() => false),
  'never finds that nobody works': () =>
    breaking('engine/warehouse/queue/deliveries').unheard(() => undefined),
}
