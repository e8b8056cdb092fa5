/**
 * Lists that have to be read whole once, because tables that they fill were lost: after the rest of a run's work, and
 * continued if they are cut short. No watermark goes back meanwhile, and plan, status and report show the progress.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { Skip } from '../../../src/engine/base/errors.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { statusText } from '../../../src/features/health/words.js'
import { planText } from '../../../src/features/plan/words.js'
import { makePlan } from '../../../src/features/plan/work.js'
import { answersOf } from '../../../src/features/report/answers.js'
import { readReport } from '../../../src/features/report/read/read.js'
import { model } from '../../support/harness/model.js'
import { depsOf, type RunOptions, type RunReport, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { make } from '../../support/harness/views.js'
import {
  bothWarehouses,
  contents,
  type Kind,
  migrate,
  open,
  rewriteRows,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { fill } from '../../support/world/notes.js'
import { labor, order, part, stamp } from '../../support/world/orders.js'

const chosen = ['repair_orders', 'customers', 'notes']
const sandbox = await sandboxOfFile()

/** An order with labors and parts. */
const putOrder = (tenant: number, id: number, at = stamp(id * 60)): string => {
  const service = { id: id * 10, labors: [labor(id * 10 + 1)], parts: [part(id * 10 + 2, 500)] }
  sandbox.store.put(tenant, 'repair_orders', order(id, [service], { updated_at: at }))
  return at
}

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

const run = (warehouse: Warehouse, options: RunOptions = {}): Promise<RunReport> =>
  sync(sandbox, warehouse, { resources: chosen, ...options })

/** The contents of a warehouse that has lost nothing. */
async function fresh(kind: Kind, known?: Model): Promise<Record<string, unknown>> {
  const warehouse = await open(kind, known)
  expect((await run(warehouse, known && { known })).status).toBe('ok')
  const rows = await contents(warehouse, known)
  await warehouse.close()
  return rows
}

/** Rows without when each was first seen, which differs from warehouse to warehouse. */
const unseen = (tables: object): unknown =>
  JSON.parse(JSON.stringify(tables, (name, value) => (name === '_seen_from' ? undefined : value)))

const refills = async (warehouse: Warehouse) =>
  (await rowsOf(warehouse, 'sync_cursors')).filter(({ refill }) => refill !== null)
const watermarks = async (warehouse: Warehouse) =>
  (await rowsOf(warehouse, 'sync_cursors')).map(({ tenant_id, resource, watermark }) => [
    tenant_id,
    resource,
    watermark,
  ])

/** Interrupts the reading of whole lists at a page; new records are requested with a later floor, and still come. */
const cutWhole =
  (page: number, tenant = 2) =>
  (source: Source): Source =>
    new Between(source, async (request, ask) => {
      const isWhole = request.updatedAfter?.startsWith('0001') ?? false
      if (request.path === 'repair_orders' && request.tenantId === tenant && isWhole && request.page >= page)
        throw new Skip('cut short', { reason: 'failed' })
      return ask()
    })

const ofOrders = (report: RunReport) =>
  report.cursors.find(({ resource, tenant_id }) => resource === 'repair_orders' && tenant_id === 2)!

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  it('the warehouse equals the source afterwards, and versions that had lost rows have ended', async () => {
    const known = model(resources, { repair_orders: { history: true } })
    const warehouse = await begin(kind, known)
    await migrate(warehouse)
    expect((await run(warehouse, { known })).status).toBe('ok')
    expect(unseen(await contents(warehouse, known))).toEqual(unseen(await fresh(kind, known)))
    const ended = await rowsOf(warehouse, 'repair_orders_history')
    expect(ended).toHaveLength(9 + 45)
    for (const { _ended_by, _children } of ended) {
      expect(_ended_by).toBe('replaced')
      expect(_children).toMatchObject({ repair_order_labors: [] })
    }
    const reconciled = await run(warehouse, { known, mode: 'reconcile', full: true })
    expect(reconciled).toMatchObject({ status: 'ok', rows_upserted: 0, rows_deleted: 0 })
    const idle = await run(warehouse, { known })
    expect(idle.cursors.map(({ requests }) => requests)).toEqual(idle.cursors.map(() => 1))
    await warehouse.close()
  })

  test('new records come first, even if the whole list is interrupted; it continues, and no watermark goes back', async () => {
    const warehouse = await begin(kind)
    await migrate(warehouse)
    const news = (id: number): string => putOrder(2, id, new Date().toISOString().replace('Z', '000Z'))
    const isHere = async (id: number): Promise<boolean> =>
      (await rowsOf(warehouse, 'repair_orders')).some((row) => row.tenant_id === 2 && row.id === id)
    const watermark = async (): Promise<unknown> =>
      (await watermarks(warehouse)).find(([tenant, name]) => tenant === 2 && name === 'repair_orders')?.[2]
    const progress = async () => {
      const nowMicros = BigInt(Date.now()) * 1000n
      const { cursors } = await statusOf(sandbox, warehouse, { resources: chosen, nowMicros })
      return cursors.find((one) => one.tenant_id === 2 && one.resource === 'repair_orders')
    }
    const sizes = { pageSizes: [20], readAhead: 0 }
    expect(await progress()).toMatchObject({
      refill: expect.stringContaining('the table repair_order_'),
      refill_progress: null,
    })

    const claimed = (await progress())?.complete_through
    expect(claimed).toEqual(expect.any(String))
    let newest = news(50)
    const first = await run(warehouse, { around: cutWhole(2), ...sizes })
    expect(ofOrders(first)).toMatchObject({ status: 'failed', watermark: newest })
    expect(first.cursors.filter(({ status }) => status !== 'ok')).toHaveLength(1)
    expect(await isHere(50)).toBe(true)
    expect(await watermark()).toBe(newest)
    expect(await progress()).toMatchObject({ refill_progress: { read: 20, of: 46 } })

    newest = news(51)
    const notices: RunOptions['notices'] = []
    const second = await run(warehouse, { around: cutWhole(3), notices, ...sizes })
    expect(ofOrders(second)).toMatchObject({ status: 'failed', watermark: newest })
    expect(notices.map(([message]) => message)).toContain('Resuming a walk')
    expect(await isHere(51)).toBe(true)
    expect(await watermark()).toBe(newest)
    // Rows may be missing below the new watermark until the list was read completely.
    expect((await progress())?.complete_through).toBe(claimed)
    expect((await progress())?.refill_progress?.read).toBeGreaterThan(20)
    expect((await refills(warehouse)).map(({ tenant_id }) => tenant_id)).toEqual([2])

    newest = news(52)
    const third = await run(warehouse, sizes)
    expect(third.status).toBe('ok')
    expect(await refills(warehouse)).toEqual([])
    expect(await watermark()).toBe(newest)
    expect(await rowsOf(warehouse, 'sync_walk_parts')).toEqual([])
    // It is told in whole seconds of the source's clock, and all of this may take less than one.
    while (Date.now() < Date.parse(String(claimed)) + 2000) await sleep(20)
    await run(warehouse, sizes)
    expect(String((await progress())?.complete_through) > String(claimed)).toBe(true)
    expect(await contents(warehouse)).toEqual(await fresh(kind))
    await warehouse.close()
  })

  test('whole lists are read after everything else, and a run that is told to end leaves them to the next one', async () => {
    const warehouse = await begin(kind)
    await migrate(warehouse)
    const stop = new AbortController()
    const asked: { name: string; isWhole: boolean }[] = []
    const around = (source: Source): Source =>
      new Between(source, async (request, ask) => {
        const isWhole = request.updatedAfter?.startsWith('0001') ?? false
        asked.push({ name: `${request.tenantId} ${request.path}`, isWhole })
        if (isWhole && request.path === 'customers' && request.tenantId === 1) stop.abort()
        return ask()
      })
    // No list of tenant 3 was read to its end before: reading it completely is a first load.
    const marks = new Map(
      (await watermarks(warehouse)).map(([tenant, name, mark]) => [`${tenant} ${name}`, mark]),
    )
    const cut = await run(warehouse, { around, signal: stop.signal, concurrency: 1 })
    const isRefill = ({ name, isWhole }: (typeof asked)[number]): boolean =>
      isWhole && marks.get(name) != null
    const first = asked.findIndex(isRefill)
    expect(first).toBeGreaterThan(6)
    expect(asked.slice(first).every(isRefill)).toBe(true)
    expect(cut).toMatchObject({ status: 'partial', reason: 'interrupted' })
    const skipped = cut.cursors.filter(({ status }) => status !== 'ok')
    expect(new Set(skipped.map(({ status, reason }) => `${status} ${reason}`))).toEqual(
      new Set(['skipped interrupted']),
    )
    for (const { tenant_id, resource, watermark } of cut.cursors)
      if (marks.get(`${tenant_id} ${resource}`)) expect(watermark).toBe(marks.get(`${tenant_id} ${resource}`))
    expect((await refills(warehouse)).length).toBe(skipped.length)
    expect((await run(warehouse)).status).toBe('ok')
    expect(await refills(warehouse)).toEqual([])
    expect(await contents(warehouse)).toEqual(await fresh(kind))
    await warehouse.close()
  })

  test('plan shows before the tables are made what it changes and costs; status, report and the next plan show its progress', async () => {
    const warehouse = await begin(kind)
    const options = { resources: chosen }
    const plan = async () => {
      const { deps, close } = await depsOf(sandbox, warehouse, options)
      const request = { mode: 'sync', job: null, tenants: null, resources: chosen } as const
      return makePlan({ ...deps, readAhead: 1 }, request, 0).finally(close)
    }
    const answer = async (): Promise<string> => {
      const nowMicros = BigInt(Date.now()) * 1000n
      const usual = { warehouse, label: '', schema: undefined, timeZone: 'UTC', tenants: [1], nowMicros }
      const data = await readReport({
        ...usual,
        source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId },
        staleAfterMs: 86_400_000,
        deletesUncheckedAfterMs: 86_400_000,
      })
      return answersOf(data, data.scopes[0]!)[0]!.sentence
    }
    const before = await plan()
    expect(before.table_changes.filter(({ what }) => what === 'create table')).toHaveLength(3)
    const lists = before.cursors.filter(({ refill }) => refill !== null)
    expect(lists.map(({ tenant_id, resource, refill }) => [tenant_id, resource, refill?.records])).toEqual(
      expect.arrayContaining([
        [1, 'repair_orders', 9],
        [2, 'repair_orders', 45],
      ]),
    )
    expect(lists).toHaveLength(4)
    const text = planText(before, { views: { made: [], troubles: [] } })
    expect(text).toMatch(/Of these, 4 requests and 58 records are for reading 4 lists in full once \(/)

    await migrate(warehouse)
    await rewriteRows(warehouse, new AbortController().signal)
    await make(warehouse, {})
    // Its lists are proven by their counts, but rows of them may still be missing.
    expect(await answer()).toContain(
      '2 of 2 sets of records must be read again in full and may be missing rows until shopsync sync has done that',
    )
    const after = await plan()
    expect(after.table_changes).toEqual([])
    expect(after.requests).toBe(before.requests)
    const sizes = { pageSizes: [20], readAhead: 0 }
    await run(warehouse, { around: cutWhole(2), ...sizes })
    const nowMicros = BigInt(Date.now()) * 1000n
    const status = await statusOf(sandbox, warehouse, { resources: chosen, nowMicros })
    expect(statusText(status)).toMatch(
      /! tenant 2, repair_orders: the whole list is being read, because the table .*: 20 of 45 records so far; shopsync sync continues/,
    )
    expect(await answer()).not.toContain('read again in full')
    const agreed = await plan()
    const report = await run(warehouse, { readAhead: 1 })
    const requests = (cursors: readonly { tenant_id: unknown; resource: string; requests: number }[]) =>
      new Map(cursors.map(({ tenant_id, resource, requests: n }) => [`${tenant_id} ${resource}`, n]))
    expect(requests(agreed.cursors)).toEqual(requests(report.cursors))
    await warehouse.close()
  })
})
