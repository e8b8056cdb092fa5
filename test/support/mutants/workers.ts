/** Workers (docs/scale.md, Workers): one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const deliveries = breaking(() => import('../../../src/engine/warehouse/deliveries.js'))
const deliveryqueue = breaking(() => import('../../../src/engine/warehouse/postgres/deliveryqueue.js'))
const workerhealth = breaking(() => import('../../../src/features/health/workerhealth.js'))
const pool = breaking(() => import('../../../src/features/worker/pool.js'))

export const workers = mutants([
  [
    'a delivery that was cut short comes back, and one that was done does not',
    'is done with every delivery, however its run ended',
    pool.function('becomes', () => () => 'done'),
    'test/features/worker/worker.test.ts: SIGTERM puts the shard and its lease back',
  ],
  [
    'a shard of which workers die is named',
    'counts no death',
    deliveryqueue.function('wasSilent', () => () => false),
    'test/engine/warehouse/deliveries.test.ts: whose worker fell silent goes to another',
  ],
  [
    'where no worker takes what waits, people are told',
    'never finds that nobody works',
    deliveries.function('unheard', () => () => undefined),
    'test/features/worker/worker.test.ts: what no worker takes',
  ],
  [
    'where no worker takes what waits, people are told',
    'finds no incident',
    workerhealth.function('workerIncidents', () => async () => []),
    'test/features/worker/worker.test.ts: what no worker takes',
  ],
])
