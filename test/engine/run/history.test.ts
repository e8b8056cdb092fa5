/** The history of runs is kept for a while and thinned before that, and a run removes a limited part of it. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { tellWhy } from '../../../src/features/why/work.js'
import { template } from '../../../src/sandbox/index.js'
import { depsOf, type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
sandbox.store.put(1, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))

const today = BigInt(Date.parse(new Date().toISOString().slice(0, 10)))
/** This many days ago, at an hour of the day. */
const ago = (days: number, hour = 0): string =>
  fromMicros((today - BigInt(days) * 86_400_000n + BigInt(hour) * 3_600_000n) * 1000n)

/** Records runs as if they had happened: one per hour, with this many cursors that stored this many rows. */
async function past(
  warehouse: Warehouse,
  days: number,
  hours: readonly number[],
  { cursors = 2, rows = 0, status = 'ok' } = {},
): Promise<void> {
  const { db } = warehouse
  for (const hour of hours) {
    const at = ago(days, hour)
    const run = { run_id: `past-${at}`, started_at: at }
    const ends = Array.from({ length: cursors }, (_, i) => ({
      ...{
        run_id: run.run_id,
        tenant_id: 1,
        resource: `r${i}`,
        step: 1,
        status,
        started_at: at,
        finished_at: at,
      },
      ...{ requests: 1, rows_upserted: rows, rows_deleted: 0 },
    }))
    const row = { ...run, mode: 'sync', status, finished_at: at, rows_upserted: rows }
    await warehouse.write([
      db.insertInto('sync_runs').values(row).compile(),
      db.insertInto('sync_run_cursors').values(ends).compile(),
    ])
  }
}

const run = (warehouse: Warehouse, options: RunOptions = {}) =>
  sync(sandbox, warehouse, { resources: ['notes'], ...options })
/** The next run prunes the history, whatever the day. */
const forgetTheDay = (warehouse: Warehouse) =>
  warehouse.write([warehouse.db.deleteFrom('sync_meta').where('name', '=', 'history_pruned_on').compile()])
const pastRuns = async (warehouse: Warehouse, table: string): Promise<string[]> =>
  (await rowsOf(warehouse, table)).map(({ run_id }) => String(run_id)).filter((id) => id.startsWith('past'))

describe.each(bothWarehouses())('$name', (kind) => {
  it('runs, cursors and requests older than history.keep are removed', async () => {
    const warehouse = await open(kind)
    await past(warehouse, 95, [3], { rows: 5 })
    await past(warehouse, 89, [3], { rows: 5 })
    const request = { tenant_id: 1, resource: 'notes', run_id: 'past', way: 'walk', rows_written: 1 }
    for (const days of [95, 89])
      await warehouse.write([
        warehouse.db
          .insertInto('sync_requests')
          .values({ ...request, synced_at: ago(days, 3) })
          .compile(),
      ])
    await run(warehouse)
    // The tenant wasn't known before that run; the requests are removed by the next one.
    await forgetTheDay(warehouse)
    await run(warehouse)
    expect(await pastRuns(warehouse, 'sync_runs')).toEqual([`past-${ago(89, 3)}`])
    expect(await pastRuns(warehouse, 'sync_run_cursors')).toHaveLength(2)
    expect((await rowsOf(warehouse, 'sync_requests')).map(({ synced_at }) => synced_at)).not.toContain(
      ago(95, 3),
    )
    expect((await rowsOf(warehouse, 'sync_requests')).map(({ synced_at }) => synced_at)).toContain(ago(89, 3))
    await forgetTheDay(warehouse)
    await run(warehouse, { historyKeepMs: 88 * 86_400_000 })
    expect(await pastRuns(warehouse, 'sync_runs')).toEqual([])
    await warehouse.close()
  })

  it('of idle runs older than a week, one row per day and cursor stays; runs with rows or failures stay', async () => {
    const warehouse = await open(kind)
    await past(warehouse, 20, [1, 3, 5])
    await past(warehouse, 20, [2], { rows: 7 })
    await past(warehouse, 20, [4], { status: 'failed' })
    await past(warehouse, 9, [1, 2])
    await past(warehouse, 5, [1, 2, 3])
    await run(warehouse)
    const kept = [ago(20, 2), ago(20, 4), ago(20, 5), ago(9, 2), ago(5, 1), ago(5, 2), ago(5, 3)].map(
      (at) => `past-${at}`,
    )
    expect((await pastRuns(warehouse, 'sync_runs')).sort()).toEqual([...kept].sort())
    expect((await pastRuns(warehouse, 'sync_run_cursors')).sort()).toEqual(
      kept.flatMap((id) => [id, id]).sort(),
    )
    await warehouse.close()
  })

  it('a run removes a limited part, the next one continues, and then the day is done', async () => {
    const warehouse = await open(kind)
    for (let hour = 0; hour < 12; hour++) await past(warehouse, 100, [hour], { cursors: 1000 })
    await run(warehouse)
    const left = await pastRuns(warehouse, 'sync_run_cursors')
    expect(left.length).toBeGreaterThan(0)
    expect(left.length).toBeLessThan(12_000)
    await run(warehouse)
    await run(warehouse)
    expect(await pastRuns(warehouse, 'sync_run_cursors')).toEqual([])
    await past(warehouse, 100, [1])
    await run(warehouse)
    expect(await pastRuns(warehouse, 'sync_runs')).toHaveLength(1)
    await warehouse.close()
  })

  it('why reports how far back it knows anything', async () => {
    const warehouse = await open(kind)
    await run(warehouse)
    await warehouse.write([
      ...(['sync_runs', 'sync_run_cursors', 'sync_requests'] as const).map((table) =>
        warehouse.db.deleteFrom(table).compile(),
      ),
    ])
    await run(warehouse)
    const [first] = await rowsOf(warehouse, 'sync_runs')
    const { deps, close } = await depsOf(sandbox, warehouse)
    const told = await tellWhy(deps, { table: 'notes', id: '1', tenants: null })
    await close()
    expect(told).toMatchObject({ known_since: first?.started_at, rows: [{ table: 'notes' }] })
    expect(String(told.known_since) <= fromMicros(systemClock.nowMicros())).toBe(true)
    await warehouse.close()
  })
})
