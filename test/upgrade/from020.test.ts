/**
 * Warehouses written by 0.2.0 (test/fixtures/0.2.0): with tombstones, history, targets, events that wait, and two walks
 * that were cut short. The next run upgrades them; nothing is lost, nothing is read twice, and everything equals the
 * source.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { Desk } from '../support/harness/desk.js'
import { metricsOf } from '../support/harness/metrics.js'
import { model } from '../support/harness/model.js'
import { sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { make } from '../support/harness/views.js'
import { bothWarehouses, contents, migrate, reopen } from '../support/harness/warehouse.js'
import { compare, expected } from '../support/oracle/cells.js'
import { registersAgree } from '../support/oracle/registers.js'
import { EventBench } from '../support/world/events.js'
import { fillAsThen, keptWarehouse } from '../support/world/upgrades.js'

const known = model(resources, {
  repair_orders: { history: true },
  vehicles: { columns: { vin: 'text' } },
})
const lists = ['repair_orders', 'customers', 'vehicles', 'payments', 'notes', 'shops']

const sandbox = await sandboxOfFile()
fillAsThen(sandbox)

describe.each(bothWarehouses())('$name', (kind) => {
  it('is upgraded by the next run, resumes what was cut short, hears what waited, and equals the source', async () => {
    const warehouse = await reopen(await keptWarehouse(kind), known)
    const { db } = warehouse
    await warehouse.write([db.updateTable('sync_source').set({ base_url: sandbox.url }).compile()])
    const before = await contents(warehouse, known)
    await migrate(warehouse)
    // Newer columns aren't in `before`.
    expect(await contents(warehouse, known)).toMatchObject(before)
    expect(await migrate(warehouse)).toEqual([])
    await registersAgree(warehouse, 1)

    const bench = await EventBench.open(sandbox, warehouse)
    expect(await bench.states()).toEqual(['settled', 'waiting', 'waiting'])
    const notices: [string, Record<string, unknown>][] = []
    const report = await sync(sandbox, warehouse, {
      known,
      resources: lists,
      beside: bench.settling,
      notices,
    })
    expect(report.status).toBe('ok')
    expect(notices.map(([message]) => message)).toContain('Resuming a walk')
    // Without a walk to resume, and without an event, a list costs what it costs every day.
    const idle = report.cursors.filter(({ tenant_id, resource }) =>
      tenant_id === 1 ? resource !== 'customers' : !['repair_orders', 'notes'].includes(resource),
    )
    expect(idle.map(({ requests }) => requests)).toEqual(idle.map(() => 1))
    expect((await bench.states()).slice(0, 2)).toEqual(['settled', 'settled'])

    const reconciled = await sync(sandbox, warehouse, {
      known,
      resources: lists,
      mode: 'reconcile',
      full: true,
    })
    expect(reconciled).toMatchObject({ status: 'ok', rows_deleted: 0 })
    await registersAgree(warehouse, 1)
    const cells = expected(sandbox)
    // A forgotten tenant stays away.
    for (const rows of cells.values())
      for (const key of [...rows.keys()]) if (key.startsWith('3 ')) rows.delete(key)
    expect(await compare(warehouse, cells)).toBeGreaterThan(10_000)
  })

  it('can be looked at before anything has upgraded it', async () => {
    const targets = { repair_orders: 'PT5M' }
    const desk = new Desk(sandbox, await keptWarehouse(kind), lists, { targets })
    const seen = (await desk.run('status --json')).json<{ tenants: { tenant_id: number }[] }>()
    expect(seen).toMatchObject({ healthy: false, freshness: [{ resource: 'repair_orders', met: 0 }] })
    expect(seen.tenants.map(({ tenant_id }) => tenant_id)).toEqual([1, 2])
    expect(await desk.run('status')).toMatchObject({ code: 1 })
    await desk.done('runs')
    await desk.done('report --operations --out', join(scratch(), 'operations.html'))
    const { code, stderr } = await desk.run('report --out', join(scratch(), 'report.html'))
    expect([code, stderr]).toEqual([2, expect.stringContaining('Type shopsync sync, or shopsync migrate')])
    const limits = { targetOf: () => 300_000, atLeast: 86_400_000, deletes: 86_400_000 }
    const { series } = await desk.look((warehouse) =>
      metricsOf(warehouse, { resources: lists, targets: limits }),
    )
    expect(series.filter(({ name }) => /_quiet$|_rate_left$/.test(name))).toMatchObject([{ value: 0 }])
  })

  it('views wait for values that have to be moved first, and leave no question behind when they do', async () => {
    const warehouse = await reopen(await keptWarehouse(kind), model(resources))
    await migrate(warehouse)
    const { executeQuery } = warehouse.db
    let asked = 0
    warehouse.db.executeQuery = ((query: never) => {
      asked++
      return executeQuery.call(warehouse.db, query).finally(() => asked--)
    }) as typeof executeQuery
    const waits = await make(warehouse)
    expect([waits.isPostponed, waits.made.some(({ table }) => table === 'dim_customers')]).toEqual([
      true,
      false,
    ])
    expect(asked).toBe(0)
  })
})
