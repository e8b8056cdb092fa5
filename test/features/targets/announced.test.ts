/** What waiting events weigh when due rounds and rings rank lists. */
import { beforeAll, describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { reopen, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventBench } from '../../support/world/events.js'

const now = '2026-03-04T12:00:00.000000Z'
const clock = new HandClock(now)
const ago = (hours: number): string => addMicros(now, BigInt(Math.round(hours * -3600)) * 1_000_000n)

type Events = Parameters<EventBench['putRows']>[0]
/** Of rounds: `count` records, and the `hours` that they have waited. Of rings: how many were `announced`, and since when. */
const cases: [what: string, events: Events, rounds: object, rings: object[]][] = [
  [
    'a record that several events announce counts once, from the first one',
    [
      { received_at: ago(2), due_at: ago(2) },
      { received_at: ago(1), due_at: ago(1) },
      { received_at: ago(1), due_at: ago(1), record_id: 2 },
    ],
    { '101 repair_orders': { count: 2, hours: 3 } },
    [{ since: ago(2), announced: 2 }],
  ],
  [
    'an event of another resource makes a list due, and announces none of its records',
    [
      { received_at: ago(5), due_at: ago(5), type: 'Payment' },
      { received_at: ago(1), due_at: ago(1) },
      { received_at: ago(3), due_at: ago(3), type: 'Payment', resource: 'vehicles' },
    ],
    { '101 repair_orders': { count: 2, hours: 1 }, '101 vehicles': { count: 1, hours: 0 } },
    [
      { resource: 'repair_orders', since: ago(5), announced: 1 },
      { resource: 'vehicles', since: ago(3), announced: 0 },
    ],
  ],
  [
    'what a host an hour ahead has put off is due now, and has taken no time below zero',
    [{ received_at: ago(-1), due_at: ago(-1.01), tries: 1 }],
    { '101 repair_orders': { count: 1, hours: 0 } },
    [{ announced: 1 }],
  ],
  [
    "what nobody has looked for is due at once, whatever its receiver's clock",
    [
      { received_at: ago(-0.1), due_at: ago(-0.1), tries: null },
      { received_at: ago(-0.1), due_at: ago(-0.1), tries: 1, resource: 'payments' },
    ],
    { '101 repair_orders': { count: 1, hours: 0 } },
    [{ resource: 'repair_orders', announced: 1 }],
  ],
  [
    'a record that a walk did not find counts again once its pause is over',
    [
      { received_at: ago(2), due_at: ago(-0.125), tries: 1 },
      { received_at: ago(2), due_at: ago(1), tries: 1, resource: 'vehicles', type: 'Vehicle' },
      { received_at: ago(1), due_at: ago(-1), tries: 0, resource: 'notes', type: 'Note' },
    ],
    { '101 vehicles': { count: 1, hours: 2 }, '101 notes': { count: 1, hours: 1 } },
    [{ resource: 'vehicles' }, { resource: 'notes' }],
  ],
  [
    'a list whose failed walk left its events to the next run is rung by what comes',
    [
      { received_at: ago(2), due_at: null, tries: 1, reason: 'walk_failed' },
      { received_at: ago(1), due_at: ago(1), record_id: 2 },
    ],
    { '101 repair_orders': { count: 1, hours: 1 } },
    [{ since: ago(1), announced: 1 }],
  ],
]

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  let bench: EventBench
  beforeAll(async () => {
    // Not one that is kept: on Postgres, the inbox is a table of it.
    const warehouse = await reopen(await kind.migrated())
    bench = await EventBench.open(sandbox, warehouse, clock)
  })
  it.each(cases)('%s', async (_, events, rounds, rings) => {
    await bench.empty()
    await bench.putRows(events)
    const { inRounds, inRings } = await bench.weighed()
    expect(inRounds).toEqual(rounds)
    expect(inRings).toMatchObject(rings)
  })
})
