/** What runs after a run (docs/after.md): one function is broken at a time. */
import { systemClock } from '../../../src/engine/base/clock.js'
import type * as section from '../../../src/engine/config/thensection.js'
import { openLease } from '../../../src/engine/warehouse/openlease.js'
import type * as changes from '../../../src/features/then/changes.js'
import type * as work from '../../../src/features/then/following.js'
import type * as telling from '../../../src/features/then/tellentries.js'
import type * as turn from '../../../src/features/then/tellingturn.js'
import type * as deliver from '../../../src/shell/deliverto.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const test = 'test/features/then/then.test.ts'

export const following: readonly Promised[] = [
  {
    promise: 'what runs after a run misses no change',
    broken: 'counts what was refused as told',
    breakage: breaking<typeof deliver>('src/shell/deliverto.ts').function(
      'deliverTo',
      (sound) =>
        async (...given) => ({ ...(await sound(...given)), delivered: true }),
    ),
    test,
    name: 'one that fails changes no row',
    on: both,
  },
  {
    promise: 'what runs after a run misses no change',
    broken: 'looks only at what the run itself reports',
    breakage: breaking<typeof changes>('src/features/then/changes.ts').function(
      'readChanges',
      (sound) => async (warehouse, range) => {
        const found = await sound(warehouse, range)
        return found.worst === null || range.from === null ? found : { ...found, lists: [] }
      },
    ),
    test,
    name: 'the next run tells what a killed one stored',
    on: both,
  },
  {
    promise: 'what runs after a run misses no change',
    broken: 'tells an entry that has accepted nothing only what comes from now on',
    breakage: breaking<typeof changes>('src/features/then/changes.ts').function(
      'readChanges',
      (sound) => (warehouse, range) => sound(warehouse, { ...range, from: range.from ?? range.through }),
    ),
    test,
    name: 'is told everything if it has accepted nothing',
    on: both,
  },
  {
    promise: 'what runs after a run misses no change',
    broken: 'takes rings that are told for covered, wherever the range ends',
    breakage: breaking<typeof changes>('src/features/then/changes.ts').function(
      'readChanges',
      (sound) => async (warehouse, range) => {
        const { rung } = await sound(warehouse, { ...range, through: '9' })
        return { ...(await sound(warehouse, range)), rung }
      },
    ),
    test: 'test/features/then/rings.test.ts',
    name: 'what a listener told before its range covered it',
    on: both,
  },
  {
    promise: 'a run that changed nothing is not told',
    broken: 'takes what the overlap shows again for a change',
    breakage: breaking<typeof changes>('src/features/then/changes.ts').function(
      'readChanges',
      (sound) => async (warehouse, range) => {
        const found = await sound(warehouse, range)
        const read = { tenant_id: 101, resource: 'notes', rows_upserted: 1, rows_deleted: 0 }
        return found.lists.length > 0 ? found : { ...found, lists: [read] }
      },
    ),
    test,
    name: 'is told what changed, and only that',
    on: both,
  },
  {
    promise: 'what runs after a run is told each change once, also by two runs that end at once',
    broken: 'tells without waiting for its turn',
    breakage: breaking<typeof turn>('src/features/then/tellingturn.ts').function(
      'inTurn',
      () => async (_context, _warehouse, _patience, work) => await work(),
    ),
    test,
    name: 'of two runs that end at once',
    on: both,
  },
  {
    promise: 'what runs after a run starts no other',
    broken: 'tells runs that it started itself',
    breakage: breaking<typeof telling>('src/features/then/tellentries.ts').function(
      'isNested',
      () => () => false,
    ),
    test,
    name: 'is told after the runs that it names',
    on: both,
  },
  {
    promise: 'what runs after a run keeps no other waiting',
    broken: 'runs under the lease',
    breakage: breaking<typeof work>('src/features/then/following.ts').function(
      'followWork',
      (sound) => async (context, ended) => {
        const warehouse = await context.existingWarehouse()
        await using _ = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'then')
        return await sound(context, ended)
      },
    ),
    test,
    name: 'keeps no other run waiting',
    on: both,
  },
  {
    promise: 'what runs after a run is told rings together',
    broken: 'tells each ring at once',
    breakage: breaking<typeof section>('src/engine/config/thensection.ts').function(
      'thenEvery',
      () => () => 0,
    ),
    test: 'test/features/then/rings.test.ts',
    name: 'what is rung is told once in',
    on: both,
  },
]
