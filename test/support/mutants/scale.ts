/** Several machines (docs/scale.md): one function is broken at a time. */
import type * as lastrun from '../../../src/engine/run/lastrun.js'
import type * as records from '../../../src/engine/run/records.js'
import type * as rounds from '../../../src/engine/warehouse/rounds.js'
import type * as jobs from '../../../src/features/jobs/shards.js'
import type * as roundnow from '../../../src/features/targets/roundnow.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const test = 'test/features/jobs/shards.test.ts'

export const scale: readonly Promised[] = [
  {
    promise: 'a round of a shard polls its own lists only',
    broken: 'chooses among the lists of all tenants',
    breakage: breaking<typeof roundnow>('src/features/targets/roundnow.ts').function(
      'wantedLists',
      (sound) => (run, choice, granted) => sound({ ...run, shard: undefined }, choice, granted),
    ),
    test,
    name: 'a round polls what is due among its own lists',
    on: [],
  },
  {
    promise: 'each shard has its own run in a round',
    broken: 'asks whether the job has run, whichever shard',
    breakage: breaking<typeof rounds>('src/engine/warehouse/rounds.ts').function(
      'hasRunSince',
      (sound) => async (warehouse, slot, times) => {
        const all = [undefined, { index: 0, of: 2 }, { index: 1, of: 2 }, { index: 0, of: 3 }]
        const found = await Promise.all(all.map((shard) => sound(warehouse, { ...slot, shard }, times)))
        return found.includes(true)
      },
    ),
    test,
    name: 'a round has a slot for each shard',
    on: [],
  },
  {
    promise: 'what concerns the whole warehouse is done once, after all shards',
    broken: 'each shard takes a snapshot',
    breakage: breaking<typeof jobs>('src/features/jobs/shards.ts').function('isLeftOut', () => () => false),
    test,
    name: 'a shard leaves out what concerns the whole warehouse',
    on: [],
  },
  {
    promise: "one shard's success doesn't hide another's failure",
    broken: 'sees the last run only',
    breakage: breaking<typeof lastrun>('src/engine/run/lastrun.ts').function(
      'readShardRuns',
      () => async () => [],
    ),
    test,
    name: "one shard's success doesn't hide",
    on: [],
  },
  {
    promise: 'every list that a run works on is on record',
    broken: 'records the lists of one statement only',
    breakage: breaking<typeof records>('src/engine/run/records.ts').function(
      'recordCursors',
      (sound) => (run, ends, mode) => sound(run, ends.slice(0, 200), mode),
    ),
    test: 'test/engine/run/manylists.test.ts',
    name: 'records every list as its document shows it',
    on: both,
  },
]
