/** What the writer thread stores is what this thread would store, and an error comes back as what it was. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { Stop } from '../../src/errors.js'
import { model } from '../../src/model/registry.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { pagesToThreads } from '../support/thread.js'
import { contents, open, sqliteBothWays } from '../support/warehouse.js'

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

describe('the writer thread', () => {
  let threaded: Warehouse
  let local: Warehouse
  beforeAll(async () => {
    const [every, none] = sqliteBothWays().map(([, kind]) => kind)
    threaded = await open(every!, known)
    local = await open(none!, known)
  })
  afterAll(() => Promise.all([threaded.close(), local.close()]))

  it('stores the same, counts the same, and takes batches that were packed early', async () => {
    for (const version of [0, 1, 1, 0]) {
      const given = batch(version)
      if (version === 1) threaded.foresee(given.flattened)
      const before = pagesToThreads()
      const there = await threaded.apply(given)
      expect(pagesToThreads()).toBe(before + 1)
      expect(await local.apply(batch(version))).toEqual(there)
      expect(pagesToThreads()).toBe(before + 1)
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
    expect(failed).toBeInstanceOf(Stop)
    expect(await contents(threaded, known)).toEqual(before)
  })
})
