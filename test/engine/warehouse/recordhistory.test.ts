/**
 * A history contains every version that was seen to end, and nothing else: random lives of records, on every warehouse,
 * compared with an observer who looks at the tables after every write.
 */
import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import { Killed, markDeleted } from '../../support/harness/runs.js'
import { sized } from '../../support/harness/size.js'
import { describeBothWays, open, rowsOf, Warehouse } from '../../support/harness/warehouse.js'
import { begun, inOrder, keeping, kept, Observer } from '../../support/oracle/versions.js'
import { labor, type OrderRecord, order, stamp, storeOrders } from '../../support/world/orders.js'
import { atEachMoment, killsAt, wipe } from '../../support/world/through.js'

const model = keeping
const resource = 'repair_orders'
const table = 'repair_orders_history'
type Row = Record<string, unknown>

const at = (second: number, record: OrderRecord): OrderRecord => ({ ...record, updated_at: stamp(second) })

const store = (
  warehouse: Warehouse,
  records: readonly OrderRecord[],
  syncedAt: string,
  tenantId = 7,
): Promise<unknown> => storeOrders(warehouse, records, syncedAt, { tenantId, model })

const remove = (warehouse: Warehouse, id: number, updatedAt: string, askedAt: string, tenantId = 7) =>
  markDeleted(warehouse, { tenantId, resource: model.byName.get(resource)! }, [{ id, updatedAt, askedAt }])

/** Stores an order in a version that the source itself now considers older. */
async function goBack(warehouse: Warehouse, record: OrderRecord, syncedAt: string, from: string) {
  const key = { tenantId: 7, resource }
  const page = warehouse.encode(model.byName.get(resource)!.flatten(1, [record], true), key)
  const forceOlder = new Map([[record.id, from]])
  return warehouse.apply({ ...key, page, syncedAt, statements: [], forceOlder })
}

describeBothWays((kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind, model)
  })

  it('loses no digit, no instant and no character', async () => {
    await wipe(warehouse)
    const big = 9_007_199_254_740_993n
    const hours = [0.1, 0.30000000000000004, 33.333333333333336, 1e-7, 123456.789]
    const services = [
      {
        id: big,
        title: 'a "b" \\ \n ü 𝄞 \u2028',
        completed: false,
        labor_rate_cents: big,
        labors: hours.map((n, i) => ({ id: 1 + i, hours: n, taxable: i === 0 ? null : i % 2 === 0 })),
      },
    ]
    const whole = { ...order(1, []), id: 9_223_372_036_854_775_807n, customer_id: big, services }
    await store(warehouse, [at(1, whole)], stamp(100))
    const columns = async (name: string): Promise<Row[]> =>
      (await rowsOf(warehouse, name)).map(({ tenant_id, repair_order_id, ...row }) =>
        // What is computed for a line isn't part of its version.
        Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith('_'))),
      )
    const [service] = await columns('repair_order_services')
    const labors = await columns('repair_order_labors')
    await store(warehouse, [at(2, { ...whole, services: [] })], stamp(200))
    const rows = await warehouse.db
      .selectFrom(table as 'repair_orders')
      .select([
        'id',
        'customer_id',
        sql<string>`${warehouse.dialect.sql.extra.exact('_children')}`.as('children'),
      ])
      .execute()
    expect(rows[0]).toMatchObject({ id: 9_223_372_036_854_775_807n, customer_id: big })
    const text = rows[0]!.children
    const read = JSON.parse(text.replaceAll(/([:[] ?)(9007199254740993)(?=[,}\]])/g, '$1"$2"')) as Record<
      string,
      Row[]
    >
    expect(read.repair_order_services).toEqual([service])
    expect(read.repair_order_labors).toEqual(labors)
    expect(read.repair_order_labors!.map((row) => row.hours)).toEqual(hours)
  })

  it('keeps tags that are inside other records', async () => {
    await wipe(warehouse)
    const tagged = (id: number, value: string, second: number) => ({
      ...at(second, order(id, [])),
      integrator_tags: [
        { id: 5, updated_at: stamp(second), name: 'colour', value },
        { id: 60 + id, updated_at: stamp(1), name: 'still', value: 'the same' },
      ],
    })
    await store(warehouse, [tagged(1, 'red', 1)], stamp(100))
    await store(warehouse, [tagged(2, 'blue', 2)], stamp(200))
    await store(warehouse, [tagged(1, 'red', 1), tagged(2, 'blue', 2)], stamp(300))
    const rows = await rowsOf(warehouse, 'integrator_tags_history')
    expect(rows.map((row) => [row.id, row.value, row._seen_from, row._seen_to])).toEqual([
      [5, 'red', stamp(100), stamp(200)],
    ])
    expect(await begun(warehouse, 'integrator_tags')).toMatchObject({ '7/5': stamp(200), '7/61': stamp(100) })
  })

  const numRuns = sized(6, kind.name === 'sqlite' ? 25 : 10)
  it('contains what an observer has seen end, whatever comes in whatever order', { timeout: 60_000 }, () =>
    fc.assert(
      fc.asyncProperty(lives, (life) => play(warehouse, life, kind.threadFrom !== 0)),
      { numRuns, seed: 7 },
    ),
  )
})

/** One write: a page of orders as a request saw them, or a response that a record is gone. */
interface Write {
  readonly tenant: 7 | 8
  readonly way: 'page' | 'remove' | 'back'
  /**
   * For orders: id, second of updated_at, where the customer came from, hours of each labor, and the labor that several
   * claim.
   */
  readonly orders: readonly {
    id: 1 | 2 | 3
    second: number
    from: string
    hours: readonly number[]
    claims: boolean
  }[]
  /** How long after the last write the request was sent; before it, if negative. */
  readonly after: number
  /** The moment at which the writer of a page dies, and whether the page is stored again. */
  readonly dies: { readonly at: number; readonly again: boolean } | null
}

const lives = fc.array(
  fc.record<Write>({
    tenant: fc.constantFrom(7, 7, 8),
    way: fc.constantFrom('page', 'page', 'page', 'remove', 'back'),
    orders: fc.uniqueArray(
      fc.record({
        id: fc.constantFrom(1, 2, 3),
        second: fc.integer({ min: 1, max: 4 }),
        from: fc.constantFrom('mail', 'mail', 'mail', 'mail', 'radio'),
        hours: fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 2 }),
        claims: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3, selector: ({ id }) => id },
    ),
    after: fc.constantFrom(10, 10, 10, -15),
    dies: fc.option(fc.record({ at: fc.integer({ min: 1, max: 50 }), again: fc.boolean() }), { freq: 2 }),
  }),
  { minLength: 2, maxLength: 10 },
)

const made = ({ id, second, from, hours, claims }: Write['orders'][number]): OrderRecord => ({
  ...at(second, order(id, [])),
  customer_source: from,
  services: [
    {
      id: 500 + id,
      labor_rate_cents: 10_000,
      labors: [
        ...hours.map((n, i) => ({ id: id * 10 + i, ...labor(n) })),
        ...(claims ? [{ id: 77, ...labor(9) }] : []),
      ],
    },
  ],
})

const lasted = ({ from, to }: { from: string; to: string }): boolean => from < to

/** The same warehouse, for a process that dies at that moment. */
const dying = ({ dialect }: Warehouse, at: number): Warehouse =>
  new Warehouse({ model, retryWaits: [0], dialect: atEachMoment(dialect, killsAt(at)) })

/** Plays a life, and compares the history with what the observer saw. */
async function play(warehouse: Warehouse, life: readonly Write[], mayDie: boolean): Promise<void> {
  await wipe(warehouse, [...model.byName.get(resource)!.tables.map(({ name }) => name), table])
  const observer = new Observer(warehouse, resource)
  let now = 1000
  for (const [i, { tenant, way, orders, after, dies }] of life.entries()) {
    now += after
    // No two requests have one stamp.
    const syncedAt = stamp(now * 100 + i)
    const [first] = orders
    const stored = (await rowsOf(warehouse, resource)).find(
      (row) => row.tenant_id === tenant && row.id === first!.id,
    )
    if (way === 'page') {
      const page = orders.map(made)
      const died = mayDie && dies !== null
      // After the commit, it is stored, and nobody knows.
      if (died)
        await store(dying(warehouse, dies.at), page, syncedAt, tenant).catch((error: unknown) =>
          expect(error).toBeInstanceOf(Killed),
        )
      if (!died || dies.again) await store(warehouse, page, syncedAt, tenant)
    } else if (way === 'remove' && stored)
      await remove(warehouse, first!.id, String(stored.updated_at), syncedAt, tenant)
    else if (way === 'back' && tenant === 7 && stored?._deleted_at === null && stored._synced_at! < syncedAt)
      await goBack(warehouse, made(first!), syncedAt, String(stored.updated_at))
    await observer.look(syncedAt)
  }
  // A version that existed for no time at all may have been replaced by another.
  const all = await kept(warehouse, resource)
  expect(all.filter(lasted)).toEqual(inOrder(observer.ended.filter(lasted)))
  expect(observer.ended).toEqual(expect.arrayContaining(all))
  expect(await begun(warehouse, resource)).toEqual(observer.present)
}
