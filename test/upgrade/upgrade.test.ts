/**
 * Warehouses written by 0.1.0, with tombstones, quarantine, drift and a walk of notes that was killed halfway, are
 * upgraded by the next run: nothing is lost, and an idle cursor costs one request, as in 0.1.0.
 */
import { describe, expect, it } from 'vitest'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { shopsync } from '../support/call.js'
import { configure } from '../support/place.js'
import { known, sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { refusal } from '../support/server.js'
import { fillAsThen, keptWarehouse } from '../support/upgrades.js'
import { ask, prepareViews } from '../support/views.js'
import { contents, reopen, rowsOf, warehouses } from '../support/warehouse.js'

/** How many live rows and tombstones a record table has. */
async function counts(warehouse: Warehouse, table: string): Promise<{ live: number; deleted: number }> {
  const rows = await rowsOf(warehouse, table)
  const deleted = rows.filter((row) => row._deleted_at !== null).length
  return { live: rows.length - deleted, deleted }
}

/** The cursors of its runs, with the columns that they have. */
const rowsAsTheyAre = (warehouse: Warehouse) =>
  warehouse.db
    .selectFrom('sync_run_cursors')
    .selectAll()
    .orderBy('tenant_id')
    .orderBy('resource')
    .orderBy('run_id')
    .execute()

const sandbox = await sandboxOfFile()
fillAsThen(sandbox, '0.1.0')

describe.each(warehouses())('$name', (kind) => {
  it('before that, status and check tell what to do', async () => {
    const config = configure(sandbox, await keptWarehouse(kind, '0.1.0'), ['repair_orders'])
    const status = await shopsync(['status', '--config', config])
    expect(status).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('or shopsync migrate to update'),
    })
    const check = await shopsync(['check', '--config', config])
    expect(check).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/writable, \d+ table changes to make by the next run/),
    })
  })

  it('is upgraded, resumes what was killed, and costs no extra request', async () => {
    const warehouse = await reopen(await keptWarehouse(kind, '0.1.0'))
    const tables = known.list.flatMap((resource) => resource.tables)
    const before = await contents(warehouse, known, tables)
    const turns = await rowsAsTheyAre(warehouse)
    await warehouse.migrate()
    // The key of these rows has grown: each is the first step of its run, and nothing else about it has changed.
    expect(turns.length).toBeGreaterThan(0)
    expect(await rowsAsTheyAre(warehouse)).toMatchObject(turns.map((row) => ({ ...row, step: 1 })))
    // Newer columns aren't in `before`.
    expect(await contents(warehouse)).toMatchObject(before)

    const notices: [string, Record<string, unknown>][] = []
    const report = await sync(sandbox, warehouse, { notices })
    const failed = report.cursors.filter(({ status }) => status !== 'ok')
    // One category has no updated_at, and could not be stored by 0.1.0 either.
    expect(failed.map(({ tenant_id, resource }) => [tenant_id, resource])).toEqual([[101, 'categories']])
    const notes = report.cursors.find(({ tenant_id, resource }) => tenant_id === 102 && resource === 'notes')
    expect(notes).toMatchObject({ completeness: 'proven', rows_deleted: 0 })
    expect(notices.map(([message]) => message)).toContain('Resuming a walk')
    // Lists whose nested rows have new keys are read completely, once; other idle lists cost what they cost every day.
    const nested = ['repair_orders', 'recommendations', 'canned_jobs']
    const idle = report.cursors.filter((cursor) => cursor !== notes)
    expect(idle.map(({ requests }) => requests)).toEqual(
      idle.map(({ resource }) => (nested.includes(resource) ? 2 : 1)),
    )

    // 0.1.0 stored no source: the warehouse belongs to the first one it meets, and refuses any other from now on.
    expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([
      { base_url: sandbox.url, partner_id: '42' },
    ])
    const stranger = { url: `${sandbox.url}/other`, secret: sandbox.secret, partnerId: '42' }
    expect(await refusal(sync(stranger, warehouse))).toMatchObject({ exitCode: 2 })

    const reconciled = await sync(sandbox, warehouse, { mode: 'reconcile' })
    expect(reconciled.rows_deleted).toBe(0)
    expect(await counts(warehouse, 'repair_orders')).toEqual({ live: 59, deleted: 6 })
    const all = [101, 102].reduce((sum, tenant) => sum + sandbox.store.count(tenant, 'notes'), 0)
    expect(await counts(warehouse, 'notes')).toEqual({ live: all, deleted: 6 })

    // The views work on its tables as in a new warehouse: each id once, and flagged if it is deleted.
    await prepareViews(warehouse)
    const { live, deleted } = await counts(warehouse, 'customers')
    const customers = await ask(warehouse, 'dim_customers')
    const gone = customers.filter(({ is_deleted }) => is_deleted)
    expect(new Set(customers.map(({ customer_key }) => customer_key)).size).toBe(customers.length)
    expect(customers.length).toBeGreaterThanOrEqual(live + deleted)
    expect(gone).toHaveLength(deleted)
    expect(await ask(warehouse, 'freshness', 'select verdict from {view}')).toHaveLength(
      report.cursors.length,
    )
    await warehouse.close()
  })
})
