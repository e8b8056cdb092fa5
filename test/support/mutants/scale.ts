/** Several machines (docs/scale.md): one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const lastrun = breaking(() => import('../../../src/engine/run/lastrun.js'))
const records = breaking(() => import('../../../src/engine/run/records.js'))
const rounds = breaking(() => import('../../../src/engine/warehouse/rounds.js'))
const shards = breaking(() => import('../../../src/features/jobs/shards.js'))
const roundnow = breaking(() => import('../../../src/features/targets/roundnow.js'))

export const scale = mutants([
  [
    'a round of a shard polls its own lists only',
    'chooses among the lists of all tenants',
    roundnow.function(
      'wantedLists',
      (sound) => (run, choice, granted) => sound({ ...run, shard: undefined }, choice, granted),
    ),
    'test/features/jobs/shards.test.ts: a round polls what is due among its own lists',
  ],
  [
    'each shard has its own run in a round',
    'asks whether the job has run, whichever shard',
    rounds.function('hasRunSince', (sound) => async (warehouse, slot, times) => {
      const all = [undefined, { index: 0, of: 2 }, { index: 1, of: 2 }, { index: 0, of: 3 }]
      const found = await Promise.all(all.map((shard) => sound(warehouse, { ...slot, shard }, times)))
      return found.includes(true)
    }),
    'test/features/jobs/shards.test.ts: a round has a slot for each shard',
  ],
  [
    'what concerns the whole warehouse is done once, after all shards',
    'each shard takes a snapshot',
    shards.function('isLeftOut', () => () => false),
    'test/features/jobs/shards.test.ts: a shard leaves out what concerns the whole warehouse',
  ],
  [
    "one shard's success doesn't hide another's failure",
    'sees the last run only',
    lastrun.function('readShardRuns', () => async () => []),
    "test/features/jobs/shards.test.ts: one shard's success doesn't hide",
  ],
  [
    'every list that a run works on is on record',
    'records the lists of one statement only',
    records.function('recordCursors', (sound) => (run, ends, mode) => sound(run, ends.slice(0, 200), mode)),
    'test/engine/run/manylists.test.ts: records every list as its document shows it',
  ],
])
