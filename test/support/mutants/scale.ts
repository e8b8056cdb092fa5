/** Several machines (docs/scale.md): one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const scale = mutants({
  'a round of a shard polls its own lists only': {
    'test/features/jobs/shards.test.ts: a round polls what is due among its own lists': {
      'chooses among the lists of all tenants': () =>
        breaking('features/targets/roundnow').wantedLists((sound, run, choice, granted) =>
          sound({ ...run, shard: undefined }, choice, granted),
        ),
    },
  },
  'each shard has its own run in a round': {
    'test/features/jobs/shards.test.ts: a round has a slot for each shard': {
      'asks whether the job has run, whichever shard': () =>
        breaking('engine/warehouse/rounds').hasRunSince(async (sound, warehouse, slot, times) => {
          const all = [undefined, { index: 0, of: 2 }, { index: 1, of: 2 }, { index: 0, of: 3 }]
          const found = await Promise.all(all.map((shard) => sound(warehouse, { ...slot, shard }, times)))
          return found.includes(true)
        }),
    },
  },
  'what concerns the whole warehouse is done once, after all shards': {
    'test/features/jobs/shards.test.ts: a shard leaves out what concerns the whole warehouse': {
      'each shard takes a snapshot': () => breaking('features/jobs/shards').isLeftOut(() => false),
    },
  },
  "one shard's success doesn't hide another's failure": {
    "test/features/jobs/shards.test.ts: one shard's success doesn't hide": {
      'sees the last run only': () => breaking('engine/run/lastrun').readShardRuns(async () => []),
    },
  },
  'every list that a run works on is on record': {
    'test/engine/run/manylists.test.ts: records every list as its document shows it': {
      'records the lists of one statement only': () =>
        breaking('engine/run/records').recordCursors((sound, run, ends, mode) =>
          sound(run, ends.slice(0, 200), mode),
        ),
    },
  },
})
