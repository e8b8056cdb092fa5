/**
 * Lists that have to be read whole once, because tables that they fill were lost: after the rest of a run's work, and
 * continued if they are cut short. No watermark goes back meanwhile, and plan, status and report show the progress.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { plan } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf, statusText } from '../../support/harness/status.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { compare, expected } from '../../support/oracle/cells.js'
import { Between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { fill } from '../../support/world/notes.js'
import { labor, order, part, stamp } from '../../support/world/orders.js'

const chosen = ['repair_orders', 'customers', 'notes']
const clock = new HandClock('2026-03-01T12:00:00Z', 10n)
const sandbox = await sandboxOfFile({ data: 'none', clock })

/** An order with labors and parts. */
const putOrder = (tenant: number, id: number, at = stamp(id * 60)): string => {
  const service = { id: id * 10, labors: [labor(id * 10 + 1)], parts: [part(id * 10 + 2, 500)] }
  sandbox.store.put(tenant, 'repair_orders', order(id, [service], { updated_at: at }))
  return at
}

const run = (warehouse: Warehouse, options: RunOptions = {}): Promise<RunReport> =>
  sync(sandbox, warehouse, { resources: chosen, clock, ...options })

/** Two tenants that were synced and have lost tables of orders and customers, and a third one that is new. */
async function begin(kind: Kind, known?: Model): Promise<Warehouse> {
  sandbox.reset()
  for (const [tenant, orders] of [
    [1, 9],
    [2, 45],
  ] as const) {
    sandbox.store.addTenant({ id: tenant })
    for (let id = 1; id <= orders; id++) putOrder(tenant, id)
    fill(sandbox, 2, { tenantId: tenant, resource: 'customers' })
    fill(sandbox, 5, { tenantId: tenant })
  }
  const warehouse = await open(kind, known)
  expect((await run(warehouse, known && { known })).status).toBe('ok')
  sandbox.store.addTenant({ id: 3 })
  putOrder(3, 1)
  const { table } = warehouse.dialect.views().sql
  for (const name of ['repair_order_labors', 'repair_order_parts', 'customer_phones'])
    await sql.raw(`drop table ${table(name)}`).execute(warehouse.db)
  return warehouse
}

const cursors = (warehouse: Warehouse) => rowsOf(warehouse, 'sync_cursors')
const refills = async (warehouse: Warehouse) =>
  (await cursors(warehouse)).filter(({ refill }) => refill !== null)

const isWhole = ({ updatedAfter }: { readonly updatedAfter: string }): boolean =>
  updatedAfter.startsWith('0001')
/** Interrupts the reading of the whole list of orders; new records are requested with a later floor, and still come. */
const cutWhole = (page: number): RunOptions => ({
  pageSizes: [20],
  readAhead: 0,
  around: (source) =>
    new Between(source, async (request, ask) => {
      const isOrders = request.path === 'repair_orders' && request.tenantId === 2
      if (isOrders && isWhole(request) && request.page >= page)
        throw new Skip('cut short', { reason: 'failed' })
      return ask()
    }),
})
const ofOrders = <T extends { readonly resource?: unknown; readonly tenant_id?: unknown }>(
  cursors: readonly T[],
) => cursors.find(({ resource, tenant_id }) => resource === 'repair_orders' && tenant_id === 2)

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  it('the warehouse equals the source afterwards, and versions that had lost rows have ended', async () => {
    const known = model(resources, { repair_orders: { history: true } })
    const warehouse = await begin(kind, known)
    await migrate(warehouse)
    expect((await run(warehouse, { known })).status).toBe('ok')
    await compare(warehouse, expected(sandbox))
    const ended = await rowsOf(warehouse, 'repair_orders_history')
    expect(ended).toHaveLength(9 + 45)
    for (const { _ended_by, _children } of ended)
      expect([_ended_by, _children]).toMatchObject(['replaced', { repair_order_labors: [] }])
    const reconciled = await run(warehouse, { known, mode: 'reconcile', full: true })
    expect(reconciled).toMatchObject({ status: 'ok', rows_upserted: 0, rows_deleted: 0 })
    const idle = await run(warehouse, { known })
    expect(idle.cursors.map(({ requests }) => requests)).toEqual(idle.cursors.map(() => 1))
    await warehouse.close()
  })

  test('new records come first, even if the whole list is interrupted; it continues, and no watermark goes back', async () => {
    const warehouse = await begin(kind)
    const options = { resources: chosen, readAhead: 1, clock }
    const before = await plan(sandbox, warehouse, options)
    expect(before.table_changes.filter(({ what }) => what === 'create table')).toHaveLength(3)
    const lists = before.cursors.filter(({ refill }) => refill !== null)
    expect(lists).toHaveLength(4)
    expect(ofOrders(lists)?.refill?.records).toBe(45)
    await migrate(warehouse)
    // It costs as much after the tables were made.
    expect(await plan(sandbox, warehouse, options)).toMatchObject({
      table_changes: [],
      requests: before.requests,
    })
    const status = () => statusOf(sandbox, warehouse, { resources: chosen, nowMicros: clock.nowMicros() })
    const progress = async () => ofOrders((await status()).cursors)
    const lost = expect.stringContaining('the table repair_order_')
    expect(await progress()).toMatchObject({ refill: lost, refill_progress: null })
    const claimed = (await progress())?.complete_through
    expect(claimed).toEqual(expect.any(String))

    /** A new order, and a run in which its list is cut. */
    async function cut(id: number, page: number): Promise<RunOptions['notices']> {
      const watermark = putOrder(2, id, fromMicros(clock.nowMicros()))
      const notices: RunOptions['notices'] = []
      const report = await run(warehouse, { ...cutWhole(page), notices })
      expect(report.cursors.filter(({ status }) => status !== 'ok')).toHaveLength(1)
      expect(ofOrders(report.cursors)).toMatchObject({ status: 'failed', watermark })
      expect(ofOrders(await cursors(warehouse))).toMatchObject({ watermark })
      const ids = (await rowsOf(warehouse, 'repair_orders')).map((row) => [row.tenant_id, row.id])
      expect(ids).toContainEqual([2, id])
      return notices
    }
    await cut(50, 2)
    expect(await progress()).toMatchObject({ refill_progress: { read: 20, of: 46 } })
    expect(statusText(await status())).toMatch(
      /! tenant 2, repair_orders: the whole list is being read, because the table .*: 20 of 46 records so far; shopsync sync continues/,
    )
    const notices = await cut(51, 3)
    expect(notices?.map(([message]) => message)).toContain('Resuming a walk')
    // Rows may be missing below the new watermark until the list was read completely.
    expect((await progress())?.complete_through).toBe(claimed)
    expect((await progress())?.refill_progress?.read).toBeGreaterThan(20)
    expect((await refills(warehouse)).map(({ tenant_id }) => tenant_id)).toEqual([2])

    const agreed = await plan(sandbox, warehouse, options)
    const { status: ended, cursors: done } = await run(warehouse, { readAhead: 1 })
    expect(ended).toBe('ok')
    const costs = (all: readonly { tenant_id: unknown; resource: string; requests: number }[]) =>
      all.map(({ tenant_id, resource, requests }) => `${tenant_id} ${resource}: ${requests}`).sort()
    expect(costs(agreed.cursors)).toEqual(costs(done))
    expect(await refills(warehouse)).toEqual([])
    expect(await rowsOf(warehouse, 'sync_walk_parts')).toEqual([])
    // It is told in whole seconds of the source's clock.
    clock.pass(2000)
    await run(warehouse)
    expect(String((await progress())?.complete_through) > String(claimed)).toBe(true)
    await compare(warehouse, expected(sandbox))
    await warehouse.close()
  })

  test('whole lists are read after everything else, and a run that is told to end leaves them to the next one', async () => {
    const warehouse = await begin(kind)
    await migrate(warehouse)
    const stop = new AbortController()
    const asked: { name: string; isWhole: boolean }[] = []
    const around: RunOptions['around'] = (source) =>
      new Between(source, async (request, ask) => {
        asked.push({ name: `${request.tenantId} ${request.path}`, isWhole: isWhole(request) })
        if (isWhole(request) && request.path === 'customers' && request.tenantId === 1) stop.abort()
        return ask()
      })
    const nameOf = (row: { readonly tenant_id?: unknown; readonly resource?: unknown }): string =>
      `${row.tenant_id} ${row.resource}`
    const marks = new Map((await cursors(warehouse)).map((row) => [nameOf(row), row.watermark]))
    const cut = await run(warehouse, { around, signal: stop.signal, concurrency: 1 })
    // No list of tenant 3 was read to its end before: reading it completely is a first load.
    const isRefill = (one: (typeof asked)[number]): boolean => one.isWhole && marks.get(one.name) != null
    const first = asked.findIndex(isRefill)
    expect(first).toBeGreaterThan(6)
    expect(asked.slice(first).every(isRefill)).toBe(true)
    expect(cut).toMatchObject({ status: 'partial', reason: 'interrupted' })
    const skipped = cut.cursors.filter(({ status }) => status !== 'ok')
    for (const one of skipped) expect(one).toMatchObject({ status: 'skipped', reason: 'interrupted' })
    for (const one of cut.cursors)
      if (marks.get(nameOf(one))) expect(one.watermark).toBe(marks.get(nameOf(one)))
    expect((await refills(warehouse)).length).toBe(skipped.length)
    expect((await run(warehouse)).status).toBe('ok')
    expect(await refills(warehouse)).toEqual([])
    await compare(warehouse, expected(sandbox))
    await warehouse.close()
  })
})
