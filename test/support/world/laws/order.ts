/**
 * Laws 1 and 2: applying a page twice equals applying it once, and pages in any order converge to the same rows.
 * A made-up history of repair orders, whose services move between owners, is seen by requests at several moments.
 */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { fromMicros } from '../../../../src/engine/base/timestamp.js'
import type { FlatPage } from '../../../../src/engine/model/flatten/batch.js'
import type { Address } from '../../harness/place.js'
import { known } from '../../harness/runs.js'
import type { Batch } from '../../harness/warehouse.js'
import { rowsOf } from '../../oracle/rows.js'
import { wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

const orders = known.byName.get('repair_orders')!
const tables = [...orders.tables.map((table) => table.name).slice(0, 4), 'sync_registers']
const base = 1_767_225_600_000_000n

/** A service moves to an owner (0: away), whose updated_at changes or not, and a request reads some owners. */
export interface OrderStep {
  readonly service: number
  readonly to: number
  /** A source that prints whole seconds shows two versions with the same one. */
  readonly stamped: boolean
  readonly looked: readonly number[]
}

export interface OrderCase {
  readonly steps: readonly OrderStep[]
  /** The order in which pages are applied; `twice`: each of them twice, in the order in which they were requested. */
  readonly order: readonly number[] | 'twice'
}

const history = fc.array(
  fc.record({
    service: fc.integer({ min: 1, max: 4 }),
    to: fc.integer({ min: 0, max: 3 }),
    stamped: fc.boolean(),
    looked: fc.subarray([1, 2, 3]),
  }),
  { minLength: 1, maxLength: 12 },
)

export const cases: Readonly<Record<'replay' | 'order', fc.Arbitrary<OrderCase>>> = {
  replay: fc.record({ steps: history, order: fc.constant('twice' as const) }),
  order: fc.record({ steps: history, order: fc.array(fc.nat(99), { minLength: 12, maxLength: 30 }) }),
}

interface Owner {
  readonly version: number
  readonly services: readonly number[]
}

/** What a request saw at a moment: owners as they were then. */
interface Seen {
  readonly at: number
  readonly owners: ReadonlyMap<number, Owner>
}

function pagesOf(steps: readonly OrderStep[]): Seen[] {
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
  readonly flattened: FlatPage
}

function batchOf(seen: Seen): Unencoded {
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
    flattened: orders.flatten(1, records, false),
    syncedAt: stamp(1000 + seen.at),
    statements: [],
    fence: undefined,
  }
}

export async function open(addresses: readonly Address[]): Promise<Law<OrderCase>> {
  const warehouse = await warehouseAt(addresses)
  const outcome = async (pages: readonly Unencoded[]): Promise<unknown> => {
    await wipe(warehouse, tables)
    for (const { flattened, ...rest } of pages)
      await warehouse.apply({ ...rest, page: warehouse.encode(flattened, rest) })
    const found = await Promise.all(tables.map((table) => rowsOf(warehouse, table)))
    return found.map((rows) => rows.map(({ _synced_at, ...row }) => row))
  }
  return {
    play: async ({ steps, order }) => {
      const pages = pagesOf(steps).map(batchOf)
      const straight = await outcome(pages)
      if (order === 'twice') {
        const twice = await outcome(pages.flatMap((page) => [page, page]))
        deepStrictEqual(twice, straight, 'Law 1: pages that were applied twice are not as if applied once')
        return
      }
      const picked = order.map((n) => pages[n % pages.length]!)
      const rest = pages.filter((page) => !picked.includes(page))
      const mixed = await outcome([...picked, ...rest])
      deepStrictEqual(mixed, straight, 'Law 2: the order of pages decides what the rows are')
    },
    close: () => warehouse.close(),
  }
}
