/**
 * Lines and services of an older warehouse get their computed values from the stored rows: without a request, whatever
 * kills the work. While it is running, the existing views stay as they were.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/engine/base/clock.js'
import { Desk } from '../support/harness/desk.js'
import type { Address } from '../support/harness/place.js'
import { known, sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { make, prepareViews, query } from '../support/harness/views.js'
import {
  bothWarehouses,
  halfComputed,
  type Kind,
  migrate,
  openLease,
  recompute,
  reopen,
  rowsOf,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { expectOracle } from '../support/oracle/business/stored.js'
import { fillAsThen } from '../support/world/upgrades.js'

interface ComputedTable {
  readonly name: string
  readonly computed: readonly string[]
}

const lines = known.tables.flatMap(({ name, columns }): ComputedTable[] => {
  const computed = columns.flatMap((column) =>
    column.computedBy === 'repair_order_totals' ? [column.name] : [],
  )
  return computed.length > 0 ? [{ name, computed }] : []
})
const sandbox = await sandboxOfFile()

/** Turns it into an older version's warehouse: without the columns, and with the rows of the old rule. */
async function forgetNets(warehouse: Warehouse): Promise<void> {
  const { db, dialect } = warehouse
  const store = dialect.views()
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(db)
  // Views depend on the columns: what replaces them is as old as the tables.
  for (const name of await viewsOf(warehouse)) await run(`drop view ${store.relation(name)}`)
  for (const { name, computed } of lines)
    for (const column of computed) await run(`alter table ${store.sql.table(name)} drop column ${column}`)
  await run(`update ${store.sql.table('sync_derived')} set version = 1`)
  await run(`create view ${store.relation('order_lines')} as select 1 as made_before`)
  const made = (await store.live((text) => db.executeQuery(text))).get('order_lines') ?? ''
  const value = JSON.stringify({ order_lines: { wanted: 'of before', made } })
  await db.updateTable('sync_meta').set({ value }).where('name', '=', store.memory).execute()
}

const viewsOf = async (warehouse: Warehouse): Promise<string[]> => {
  const store = warehouse.dialect.views()
  const memory = (await rowsOf(warehouse, 'sync_meta')).find(({ name }) => name === store.memory)
  // What the views were made from is remembered beside them, under a name that no view has.
  return Object.keys(JSON.parse(String(memory?.value ?? '{}')) as object).filter((name) => /^\w/.test(name))
}

/** A warehouse of today. Each test makes it an older one, whose upgrade makes it again what it was. */
async function filled(kind: Kind): Promise<Address> {
  sandbox.reset()
  fillAsThen(sandbox)
  // Its absurd hours are beyond what the oracle's SQL can hold.
  sandbox.store.remove(1, 'repair_orders', 46)
  const address = await kind.viewed()
  const warehouse = await reopen(address)
  await sync(sandbox, warehouse)
  await prepareViews(warehouse)
  await warehouse.close()
  return address
}

/** Computes the lines of one tenant, and dies with those of the next. */
async function killedInSecond(warehouse: Warehouse): Promise<unknown> {
  await using held = await openLease({ warehouse, clock: systemClock }, 'test')
  let transactions = 0
  const dying = {
    dialect: warehouse.dialect,
    interfered: warehouse.interfered,
    leaseName: warehouse.leaseName,
    rules: warehouse.rules,
    read: warehouse.read.bind(warehouse),
    transaction: ((work) =>
      held.warehouse.transaction(async (session) => {
        const result = await work(session)
        if (++transactions === 2) throw new Error('killed')
        return result
      })) as Warehouse['transaction'],
  }
  const how = { signal: held.signal, at: () => '2026-11-01T00:00:00.000000Z' }
  return recompute(dying, known, how).catch((error: Error) => error.message)
}

const rowsOfLines = async (warehouse: Warehouse): Promise<unknown> =>
  Object.fromEntries(
    await Promise.all(lines.map(async ({ name }) => [name, await rowsOf(warehouse, name)] as const)),
  )

describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  beforeAll(async () => {
    address = await filled(kind)
  })

  it('migrate computes them from the stored rows, without reading anything again, and makes the new views', async () => {
    const warehouse = await reopen(address)
    const before = await rowsOfLines(warehouse)
    await forgetNets(warehouse)
    await warehouse.close()
    const asked = sandbox.requests.length
    const migrated = await new Desk(sandbox, address, ['repair_orders']).done('migrate --json')
    const { changes } = migrated.json<{ changes: { table: string; what: string }[] }>()
    for (const { name, computed } of lines)
      expect(changes.filter(({ table }) => table === name)).toHaveLength(computed.length)
    expect(changes).toContainEqual({ table: 'order_lines', what: 'replace view' })
    expect(changes.some(({ what }) => what.startsWith('recomputed'))).toBe(true)
    expect(sandbox.requests).toHaveLength(asked)

    const after = await reopen(address)
    expect(await rowsOfLines(after)).toEqual(before)
    expect(await expectOracle(after)).toBeGreaterThan(5)
    // Nothing is read completely for them: an idle run costs each cursor its one request.
    const report = await sync(sandbox, after)
    expect(new Set(report.cursors.map(({ requests }) => requests))).toEqual(new Set([1]))
  })

  it('the old views stay until all lines have them, even if a run is killed halfway', async () => {
    const warehouse = await reopen(address)
    await forgetNets(warehouse)
    await migrate(warehouse)
    expect(await halfComputed(warehouse, known)).not.toEqual([])
    expect(await make(warehouse)).toMatchObject({ troubles: [], isPostponed: true })
    const asBefore = (): Promise<unknown> => query(warehouse, 'select made_before from {order_lines}')
    expect(await asBefore()).toEqual([{ made_before: 1 }])
    expect(await killedInSecond(warehouse)).toBe('killed')
    expect(await rowsOf(warehouse, 'sync_derived')).toHaveLength(1)
    expect(await halfComputed(warehouse, known)).not.toEqual([])
    expect(await make(warehouse)).toMatchObject({ made: [], isPostponed: true })
    expect(await asBefore()).toEqual([{ made_before: 1 }])

    await sync(sandbox, warehouse)
    expect(await halfComputed(warehouse, known)).toEqual([])
    const { made, troubles } = await make(warehouse)
    expect(troubles).toEqual([])
    expect(made).toContainEqual({ table: 'order_lines', what: 'replace view' })
    const [sums] = await query(warehouse, 'select sum(net_cents) as net, count(*) as n from {order_lines}')
    const [orders] = await query(
      warehouse,
      'select sum(sales_cents + unshared_discount_cents) as net from {orders}',
    )
    expect(Number(sums?.n)).toBeGreaterThan(5)
    expect(Number(sums?.net)).toBe(Number(orders?.net))
  })
})
