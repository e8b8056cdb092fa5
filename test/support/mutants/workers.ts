/** Workers (docs/scale.md, Workers): one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const workers = mutants({
  'a delivery that was cut short comes back, and one that was done does not': {
    'test/features/worker/worker.test.ts: SIGTERM puts the shard and its lease back': {
      'is done with every delivery, however its run ended': () =>
        breaking('features/worker/pool').becomes(() => 'done'),
    },
  },
  'a shard of which workers die is named': {
    'test/engine/warehouse/deliveries.test.ts: whose worker fell silent goes to another': {
      'counts no death': () => breaking('engine/warehouse/postgres/deliveryqueue').wasSilent(() => false),
    },
  },
  'where no worker takes what waits, people are told': {
    'test/features/worker/worker.test.ts: what no worker takes': {
      'never finds that nobody works': () => breaking('engine/warehouse/deliveries').unheard(() => undefined),
      'finds no incident': () => breaking('features/health/workerhealth').workerIncidents(async () => []),
    },
  },
})
