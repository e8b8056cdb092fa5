/** What adopt changes; test/transcripts/adopt.txt shows what it says. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createSandbox } from '../../../src/sandbox/index.js'
import { viewedPlace } from '../../support/harness/place.js'

/** The end of the generated data: both sandboxes have the same records. */
const until = '2026-01-01T00:00:00Z'
const sync = { resources: ['customers', 'inventories', 'notes', 'repair_orders', 'shops', 'vehicles'] }

test("another source's warehouse that lacks tables stays as it is, whatever would write to it", async () => {
  const other = await createSandbox({ tenants: 2, repairOrders: 12, seed: 3, until })
  const own = await viewedPlace({ until })
  own.configure({ sync })
  expect(await own.run('sync', '--quiet')).toMatchObject({ code: 0 })
  own.configure({ api: { baseUrl: other.url }, sync })
  const file = new Database(join(own.folder, 'data/warehouse.db'))
  const outline = (): unknown => file.prepare('select name, sql from sqlite_schema order by name').all()
  file.exec('drop view shop_days; drop table customer_phones')
  const before = outline()
  for (const command of ['sync', 'snapshot', 'forget --tenant 101 --yes', 'quarantine replay']) {
    const { code, stderr } = await own.run(...command.split(' '))
    expect([command, code]).toEqual([command, 2])
    expect(stderr).toContain('shopsync adopt --same-data')
    expect(outline()).toEqual(before)
  }
  expect(other.requests).toEqual([])
  expect(await own.run('adopt', '--same-data', '--yes')).toMatchObject({ code: 0 })
  expect(outline()).toContainEqual(expect.objectContaining({ name: 'customer_phones' }))
  expect(await own.run('sync', '--quiet')).toMatchObject({ code: 0 })
  // Everything is kept: the next sync asks each list once.
  const lists = 1 + 2 * sync.resources.length
  expect((await own.run('sync', '--json')).json()).toMatchObject({ status: 'ok', requests: lists })
  expect((await own.run('adopt')).stdout).toContain('already; nothing was changed')
  own.configure({ sync })
  expect(await own.run('adopt', '--yes')).toMatchObject({ code: 0 })
  expect(file.prepare('select count(*) from sync_cursors where watermark is not null').pluck().get()).toBe(0)
  const { records } = (await own.run('plan', '--json')).json<{ records: number }>()
  expect(records).toBeGreaterThan(100)
  for (const words of ['sync', 'verify']) expect(await own.run(words)).toMatchObject({ code: 0 })
  file.close()
  await other.close()
  await own.remove()
})
