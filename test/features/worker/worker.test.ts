/** Workers: rounds sent by hand and by `schedule`, and taken by programs in this process. Those that are killed: test/long. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { type Place, place } from '../../support/place.js'
import { writeJob } from '../../support/scheduler.js'
import { bothWarehouses, reopen } from '../../support/warehouse.js'

let here: Place
let warehouse: Warehouse

beforeAll(async () => {
  const [, postgres] = bothWarehouses()
  const address = await postgres!.migrated()
  here = await place({ tenants: 5, repairOrders: 3 })
  here.configure({
    warehouse: { ...address },
    sync: { resources: ['notes', 'shops'] },
    workers: { listen: false } as never,
  })
  warehouse = await reopen(address)
  writeJob(here.folder, 'mine', { steps: [{ command: 'sync' }, { command: 'snapshot' }] })
})
afterAll(async () => {
  await warehouse.close()
  await here.remove()
})

const runs = async () => {
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_runs').select(['shard', 'mode', 'status']).orderBy('seq').execute(),
  )
  return rows.map(({ shard, mode, status }) => `${shard ?? mode} ${status}`)
}

test('a SQLite warehouse has none', async () => {
  const lite = await place({ tenants: 1, repairOrders: 1 })
  for (const words of [['worker'], ['run', 'hourly', '--enqueue', '2']]) {
    const { code, stderr } = await lite.run(...words)
    expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining('Type shopsync schedule here')])
    expect(stderr).toContain('shopsync copy --to postgres://')
  }
  lite.configure({ schedule: { shards: 8 } })
  expect(await lite.run('schedule')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('found 8 and a SQLite warehouse'),
  })
  expect(lite.sandbox.requests).toEqual([])
  expect(existsSync(join(lite.folder, 'data/warehouse.db'))).toBe(false)
  await lite.remove()
})

test('a round is taken shard by shard, then what concerns the whole warehouse', async () => {
  expect((await here.run('worker', '--once')).code).toBe(0)
  const sent = await here.run('run', 'mine', '--enqueue', '3', '--json')
  expect([sent.code, sent.json()]).toEqual([0, { job: 'mine', planned_at: expect.any(String), shards: 3 }])
  expect(await here.run('run', 'mine', '--enqueue', '3')).toMatchObject({ code: 4 })
  const ended = await here.run('worker', '--once', '--parallel', '2')
  expect(ended.code, ended.stderr).toBe(0)
  const done = await runs()
  expect(done.toSorted()).toEqual(['0/3 ok', '1/3 ok', '2/3 ok', 'whole ok'])
  expect(done.at(-1)).toBe('whole ok')
  expect(await warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())).toHaveLength(5)
})
