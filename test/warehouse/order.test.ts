/**
 * Laws 1 and 2: applying a page twice equals applying it once, and pages in any order converge to the same rows.
 * A made-up history of repair orders, whose services move between owners, is seen by requests at several moments.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Flattened } from '../../src/model/flatten/batch.js'
import { model } from '../../src/model/registry.js'
import { fromMicros } from '../../src/timestamp.js'
import type { Batch } from '../../src/warehouse/batch.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { describeBothWays, open, rowsOf } from '../support/warehouse.js'

const known = model(resources)
const orders = known.byName.get('repair_orders')!
const tables = orders.tables.map((table) => table.name).slice(0, 4)
const base = 1_767_225_600_000_000n

interface Owner {
  version: number
  services: number[]
}
/** What a request at a moment saw: owners as they were then. */
interface Seen {
  readonly at: number
  readonly owners: ReadonlyMap<number, Owner>
}

/** Each step moves a service to an owner (or away), stamps both, and is looked at by a request or not. */
const history = fc.array(
  fc.record({
    service: fc.integer({ min: 1, max: 4 }),
    to: fc.integer({ min: 0, max: 3 }),
    /** Whether the owners' updated_at moves: a source that prints whole seconds shows two versions with one. */
    stamped: fc.boolean(),
    looked: fc.subarray([1, 2, 3]),
  }),
  { minLength: 1, maxLength: 12 },
)

function play(steps: readonly { service: number; to: number; stamped: boolean; looked: number[] }[]): Seen[] {
  const owners = new Map<number, Owner>([1, 2, 3].map((id) => [id, { version: 0, services: [] }]))
  const seen: Seen[] = []
  let version = 0
  for (const [at, step] of [...steps, { service: 0, to: 0, stamped: true, looked: [1, 2, 3] }].entries()) {
    if (step.stamped) version++
    for (const [id, owner] of owners) {
      const had = owner.services.includes(step.service)
      if (!had && step.to !== id) continue
      const rest = owner.services.filter((service) => service !== step.service)
      owners.set(id, {
        version,
        services: step.to === id && step.service > 0 ? [...rest, step.service] : rest,
      })
    }
    if (step.looked.length > 0)
      seen.push({ at: at + 1, owners: new Map(step.looked.map((id) => [id, { ...owners.get(id)! }])) })
  }
  return seen
}

const stamp = (n: number): string => fromMicros(base + BigInt(n) * 1_000_000n)

/** A batch before its page is encoded. */
interface Unencoded extends Omit<Batch, 'page'> {
  readonly flattened: Flattened
}

function batch(seen: Seen): Unencoded {
  const records = [...seen.owners].map(([id, { version, services }]) => ({
    id,
    updated_at: stamp(version),
    detail: services.join(','),
    services: services.map((service) => ({
      id: service,
      title: `of ${id} at ${version}: ${services.join(',')}`,
      labors: [{ id: service * 10, hours: version }],
    })),
  }))
  return {
    tenantId: 7,
    resource: orders.name,
    flattened: orders.flatten(records, false),
    syncedAt: stamp(1000 + seen.at),
    statements: [],
    fence: undefined,
  }
}

async function outcome(warehouse: Warehouse, batches: readonly Unencoded[]): Promise<unknown> {
  for (const table of tables) await warehouse.db.deleteFrom(table as 'tenants').execute()
  for (const { flattened, ...rest } of batches)
    await warehouse.apply({ ...rest, page: warehouse.encode(flattened, rest) })
  return Promise.all(
    tables.map(async (table) => (await rowsOf(warehouse, table)).map(({ _synced_at, ...row }) => row)),
  )
}

describeBothWays((kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind, known)
  })
  afterAll(() => warehouse.close())
  const numRuns = kind.name === 'sqlite' ? 300 : 60

  it('applies a page twice as once (law 1)', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const batches = play(steps).map(batch)
        const once = await outcome(warehouse, batches)
        expect(
          await outcome(
            warehouse,
            batches.flatMap((one) => [one, one]),
          ),
        ).toEqual(once)
      }),
      { numRuns },
    )
  })

  it('comes to the same rows in any order of pages, each any number of times (law 2)', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(fc.nat(), { minLength: 12, maxLength: 30 }),
        async (steps, picks) => {
          const batches = play(steps).map(batch)
          const straight = await outcome(warehouse, batches)
          const shuffled = picks.map((pick) => batches[pick % batches.length]!)
          const rest = batches.filter((one) => !shuffled.includes(one))
          expect(await outcome(warehouse, [...shuffled, ...rest])).toEqual(straight)
        },
      ),
      { numRuns },
    )
  })

  it('would notice a write path without the guard (mutant of law 2)', async () => {
    const [older, newer] = [
      { at: 1, owners: new Map([[1, { version: 1, services: [1] }]]) },
      { at: 2, owners: new Map([[1, { version: 2, services: [2] }]]) },
    ].map(batch)
    const straight = await outcome(warehouse, [older!, newer!])
    // Without a guard the last write wins: the same as if the older page claimed the newer version.
    const unguarded = { ...older!, syncedAt: newer!.syncedAt, flattened: pretend(older!, newer!) }
    expect(await outcome(warehouse, [older!, newer!, unguarded])).not.toEqual(straight)
  })
})

/** The older page's rows under the newer page's version: what a write path without the guard would store. */
function pretend(older: Unencoded, newer: Unencoded): Flattened {
  const place = orders.tables[0]!.columns.filter((c) => c.name !== 'tenant_id').findIndex(
    (c) => c.name === 'updated_at',
  )
  const updatedAt = newer.flattened.records[0]!.updatedAt
  const rows = new Map(
    [...older.flattened.rows].map(([name, tuples]) => [name, tuples.map((tuple) => [...tuple])]),
  )
  rows.get(orders.name)![0]![place] = updatedAt
  return { ...older.flattened, rows, records: [{ ...older.flattened.records[0]!, updatedAt }] }
}
