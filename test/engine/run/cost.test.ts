/**
 * Law 8: an idle cursor costs one request. n changed records cost ceil(n/100), one more if a page is exactly full, and
 * at most two more to close the books.
 */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { createSandbox } from '../../../src/sandbox/index.js'
import { Killed, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at } from '../../support/world/notes.js'
import { OneList, proven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind, { overlapMs: 0, clock: systemClock })

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
    await list.begin(count)
    await list.sync({ ...proven, requests })
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
    await list.loaded(300)
    for (let id = 1; id <= changed; id++) list.put(id, at(100_000 + id))
    await list.sync({ ...proven, requests })
    await list.sync({ requests: 1, rows_upserted: 0 })
  })

  it.each([
    ['costs one more request, not more, when something changes while several pages are read', 0, 6],
    ['reads a late zone of four pages once more then, its first page not', 300_000, 9],
  ])('%s', async (_, overlapMs, requests) => {
    await list.begin(0)
    for (let id = 1; id <= 350; id++) list.put(id, at(id))
    const off = list.onList(
      (asked) => asked === 3 && sandbox.store.change(1, 'notes', 9, { description: 'changed' }),
    )
    await list.sync({ status: 'ok', requests }, { overlapMs })
    off()
  })

  it('a first load that was killed goes on after the pages that it stored', async () => {
    await list.begin(1000)
    let asked = 0
    const dying = (source: Source): Source =>
      new Between(source, async (_request, ask) => {
        if (++asked > 5) throw new Killed()
        return ask()
      })
    await list.cut({ readAhead: 0, concurrency: 1, around: dying })
    expect((await list.live()).size).toBe(500)
    // Two counts say where it goes on; then come five pages, at most two again, and two that close the books.
    const { requests } = await list.sync({ status: 'ok' }, { readAhead: 0 })
    expect(requests).toBeLessThanOrEqual(12)
  })

  it('requests every cursor of an idle warehouse exactly once, and the authorizations once', async () => {
    await list.begin(0)
    const shops = await createSandbox({ tenants: 2, repairOrders: 6, seed: 3 })
    expect((await sync(shops, list.warehouse)).status).toBe('ok')
    const idle = await sync(shops, list.warehouse)
    expect(idle).toMatchObject({ requests: idle.cursors.length + 1, rows_upserted: 0 })
    await shops.close()
  })
})
