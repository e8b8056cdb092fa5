/**
 * Law 8: an idle cursor costs one request. n changed records cost ceil(n/100), one more if a page is exactly full, and
 * at most two more to close the books.
 */
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const base = 1_767_225_600_000_000n
const second = 1_000_000n
const at = (n: number): string => fromMicros(base + BigInt(n) * second)

function fill(sandbox: Sandbox, count: number, from = 1): void {
  for (let id = from; id < from + count; id++) sandbox.store.put(1, 'notes', template('notes', id, at(id)))
}

const listed = (sandbox: Sandbox): number =>
  sandbox.requests.filter((line) => line.resource === 'notes').length
const only = (report: RunReport) => report.cursors.find((cursor) => cursor.resource === 'notes')

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  async function prepared(count: number): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'] })
    return warehouse
  }

  it.each([
    [0, 1],
    [1, 1],
    [99, 1],
    // A page that is full, or as long as a common server limit, may be followed by another.
    [100, 2],
    [30, 2],
    [50, 2],
    [101, 3],
    [200, 4],
    [250, 4],
  ])('a first load of %i records costs %i requests when nothing moves', async (count, requests) => {
    const warehouse = await prepared(count)
    expect(listed(sandbox)).toBe(requests)
    await warehouse.close()
  })

  it.each([
    [0, 1],
    [1, 1],
    [30, 1],
    [50, 1],
    [98, 1],
    // Full pages to the end, including the record at the watermark: the page after the last one is requested.
    [99, 2],
    [199, 4],
    [250, 4],
  ])('%i changed records cost %i requests', async (changed, requests) => {
    const warehouse = await prepared(1000)
    for (let id = 1; id <= changed; id++)
      sandbox.store.put(1, 'notes', template('notes', id, at(100_000 + id)))
    sandbox.resetRequests()
    const report = await sync(sandbox, warehouse, { resources: ['notes'], overlapMs: 0 })
    expect(only(report)).toMatchObject({ status: 'ok', completeness: 'proven', requests })
    expect(listed(sandbox)).toBe(requests)
    sandbox.resetRequests()
    const idle = await sync(sandbox, warehouse, { resources: ['notes'], overlapMs: 0 })
    expect(only(idle)).toMatchObject({ requests: 1, rows_upserted: 0 })
    await warehouse.close()
  })

  it.each([
    ['costs one more request, not more, when something changes while several pages are read', 0, 6],
    ['reads a late zone of four pages once more then, its first page not', 300_000, 9],
  ])('%s', async (_, overlapMs, requests) => {
    const warehouse = await prepared(0)
    fill(sandbox, 350)
    let lists = 0
    const off = sandbox.onRequest(({ resource }) => {
      if (resource === 'notes' && ++lists === 3)
        sandbox.store.change(1, 'notes', 9, { description: 'changed' })
    })
    sandbox.resetRequests()
    const report = await sync(sandbox, warehouse, { resources: ['notes'], overlapMs })
    off()
    expect(only(report)).toMatchObject({ status: 'ok', requests })
    await warehouse.close()
  })

  it('requests every cursor of an idle warehouse exactly once, and the authorizations once', async () => {
    const shops = await createSandbox({ tenants: 2, scale: 0.05 })
    const warehouse = await open(kind)
    const first = await sync(shops, warehouse)
    const second = await sync(shops, warehouse)
    expect(first.status).toBe('ok')
    expect(second.requests).toBe(second.cursors.length + 1)
    expect(second.rows_upserted).toBe(0)
    await warehouse.close()
    await shops.close()
  })
})
