/** The history of runs is kept for a while and thinned before that, and a run removes a limited part of it. */
import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { why } from '../../support/harness/commands.js'
import { type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, kept, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
sandbox.store.put(1, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))

const today = BigInt(Date.parse(new Date().toISOString().slice(0, 10)))
/** This many days ago, at an hour of the day. */
const ago = (days: number, hour = 0): string =>
  fromMicros((today - BigInt(days) * 86_400_000n + BigInt(hour) * 3_600_000n) * 1000n)

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  /** Records runs as if they had happened: one per hour, with this many cursors that stored this many rows. */
  async function past(days: number, hours: readonly number[], { cursors = 2, rows = 0, status = 'ok' } = {}) {
    const { db } = warehouse
    for (const hour of hours) {
      const at = ago(days, hour)
      const ran = { run_id: `past-${at}`, status, started_at: at, finished_at: at, rows_upserted: rows }
      const ends = Array.from({ length: cursors }, (_, i) => ({
        ...ran,
        tenant_id: 1,
        resource: `r${i}`,
        step: 1,
        requests: 1,
        rows_deleted: 0,
      }))
      await warehouse.write([
        db
          .insertInto('sync_runs')
          .values({ ...ran, mode: 'sync' })
          .compile(),
        db.insertInto('sync_run_cursors').values(ends).compile(),
      ])
    }
  }
  const run = (options: RunOptions = {}) => sync(sandbox, warehouse, { resources: ['notes'], ...options })
  /** The next run prunes the history, whatever the day. */
  const forgetTheDay = () =>
    warehouse.write([warehouse.db.deleteFrom('sync_meta').where('name', '=', 'history_pruned_on').compile()])
  const pastRuns = async (table = 'sync_runs'): Promise<string[]> =>
    (await rowsOf(warehouse, table))
      .map(({ run_id }) => String(run_id))
      .filter((id) => id.startsWith('past'))
      .sort()

  it('runs, cursors and requests older than history.keep are removed', async () => {
    const request = { tenant_id: 1, resource: 'notes', run_id: 'past', way: 'walk', rows_written: 1 }
    for (const days of [95, 89]) {
      await past(days, [3], { rows: 5 })
      const row = { ...request, synced_at: ago(days, 3) }
      await warehouse.write([warehouse.db.insertInto('sync_requests').values(row).compile()])
    }
    await run()
    // The tenant wasn't known before that run; the requests are removed by the next one.
    await forgetTheDay()
    await run()
    expect(await pastRuns()).toEqual([`past-${ago(89, 3)}`])
    expect(await pastRuns('sync_run_cursors')).toHaveLength(2)
    const stamps = (await rowsOf(warehouse, 'sync_requests')).map(({ synced_at }) => synced_at)
    expect([95, 89].map((days) => stamps.includes(ago(days, 3)))).toEqual([false, true])
    await forgetTheDay()
    await run({ historyKeepMs: 88 * 86_400_000 })
    expect(await pastRuns()).toEqual([])
  })

  it('of idle runs older than a week, one row per day and cursor stays; runs with rows or failures stay', async () => {
    await past(20, [1, 3, 5])
    await past(20, [2], { rows: 7 })
    await past(20, [4], { status: 'failed' })
    await past(9, [1, 2])
    await past(5, [1, 2, 3])
    await run()
    const stay = [ago(20, 2), ago(20, 4), ago(20, 5), ago(9, 2), ago(5, 1), ago(5, 2), ago(5, 3)]
    const names = stay.map((at) => `past-${at}`)
    expect(await pastRuns()).toEqual(names)
    expect(await pastRuns('sync_run_cursors')).toEqual(names.flatMap((id) => [id, id]))
  })

  it('a run removes a limited part, the next one continues, and then the day is done', async () => {
    for (let hour = 0; hour < 6; hour++) await past(100, [hour], { cursors: 1000 })
    await run()
    const left = await pastRuns('sync_run_cursors')
    expect(left.length).toBeGreaterThan(0)
    expect(left.length).toBeLessThan(6000)
    await run()
    await run()
    expect(await pastRuns('sync_run_cursors')).toEqual([])
    await past(100, [1])
    await run()
    expect(await pastRuns()).toHaveLength(1)
  })

  it('why reports how far back it knows anything', async () => {
    await run()
    const histories = ['sync_runs', 'sync_run_cursors', 'sync_requests'] as const
    await warehouse.write(histories.map((table) => warehouse.db.deleteFrom(table).compile()))
    await run()
    const [first] = await rowsOf(warehouse, 'sync_runs')
    const told = await why(sandbox, warehouse, { id: 1 })
    expect(told).toMatchObject({ known_since: first?.started_at, rows: [{ table: 'notes' }] })
    expect(String(told.known_since) <= fromMicros(systemClock.nowMicros())).toBe(true)
  })
})
