import { beforeAll, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, contents, open, type Warehouse } from '../../support/harness/warehouse.js'
import { compare, expected } from '../../support/oracle/cells.js'

const sandbox = await sandboxOfFile({ tenants: sized(2, 3), seed: 11, scale: sized(0.02, 0.25) })

const opened: Warehouse[] = []
beforeAll(async () => {
  for (const kind of bothWarehouses()) opened.push(await open(kind))
})

it('every warehouse contains exactly the source in every cell, and they are equal (law 4)', async () => {
  const held: unknown[] = []
  for (const warehouse of opened) {
    const report = await sync(sandbox, warehouse)
    expect(report.status).toBe('ok')
    expect(report.cursors.every((cursor) => cursor.completeness === 'proven')).toBe(true)
    expect(await compare(warehouse, expected(sandbox))).toBeGreaterThan(sized(4000, 100_000))
    if (opened.length > 1) held.push(await contents(warehouse))
  }
  for (const rows of held) expect(rows).toEqual(held[0])
})

it('and again after the shops have worked', async () => {
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
  for (const warehouse of opened) {
    const report = await sync(sandbox, warehouse)
    expect(report.status).toBe('ok')
    expect(report.rows_deleted).toBeGreaterThan(0)
    await compare(warehouse, expected(sandbox))
  }
})
