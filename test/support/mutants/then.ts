/** What runs after a run (docs/after.md): one function is broken at a time. */
import { systemClock } from '../../../src/engine/base/clock.js'
import { openLease } from '../../../src/engine/warehouse/openlease.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const thensection = breaking(() => import('../../../src/engine/config/thensection.js'))
const changes = breaking(() => import('../../../src/features/then/changes.js'))
const followingFile = breaking(() => import('../../../src/features/then/following.js'))
const tellentries = breaking(() => import('../../../src/features/then/tellentries.js'))
const tellingturn = breaking(() => import('../../../src/features/then/tellingturn.js'))
const deliverto = breaking(() => import('../../../src/shell/deliverto.js'))

export const following = mutants([
  [
    'what runs after a run misses no change',
    'counts what was refused as told',
    deliverto.function('deliverTo', (sound) => async (...given) => ({
      ...(await sound(...given)),
      delivered: true,
    })),
    'test/features/then/then.test.ts: one that fails changes no row',
  ],
  [
    'what runs after a run misses no change',
    'looks only at what the run itself reports',
    changes.function('readChanges', (sound) => async (warehouse, range) => {
      const found = await sound(warehouse, range)
      return found.worst === null || range.from === null ? found : { ...found, lists: [] }
    }),
    'test/features/then/then.test.ts: the next run tells what a killed one stored',
  ],
  [
    'what runs after a run misses no change',
    'tells an entry that has accepted nothing only what comes from now on',
    changes.function(
      'readChanges',
      (sound) => (warehouse, range) => sound(warehouse, { ...range, from: range.from ?? range.through }),
    ),
    'test/features/then/then.test.ts: is told everything if it has accepted nothing',
  ],
  [
    'what runs after a run misses no change',
    'takes rings that are told for covered, wherever the range ends',
    changes.function('readChanges', (sound) => async (warehouse, range) => {
      const { rung } = await sound(warehouse, { ...range, through: '9' })
      return { ...(await sound(warehouse, range)), rung }
    }),
    'test/features/then/rings.test.ts: what a listener told before its range covered it',
  ],
  [
    'a run that changed nothing is not told',
    'takes what the overlap shows again for a change',
    changes.function('readChanges', (sound) => async (warehouse, range) => {
      const found = await sound(warehouse, range)
      const read = { tenant_id: 101, resource: 'notes', rows_upserted: 1, rows_deleted: 0 }
      return found.lists.length > 0 ? found : { ...found, lists: [read] }
    }),
    'test/features/then/then.test.ts: is told what changed, and only that',
  ],
  [
    'what runs after a run is told each change once, also by two runs that end at once',
    'tells without waiting for its turn',
    tellingturn.function('inTurn', () => async (_context, _warehouse, _patience, work) => await work()),
    'test/features/then/then.test.ts: of two runs that end at once',
  ],
  [
    'what runs after a run starts no other',
    'tells runs that it started itself',
    tellentries.function('isNested', () => () => false),
    'test/features/then/then.test.ts: is told after the runs that it names',
  ],
  [
    'what runs after a run keeps no other waiting',
    'runs under the lease',
    followingFile.function('followWork', (sound) => async (context, ended) => {
      const warehouse = await context.existingWarehouse()
      await using _ = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'then')
      return await sound(context, ended)
    }),
    'test/features/then/then.test.ts: keeps no other run waiting',
  ],
  [
    'what runs after a run is told rings together',
    'tells each ring at once',
    thensection.function('thenEvery', () => () => 0),
    'test/features/then/rings.test.ts: what is rung is told once in',
  ],
])
