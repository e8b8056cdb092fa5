/** `report.unlisted`: records that left their list stay in the views, or are left out like deleted ones. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { done } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { viewRows } from '../../support/harness/views.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 15, seed: 7, until: '2026-11-20T12:00:00Z' })

/** Every third record of these, with the rows computed from it. */
const tables = known.list.flatMap(({ resource, derived }) => [
  { name: resource.name, id: resource.list === 'records' ? 'id' : 'name' },
  ...derived.map(({ table }) => ({ name: table.name, id: table.owner ?? '' })),
])

async function markThird(
  warehouse: Warehouse,
  column: '_deleted_at' | '_unlisted_at',
  at: string | null = '2026-11-21T00:00:00.000000Z',
): Promise<void> {
  for (const { name, id } of tables.filter(({ id }) => id !== 'name'))
    await sql`update ${sql.raw(warehouse.dialect.views().sql.table(name))} set ${sql.ref(column)} = ${sql.lit(at)} where ${sql.ref(id)} % 3 = 0`.execute(
      warehouse.db,
    )
}

/** The views of business data; dimensions show deleted records, too, since keys refer to them. */
const business = views.filter(({ name }) => !/^(dim_.*|freshness|changes.*)$/.test(name))

const resources = known.list.map(({ resource }) => resource.name)

// The text of a view has the same meaning in both.
describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let address: Address
  const run = async (unlisted: 'keep' | 'leave out', ...words: string[]): Promise<void> => {
    const config = configure(sandbox, address, resources, { report: { unlisted } })
    await done(config, ...words)
  }
  beforeAll(async () => {
    address = await kind.viewed()
    await run('keep', 'sync')
    warehouse = await reopen(address)
  })

  async function contents(
    column: '_deleted_at' | '_unlisted_at' | undefined,
    unlisted: 'keep' | 'leave out',
  ): Promise<Map<string, unknown[]>> {
    if (column) await markThird(warehouse, column)
    await run(unlisted, 'migrate')
    const found = new Map<string, unknown[]>()
    for (const { name } of business) found.set(name, (await viewRows(warehouse, name)).map(withoutNow))
    await run(unlisted, 'snapshot')
    const snapshot = await rowsOf(warehouse, 'daily_snapshots')
    found.set(
      'daily_snapshots',
      snapshot.map(({ taken_at: _, ...row }) => withoutNow(row)),
    )
    await sql`delete from ${sql.raw(warehouse.dialect.views().sql.table('daily_snapshots'))}`.execute(
      warehouse.db,
    )
    if (column) await markThird(warehouse, column, null)
    return found
  }

  /** What differs from query to query. */
  const withoutNow = (row: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !/minutes|snapshot_at|_at$/.test(name)))

  // Each reading has the setting that the one before hadn't.
  it('"keep" shows them as if nothing had happened, "leave out" as if they were deleted; a change makes the views again', async () => {
    const whole = await contents(undefined, 'keep')
    expect(await contents('_unlisted_at', 'keep')).toEqual(whole)
    const without = await contents('_unlisted_at', 'leave out')
    expect(without).toEqual(await contents('_deleted_at', 'keep'))
    expect(without.get('orders')?.length).toBeLessThan(whole.get('orders')?.length ?? 0)
  })
})
