/** SQLite's writer thread: which pages it takes, and that an error comes back as it was. The laws show what it stores. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { known } from '../../support/harness/runs.js'
import { pagesToThreads } from '../../support/harness/thread.js'
import {
  bothWarehouses,
  claimLease,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'

const at = (n: number): string => `2026-01-01T00:00:${String(n).padStart(2, '0')}.000000Z`
const notes = known.byName.get('notes')!

const batch = (warehouse: Warehouse, rows: number, version: number) => {
  const records = Array.from({ length: rows }, (_, i) => ({ id: i + 1, updated_at: at(version) }))
  const key = { tenantId: 7, resource: 'notes' }
  const page = warehouse.encode(notes.flatten(7, records, false), key)
  return { ...key, page, syncedAt: at(10 + version), statements: [] }
}

describe('the writer thread', () => {
  let warehouse: Warehouse
  beforeAll(async () => {
    const [sqlite] = bothWarehouses()
    // Without a number of a test, as the program opens it.
    const { url, schema } = await sqlite!.migrated()
    warehouse = await reopen({ url, schema })
  })
  afterAll(() => warehouse.close())

  it('takes pages with at least 300 rows', async () => {
    const taken: number[] = []
    for (const [version, rows] of [1, 299, 300].entries()) {
      const before = pagesToThreads()
      expect((await warehouse.apply(batch(warehouse, rows, version))).written).toBe(rows)
      taken.push(pagesToThreads() - before)
    }
    expect(taken).toEqual([0, 0, 1])
  })

  it('throws an error of the same class, and stores no row of the batch', async () => {
    const before = await rowsOf(warehouse, 'notes')
    const claim = (runId: string) => claimLease(warehouse, { runId, command: 'sync', leaseMs: 60_000 })
    const former = await claim('former')
    await former.release()
    await (await claim('holder')).release()
    const page = batch(warehouse, 300, 5)
    const threads = pagesToThreads()
    const failed = await warehouse
      .under(former, 'former')
      .apply(page)
      .catch((error: unknown) => error)
    expect(pagesToThreads()).toBe(threads + 1)
    expect(failed).toMatchObject({ exitCode: 4, message: expect.stringContaining('taken over') })
    expect(failed).toBeInstanceOf(Stop)
    expect(await rowsOf(warehouse, 'notes')).toEqual(before)
    // No row of the page was stored, so the page can be sent again.
    expect((await warehouse.apply(page)).written).toBe(300)
  })
})
