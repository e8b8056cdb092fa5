/** The writer thread stores what this thread would store, and an error comes back as it was. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { Stop } from '../../../src/engine/base/errors.js'
import { model } from '../../support/harness/model.js'
import { pagesToThreads } from '../../support/harness/thread.js'
import {
  claimLease,
  contents,
  open,
  reopen,
  sqliteBothWays,
  type Warehouse,
} from '../../support/harness/warehouse.js'

const known = model(resources)
const orders = known.byName.get('repair_orders')!
const at = (n: number): string => `2026-01-01T00:00:${String(n).padStart(2, '0')}.000000Z`

const page = (version: number) =>
  orders.flatten(
    1,
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

const batch = (warehouse: Warehouse, version: number) => ({
  tenantId: 7,
  resource: 'repair_orders',
  page: warehouse.encode(page(version), { tenantId: 7, resource: 'repair_orders' }),
  syncedAt: at(10 + version),
  statements: [],
})

describe('the writer thread', () => {
  let threaded: Warehouse
  let local: Warehouse
  const [every, none] = sqliteBothWays().map(([, kind]) => kind)
  beforeAll(async () => {
    threaded = await open(every!, known)
    local = await open(none!, known)
  })
  afterAll(() => Promise.all([threaded.close(), local.close()]))

  it('stores the same, and counts the same', async () => {
    for (const version of [0, 1, 1, 0]) {
      const before = pagesToThreads()
      const there = await threaded.apply(batch(threaded, version))
      expect(pagesToThreads()).toBe(before + 1)
      expect(await local.apply(batch(local, version))).toEqual(there)
      expect(pagesToThreads()).toBe(before + 1)
    }
    expect(await contents(threaded, known)).toEqual(await contents(local, known))
  })

  it('takes pages with at least 300 rows', async () => {
    const { url, schema } = await none!.migrated()
    const usual = await reopen({ url, schema })
    const isOffloaded = (warehouse: Warehouse, rows: number): boolean => {
      const tuples = new Map([['repair_orders', Array.from({ length: rows }, (_, i) => [i])]])
      return (warehouse.dialect.bulk.encode(tuples, known.tableByName) as { isOffloaded: boolean })
        .isOffloaded
    }
    for (const rows of [0, 299, 300]) {
      expect(isOffloaded(threaded, rows)).toBe(true)
      expect(isOffloaded(local, rows)).toBe(false)
      expect(isOffloaded(usual, rows)).toBe(rows >= 300)
    }
    await usual.close()
  })

  it('lets transactions of this thread in between', async () => {
    const both = await Promise.all([
      threaded.apply(batch(threaded, 2)),
      threaded.write([threaded.db.deleteFrom('sync_drift').compile()]),
      threaded.apply(batch(threaded, 2)),
    ])
    expect(both[0].written).toBeGreaterThan(0)
  })

  it('throws an error of the same class, and stores no row of the batch', async () => {
    const before = await contents(threaded, known)
    const former = await claimLease(threaded, { runId: 'former', command: 'sync', leaseMs: 60_000 })
    await former.release()
    const holder = await claimLease(threaded, { runId: 'holder', command: 'sync', leaseMs: 60_000 })
    await holder.release()
    const page3 = batch(threaded, 3)
    const failed = await threaded
      .under(former, 'former')
      .apply(page3)
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({
      name: 'Stop',
      exitCode: 4,
      message: expect.stringContaining('taken over'),
    })
    expect(failed).toBeInstanceOf(Stop)
    expect(await contents(threaded, known)).toEqual(before)
    // No row of the page was stored, so the page can be sent again.
    expect((await threaded.apply(page3)).written).toBeGreaterThan(0)
  })
})
