/** What a run reports about records: those that were new or changed, and those that it only read again. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, warehouses } from '../../support/harness/warehouse.js'

const resources = ['notes', 'customers']
const tenant = 1

const sandbox = await sandboxOfFile()
const put = (resource: string, id: number, time: string): void =>
  sandbox.store.put(tenant, resource, template(resource, id, time))

describe.each(warehouses())('$name', (kind) => {
  it('counts each new or changed record once, and none that was only read again', async () => {
    const warehouse = await open(kind)
    sandbox.store.addTenant({ id: tenant })
    for (const resource of resources)
      for (let id = 1; id <= 130; id += 1)
        put(resource, id, `2026-01-01T00:00:${String(id % 60).padStart(2, '0')}Z`)
    const run = async (mode: 'sync' | 'full' | 'reconcile' = 'sync'): Promise<[number, number]> => {
      const { cursors } = await syncInOrder(sandbox, warehouse, { resources, mode })
      const sum = (of: (one: (typeof cursors)[number]) => number): number =>
        cursors.reduce((total, one) => total + of(one), 0)
      return [sum((one) => one.records_changed), sum((one) => one.records)]
    }
    const [first, read] = await run()
    expect(first).toBe(260)
    expect(read).toBeGreaterThanOrEqual(260)
    const [idle, again] = await run()
    expect(idle).toBe(0)
    expect(again).toBeGreaterThan(100)
    const later = '2026-01-02T00:00:00Z'
    put('notes', 5, later)
    put('notes', 131, later)
    put('customers', 7, later)
    expect((await run())[0]).toBe(3)
    sandbox.store.remove(tenant, 'notes', 6)
    expect((await run('reconcile'))[0]).toBe(0)
    expect(await run('full')).toEqual([0, expect.any(Number)])
    const stored = await warehouse.db
      .selectFrom('sync_run_cursors')
      .select('records_changed')
      .where('records_changed', '>', 0)
      .execute()
    expect(stored.map((row) => Number(row.records_changed)).toSorted()).toEqual([1, 130, 130, 2])
    await warehouse.close()
  })
})
