/**
 * Lives of orders whose services move (test/support/world/lives.ts): those that once lost rows, step by step, and some random
 * ones. `npm run test:long -- lives` plays many more, and larger ones; LIVES_SEED plays others.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { open, warehouses } from '../../support/harness/warehouse.js'
import { keeping } from '../../support/oracle/versions.js'
import { type LifeStep, Living, lifeClock, lives, type Step } from '../../support/world/lives.js'

const clock = lifeClock()
const sandbox = await sandboxOfFile({ data: 'none', clock })

const sync = { do: 'run', mode: 'sync' } as const
const reconcile = { do: 'run', mode: 'reconcile' } as const
const pass = { do: 'pass', minutes: 90 } as const
const move = (from: number, to: number, stamps: 'both' | 'to' = 'both', n = 1): Step => ({
  do: 'move',
  from,
  to,
  n,
  stamps,
})
const merge = (from: number, to: number, deletes: boolean): Step => ({ do: 'merge', from, to, deletes })
const of = (what: Extract<Step, { of: number }>['do'], place: number): Step =>
  ({ do: what, of: place, equal: false }) as Step

const told: Record<string, readonly LifeStep[]> = {
  'a backup is restored after services moved': [
    sync,
    { do: 'backup' },
    pass,
    move(0, 1),
    move(2, 3, 'both', 3),
    sync,
    pass,
    { do: 'rewind' },
    of('edit', 2),
    sync,
  ],
  'a backup is restored after services moved, and only reconcile sees it': [
    sync,
    { do: 'backup' },
    pass,
    move(1, 0),
    move(2, 3),
    of('give up', 5),
    sync,
    { do: 'rewind' },
    reconcile,
    pass,
    move(2, 4),
  ],
  'an order is merged, restored, and gives up': [
    sync,
    pass,
    merge(1, 2, false),
    sync,
    pass,
    move(2, 1, 'both', 2),
    sync,
    of('give up', 1),
    pass,
    sync,
    merge(2, 1, false),
    of('empty', 1),
  ],
  'the same, and the order is deleted meanwhile': [
    sync,
    pass,
    merge(1, 2, true),
    sync,
    pass,
    { do: 'undelete', stamp: true },
    of('give up', 2),
    sync,
    merge(2, 4, true),
    pass,
    { do: 'undelete', stamp: false },
    sync,
  ],
  'an order is merged without a word, and deleted': [
    sync,
    pass,
    move(1, 2, 'to', 3),
    sync,
    pass,
    move(2, 3, 'to', 2),
    sync,
    of('delete', 2),
    move(3, 4, 'to', 3),
  ],
  'a stamp lies an hour ahead': [
    sync,
    pass,
    of('ahead', 1),
    sync,
    { do: 'pass', minutes: 10 },
    move(1, 2),
    sync,
    of('ahead', 2),
    sync,
    move(2, 0),
    sync,
    pass,
    pass,
    of('edit', 0),
  ],
  'an order has a service twice, equal and not': [
    sync,
    { do: 'twice', of: 1, equal: true },
    sync,
    pass,
    move(1, 2),
    sync,
    { do: 'twice', of: 2, equal: false },
    sync,
    pass,
    move(2, 1),
  ],
  'two orders of one page have one service': [
    { do: 'share', from: 1, to: 2, equal: true },
    { do: 'share', from: 2, to: 3, equal: false },
    sync,
    pass,
    of('edit', 1),
    sync,
    reconcile,
    of('give up', 2),
  ],
  'an order has no services after it had some': [
    sync,
    pass,
    of('empty', 1),
    sync,
    of('empty', 2),
    move(4, 2),
  ],
  'an order has a service twice, not equal, and is deleted': [of('twice', 1), sync, of('delete', 1)],
  // Request 2 asks for the merged order, 3 lists another, 4 asks for that one.
  'the order that shows whether the source answers by id is deleted in that moment, and a backup restored': [
    sync,
    { do: 'backup' },
    pass,
    of('edit', 4),
    merge(1, 2, true),
    { ...of('delete', 1), request: 4 },
    sync,
    { do: 'rewind' },
  ],
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
  let close: () => Promise<void>
  beforeAll(async () => {
    const warehouse = await open(kind, model)
    close = () => warehouse.close()
    living = new Living({ sandbox, clock, warehouse, model })
  })
  afterAll(() => close())

  const sizes = sized([model === known ? 6 : 23], [6, 23])
  const mine = (_: unknown, i: number): boolean => sized((i % 2 === 0) === (model === known), true)
  it.each(Object.entries(told).filter(mine))('%s', async (_name, steps) => {
    for (const size of sizes) await living.play({ size, steps })
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
