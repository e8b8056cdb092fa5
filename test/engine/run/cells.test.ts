import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { compare, expected } from '../../support/cells.js'
import { sync } from '../../support/run.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { contents, dialectWarehouses, open } from '../../support/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 3, seed: 11, scale: 0.25 })

describe.each(dialectWarehouses())('$name', (kind) => {
  it('contains exactly the source in every cell, and again after the shops have worked', async () => {
    const warehouse = await open(kind)
    const first = await sync(sandbox, warehouse)
    expect(first.status).toBe('ok')
    expect(first.cursors.every((cursor) => cursor.completeness === 'proven')).toBe(true)
    expect(await compare(warehouse, expected(sandbox))).toBeGreaterThan(100_000)
    // Only changes that aren't deletions, which reconcile finds.
    for (const tenant of sandbox.tenantIds)
      for (const record of sandbox.store.all(tenant, 'repair_orders').slice(0, 40)) {
        const { services = [], ...rest } = record as unknown as { services?: unknown[] }
        const at = sandbox.store.clock.nowMicros()
        sandbox.store.put(tenant, 'repair_orders', {
          ...rest,
          services: services.slice(1).reverse(),
          detail: 'changed',
          updated_at: fromMicros(at),
        })
      }
    const second = await sync(sandbox, warehouse)
    expect(second.status).toBe('ok')
    expect(second.rows_deleted).toBeGreaterThan(0)
    await compare(warehouse, expected(sandbox))
    await warehouse.close()
  })
})

it('holds equal rows on every dialect (law 4)', async () => {
  const kinds = dialectWarehouses()
  if (kinds.length < 2) return
  const held = []
  for (const kind of kinds) {
    const warehouse = await open(kind)
    await sync(sandbox, warehouse)
    held.push(await contents(warehouse))
    await warehouse.close()
  }
  expect(held[1]).toEqual(held[0])
})
