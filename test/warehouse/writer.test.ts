/**
 * The writer thread runs compiled files only, so this file tests those: `npm test` builds them first. What the thread
 * stores must be what this thread stores, and an error must come back as what it was.
 */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { Stop } from '../../src/errors.js'
import { model } from '../../src/model/registry.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { contents, open, warehouses } from '../support/warehouse.js'

const compiled = new URL('../../dist/src/warehouse/open.js', import.meta.url)
const known = model(resources)
const orders = known.byName.get('repair_orders')!
const at = (n: number): string => `2026-01-01T00:00:${String(n).padStart(2, '0')}.000000Z`

const page = (version: number) =>
  orders.flatten(
    Array.from({ length: 100 }, (_, i) => ({
      id: i + 1,
      updated_at: at(version),
      detail: `“version” ${version}`,
      services: Array.from({ length: 4 - version }, (_, k) => ({
        id: i * 10 + k,
        title: `${k} of ${i}`,
        labors: [{ id: i * 10 + k, hours: 1.5, taxable: true }],
      })),
    })),
    false,
  )

const batch = (version: number, fence?: number) => ({
  tenantId: 7,
  resource: 'repair_orders',
  flattened: page(version),
  syncedAt: at(10 + version),
  statements: [],
  fence,
})

describe.skipIf(!existsSync(compiled))('compiled', () => {
  let threaded: Warehouse
  let local: Warehouse
  beforeAll(async () => {
    const { openWarehouse } = (await import(compiled.href)) as typeof import('../../src/warehouse/open.js')
    threaded = await openWarehouse({ ...warehouses()[0]!.address(), model: known })
    await threaded.migrate()
    local = await open(warehouses()[0]!, known)
  })
  afterAll(() => Promise.all([threaded.close(), local.close()]))

  it('stores the same, counts the same, and takes batches that were packed early', async () => {
    for (const version of [0, 1, 1, 0]) {
      const given = batch(version)
      if (version === 1) threaded.foresee(given.flattened)
      const [there, here] = [await threaded.apply(given), await local.apply(batch(version))]
      expect(there).toEqual(here)
    }
    expect(await contents(threaded, known)).toEqual(await contents(local, known))
  })

  it('lets this thread write between the batches of that', async () => {
    const both = await Promise.all([
      threaded.apply(batch(2)),
      threaded.write([threaded.db.deleteFrom('sync_drift').compile()]),
      threaded.apply(batch(2)),
    ])
    expect(both[0].written).toBeGreaterThan(0)
  })

  it('gives errors back in their class, and writes nothing of the batch', async () => {
    const before = await contents(threaded, known)
    const failed = await threaded.apply(batch(3, 99)).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      name: 'Stop',
      exitCode: 4,
      message: expect.stringContaining('taken over'),
    })
    expect(Object.getPrototypeOf(failed).constructor.name).toBe(Stop.name)
    expect(await contents(threaded, known)).toEqual(before)
  })
})
