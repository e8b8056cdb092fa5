/**
 * Lives of orders whose services move (test/support/world/lives.ts): those that once lost rows, step by step, and some random
 * ones. `npm run test:long -- lives` plays many more, and larger ones; LIVES_SEED plays others.
 */
import fc from 'fast-check'
import { beforeAll, describe, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { open, warehouses } from '../../support/harness/warehouse.js'
import { keeping } from '../../support/oracle/versions.js'
import { Living, lifeClock, lives } from '../../support/world/lives.js'

const clock = lifeClock()
const sandbox = await sandboxOfFile({ data: 'none', clock })

/** Those that once lost rows. */
const told: Record<string, string> = {
  'a backup is restored after services moved':
    'sync, backup, pass 90, move 0 1, move 2 3 x3, sync, pass 90, rewind, edit 2, sync',
  'a backup is restored after services moved, and only reconcile sees it':
    'sync, backup, pass 90, move 1 0, move 2 3, give-up 5, sync, rewind, reconcile, pass 90, move 2 4',
  'an order is merged, restored, and gives up':
    'sync, pass 90, merge 1 2, sync, pass 90, move 2 1 x2, sync, give-up 1, pass 90, sync, merge 2 1, empty 1',
  'the same, and the order is deleted meanwhile':
    'sync, pass 90, merge 1 2 deletes, sync, pass 90, undelete stamp, give-up 2, sync, merge 2 4 deletes, pass 90, undelete, sync',
  'an order is merged without a word, and deleted':
    'sync, pass 90, move 1 2 to x3, sync, pass 90, move 2 3 to x2, sync, delete 2, move 3 4 to x3',
  'a stamp lies an hour ahead':
    'sync, pass 90, ahead 1, sync, pass 10, move 1 2, sync, ahead 2, sync, move 2 0, sync, pass 90, pass 90, edit 0',
  'an order has a service twice, equal and not':
    'sync, twice 1 equal, sync, pass 90, move 1 2, sync, twice 2, sync, pass 90, move 2 1',
  'two orders of one page have one service':
    'share 1 2 equal, share 2 3, sync, pass 90, edit 1, sync, reconcile, give-up 2',
  'an order has no services after it had some': 'sync, pass 90, empty 1, sync, empty 2, move 4 2',
  'an order has a service twice, not equal, and is deleted': 'twice 1, sync, delete 1',
  // Request 2 asks for the merged order, 3 lists another, 4 asks for that one.
  'the order that shows whether the source answers by id is deleted in that moment, and a backup restored':
    'sync, backup, pass 90, edit 4, merge 1 2 deletes, delete 1 @4, sync, rewind',
}

const { LIVES_SEED = '20260301' } = process.env

const models = [
  ['without history', known],
  ['with history', keeping],
] as const
const kinds = warehouses().flatMap((kind) =>
  models.map(([how, model]) => ({ name: kind.name, how, kind, model })),
)
const families = [
  ['every order that loses a service is stamped anew', true],
  ['some are not', false],
] as const
/** How many lives, of how many orders and steps. */
const plays = sized(
  [['small', 1, [2, 12], 14]],
  [
    ['small', 150, [2, 15], 30],
    ['over several pages', 10, [110, 260], 30],
  ],
) as [string, number, [number, number], number][]

describe.each(kinds)('$name, $how', ({ kind, model }) => {
  let living: Living
  beforeAll(async () => {
    const warehouse = await open(kind, model)
    living = new Living({ sandbox, clock, warehouse, model })
  })

  const sizes = sized([model === known ? 6 : 23], [6, 23])
  const mine = (_: unknown, i: number): boolean => sized((i % 2 === 0) === (model === known), true)
  it.each(Object.entries(told).filter(mine))('%s', async (_name, steps) => {
    for (const size of sizes) await living.play({ size, steps: steps.split(', ') })
  })

  it.each(families.flatMap(([name, isStamped]) => plays.map((one) => [name, ...one, isStamped] as const)))(
    'random: %s, %s',
    async (_name, _size, numRuns, sizes, most, isStamped) => {
      await fc.assert(
        fc.asyncProperty(lives(isStamped, sizes, most), (life) => living.play(life)),
        { seed: Number(LIVES_SEED), numRuns, endOnFailure: true },
      )
    },
  )
})
