/** Workers (docs/scale.md, Workers): one function is broken at a time. */
import type * as deliveries from '../../../src/engine/warehouse/deliveries.js'
import type * as carried from '../../../src/engine/warehouse/postgres/deliveryqueue.js'
import type * as health from '../../../src/features/health/workerhealth.js'
import type * as pool from '../../../src/features/worker/pool.js'
import { breaking } from './breakage.js'
import type { Promised } from './promise.js'

const worker = 'test/features/worker/worker.test.ts'

export const workers: readonly Promised[] = [
  {
    promise: 'a delivery that was cut short comes back, and one that was done does not',
    broken: 'is done with every delivery, however its run ended',
    breakage: breaking<typeof pool>('src/features/worker/pool.ts').function('becomes', () => () => 'done'),
    test: worker,
    name: 'SIGTERM puts the shard and its lease back',
    on: [],
  },
  {
    promise: 'a shard of which workers die is named',
    broken: 'counts no death',
    breakage: breaking<typeof carried>('src/engine/warehouse/postgres/deliveryqueue.ts').function(
      'wasSilent',
      () => () => false,
    ),
    test: 'test/engine/warehouse/deliveries.test.ts',
    name: 'whose worker fell silent goes to another',
    on: [],
  },
  {
    promise: 'where no worker takes what waits, people are told',
    broken: 'never finds that nobody works',
    breakage: breaking<typeof deliveries>('src/engine/warehouse/deliveries.ts').function(
      'unheard',
      () => () => undefined,
    ),
    test: worker,
    name: 'what no worker takes',
    on: [],
  },
  {
    promise: 'where no worker takes what waits, people are told',
    broken: 'finds no incident',
    breakage: breaking<typeof health>('src/features/health/workerhealth.ts').function(
      'workerIncidents',
      () => async () => [],
    ),
    test: worker,
    name: 'what no worker takes',
    on: [],
  },
]
