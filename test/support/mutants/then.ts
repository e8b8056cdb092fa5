/** What runs after a run (docs/after.md): one function is broken at a time. */
import { systemClock } from '../../../src/engine/base/clock.js'
import { openLease } from '../../../src/engine/warehouse/openlease.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const following = mutants({
  'what runs after a run misses no change': {
    'test/features/then/then.test.ts: one that fails changes no row': {
      'counts what was refused as told': () =>
        breaking('shell/deliverto').deliverTo(async (sound, ...given) => ({
          ...(await sound(...given)),
          delivered: true,
        })),
    },
    'test/features/then/then.test.ts: the next run tells what a killed one stored': {
      'looks only at what the run itself reports': () =>
        breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
          const found = await sound(warehouse, range)
          return found.worst === null || range.from === null ? found : { ...found, lists: [] }
        }),
    },
    'test/features/then/then.test.ts: is told everything if it has accepted nothing': {
      'tells an entry that has accepted nothing only what comes from now on': () =>
        breaking('features/then/changes').readChanges((sound, warehouse, range) =>
          sound(warehouse, { ...range, from: range.from ?? range.through }),
        ),
    },
    'test/features/then/rings.test.ts: what a listener told before its range covered it': {
      'takes rings that are told for covered, wherever the range ends': () =>
        breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
          const { rung } = await sound(warehouse, { ...range, through: '9' })
          return { ...(await sound(warehouse, range)), rung }
        }),
    },
  },
  'a run that changed nothing is not told': {
    'test/transcripts/transcripts.test.ts: test/transcripts/then.txt': {
      'takes what the overlap shows again for a change': () =>
        breaking('features/then/changes').readChanges(async (sound, warehouse, range) => {
          const found = await sound(warehouse, range)
          const read = { tenant_id: 101, resource: 'notes', rows_upserted: 1, rows_deleted: 0 }
          return found.lists.length > 0 ? found : { ...found, lists: [read] }
        }),
    },
  },
  'what runs after a run is told each change once, also by two runs that end at once': {
    'test/features/then/then.test.ts: of two runs that end at once': {
      'tells without waiting for its turn': () =>
        breaking('features/then/tellingturn').inTurn(
          async (_sound, _context, _warehouse, _patience, work) => await work(),
        ),
    },
  },
  'what runs after a run starts no other': {
    'test/transcripts/transcripts.test.ts: test/transcripts/then.txt': {
      'tells runs that it started itself': () => breaking('features/then/tellentries').isNested(() => false),
    },
  },
  'what runs after a run keeps no other waiting': {
    'test/features/then/then.test.ts: keeps no other run waiting': {
      'runs under the lease': () =>
        breaking('features/then/following').followWork(async (sound, context, ended) => {
          const warehouse = await context.existingWarehouse()
          await using _ = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'then')
          return await sound(context, ended)
        }),
    },
  },
  'what runs after a run is told rings together': {
    'test/features/then/rings.test.ts: what is rung is told once in': {
      'tells each ring at once': () => breaking('engine/config/thensection').thenEvery(() => 0),
    },
  },
})
