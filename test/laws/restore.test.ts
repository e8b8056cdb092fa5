/** A record that was deleted and comes back unchanged, with its old `updated_at`: no list of changes shows it. */
import { describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { open, rowsOf, warehouses } from '../support/harness/warehouse.js'

const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  it('reconcile buries it, sync does not see it return, and reconcile does', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    for (let id = 1; id <= 350; id++) sandbox.store.put(1, 'notes', template('notes', id, time(id)))
    const warehouse = await open(kind)
    const isBuried = async (): Promise<boolean> => {
      const row = (await rowsOf(warehouse, 'notes')).find(({ id }) => id === 120)
      return row?._deleted_at !== null
    }
    const run = async (mode: 'sync' | 'reconcile'): Promise<void> => {
      const report = await syncInOrder(sandbox, warehouse, { resources: ['notes'], mode })
      expect(report.status, JSON.stringify(report.cursors)).toBe('ok')
    }
    await run('sync')
    const record = sandbox.store.stored(1, 'notes', 120)!
    sandbox.store.remove(1, 'notes', 120)
    await run('reconcile')
    expect(await isBuried()).toBe(true)
    sandbox.store.put(1, 'notes', record)
    await run('sync')
    expect(await isBuried()).toBe(true)
    await run('reconcile')
    expect(await isBuried()).toBe(false)
    await warehouse.close()
  })
})
