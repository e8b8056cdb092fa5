/**
 * Backfill: reads a time range again, starting at the right page, without moving a watermark. test/transcripts/plan.txt has
 * the words of a range.
 */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import {
  type RunOptions,
  type RunReport,
  type Source,
  sync,
  type TimeRange,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at, fill, listed, live, liveIds, lose, only } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

const backfill = (
  warehouse: Warehouse,
  ranges: readonly TimeRange[],
  ask: RunOptions = {},
): Promise<RunReport> => sync(sandbox, warehouse, { resources: ['notes'], ...ask, mode: 'backfill', ranges })
/** The records with ids from `first` up to, but not including, `last`. */
const between = (first: number, last: number): TimeRange => ({ from: at(first * 7), to: at(last * 7) })
/** Seconds between two records. */
const nothing = (id: number): TimeRange => ({ from: at(id * 7 + 2), to: at(id * 7 + 3) })
const ids = (first: number, last: number): number[] =>
  Array.from({ length: last - first }, (_, i) => first + i)

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  async function prepared(count: number, synced = true): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await stock.open()
    if (synced) await sync(sandbox, warehouse, { resources: ['notes'] })
    sandbox.resetRequests()
    return warehouse
  }

  it.each([
    [0, 100],
    [437, 500],
    [1000, 5000],
    [4990, 17],
    [3000, 0],
  ])(
    'skips %i newer records and fetches %i, with the pages of the range and two or three requests',
    async (newer, wanted) => {
      const warehouse = await prepared(6000, false)
      const last = 6001 - newer
      const report = await backfill(warehouse, [wanted > 0 ? between(last - wanted, last) : nothing(last)])
      expect(only(report)).toMatchObject({
        status: 'ok',
        completeness: 'proven',
        records: wanted,
        watermark: null,
      })
      // If the last page is full, the next one is requested too.
      const isFull = (newer + wanted) % 100 === 0
      expect(listed(sandbox)).toBeLessThanOrEqual(Math.ceil(wanted / 100) + (isFull ? 3 : 2))
      expect(await liveIds(warehouse)).toEqual(ids(last - wanted, last))
    },
  )

  it("349 of 350 records of an unchanged range don't count as complete", async () => {
    const warehouse = await prepared(1000, false)
    sandbox.store.collection(1, 'notes').odd.hidden.add(500)
    const report = await backfill(warehouse, [between(400, 750)])
    expect(only(report)).toMatchObject({
      status: 'failed',
      completeness: 'unproven',
      reason: 'totals_disagree',
    })
    expect(only(report)?.error).toContain('the range holds 350, the list showed 349')
    expect(await liveIds(warehouse)).toEqual(ids(400, 750).filter((id) => id !== 500))
    // A range that one response shows completely follows the same rule.
    const small = await backfill(warehouse, [between(480, 520)])
    expect(only(small)).toMatchObject({ status: 'failed', completeness: 'unproven' })
    expect(only(small)?.error).toContain('the range holds 40, the list showed 39')
    // A record that was seen and is gone before the next reading doesn't stand for one that no reading shows.
    const off = sandbox.onRequest(({ perPage }) => {
      if (perPage === 97) sandbox.store.remove(1, 'notes', 600)
    })
    const moved = await backfill(warehouse, [between(400, 750)])
    off()
    expect(only(moved)?.error).toContain('the range holds 349, the list showed 348')
  })

  it.each(['id', 'oldest'] as const)(
    'a list by %s has no place where a range starts: everything newer is read, at best with verdict repaired',
    async (by) => {
      const warehouse = await prepared(1000, false)
      const { odd } = sandbox.store.collection(1, 'notes')
      odd.order = by
      const range = [between(400, 700)]
      const told = { completeness: 'repaired', reason: 'order' }
      expect(only(await backfill(warehouse, range))).toMatchObject({ status: 'ok', ...told })
      expect(await liveIds(warehouse)).toEqual(ids(400, 700))
      await lose(warehouse, [500])
      odd.hidden.add(900)
      const short = only(await backfill(warehouse, range))
      expect(short).toMatchObject({ status: 'failed', completeness: 'unproven', reason: 'order' })
      expect(await liveIds(warehouse)).toEqual(ids(400, 700))
      odd.heal()
    },
  )

  it('fixes only rows in the range, and moves neither watermark nor newer versions', async () => {
    const warehouse = await prepared(2000)
    const [before] = await rowsOf(warehouse, 'sync_cursors')
    await lose(warehouse, [500, 600, 1500])
    const { db } = warehouse
    const newer = { updated_at: at(90_000), description: 'a webhook brought this' }
    await warehouse.write([db.updateTable('notes').set(newer).where('id', '=', 650).compile()])
    await backfill(warehouse, [between(400, 700)])
    const rows = await live(warehouse)
    expect([rows.has(500), rows.has(600), rows.has(1500)]).toEqual([true, true, false])
    expect(rows.get(650)).toBe(at(90_000))
    expect((await rowsOf(warehouse, 'sync_cursors'))[0]).toEqual(before)
  })

  it('includes the first instant of the range and excludes the last, to the microsecond', async () => {
    const warehouse = await prepared(0)
    const times = [at(100), at(100, 1), at(100, 500_000), at(101), at(101, 1)]
    for (const [i, time] of times.entries()) sandbox.store.put(1, 'notes', template('notes', i + 1, time))
    await backfill(warehouse, [{ from: at(100, 1), to: at(101) }])
    expect(await liveIds(warehouse)).toEqual([2, 3])
  })

  it('continues after any interruption, and keeps nothing of it when it is done', async () => {
    const warehouse = await prepared(3000, false)
    const range = [between(100, 2900)]
    for (const at of [4, 9, 13]) {
      const stop = new AbortController()
      let requests = 0
      const around = (source: Source): Source =>
        new Between(source, (_, ask) => {
          if (++requests === at) stop.abort()
          return ask()
        })
      await backfill(warehouse, range, { signal: stop.signal, around })
    }
    expect((await rowsOf(warehouse, 'sync_backfills'))[0]?.boundary).not.toBeNull()
    sandbox.resetRequests()
    const report = await backfill(warehouse, range)
    expect(only(report)).toMatchObject({ status: 'ok', completeness: 'repaired' })
    expect(listed(sandbox)).toBeLessThan(16)
    expect(await liveIds(warehouse)).toEqual(ids(100, 2900))
    expect(await rowsOf(warehouse, 'sync_backfills')).toEqual([])
  })

  it('loses nothing when records before it are deleted while it reads', async () => {
    const warehouse = await prepared(3000, false)
    let requests = 0
    const off = sandbox.onRequest(({ resource }) => {
      if (resource !== 'notes') return
      requests++
      for (let n = 0; n < 30; n++) sandbox.store.remove(1, 'notes', 3000 - requests * 30 - n)
    })
    const report = await backfill(warehouse, [between(500, 2000)])
    off()
    expect(only(report)).toMatchObject({ status: 'ok', completeness: 'repaired' })
    const found = new Set(await liveIds(warehouse))
    const left = sandbox.store.ids(1, 'notes').filter((id) => id >= 500 && id < 2000)
    expect(left.filter((id) => !found.has(id))).toEqual([])
  })

  it('finds every record of a tie that the source shuffles from page to page', async () => {
    const warehouse = await prepared(0)
    for (let id = 1; id <= 450; id++) sandbox.store.put(1, 'notes', template('notes', id, at(50, 5)))
    sandbox.store.shuffleTies = true
    let report: RunReport | undefined
    for (let n = 0; n < 20 && only(report ?? ({ cursors: [] } as unknown as RunReport))?.status !== 'ok'; n++)
      report = await backfill(warehouse, [{ from: at(1), to: at(60) }])
    expect(await liveIds(warehouse)).toHaveLength(450)
  })

  it('reads a list of names whole, which has no times: what it calls complete was read', async () => {
    const names = 'customer_payment_types'
    const warehouse = await prepared(0)
    sandbox.store.tenant(1).strings.set(names, ['Cash', 'Card'])
    const report = await backfill(warehouse, [nothing(1)], { resources: [names] })
    expect(only(report, names)).toMatchObject({ completeness: 'proven', records: 2, requests: 1 })
    expect((await rowsOf(warehouse, names)).map(({ name }) => name)).toEqual(['Card', 'Cash'])
  })

  it('begins with the year 1, before which no time can be expressed', async () => {
    const warehouse = await prepared(30)
    sandbox.store.put(1, 'notes', { ...template('notes', 900, at(0)), updated_at: '0001-01-01T00:00:00Z' })
    const report = await backfill(warehouse, [{ from: '0001-01-01T00:00:00.000000Z', to: at(1000) }])
    expect(only(report)).toMatchObject({ status: 'ok', completeness: 'proven', records: 31 })
    expect(await liveIds(warehouse)).toContain(900)
  })

  it('several ranges and tenants in one sync', async () => {
    const warehouse = await prepared(1000, false)
    sandbox.store.addTenant({ id: 2 })
    for (let id = 1; id <= 50; id++) sandbox.store.put(2, 'notes', template('notes', id, at(id * 7)))
    const report = await backfill(warehouse, [between(10, 20), between(900, 950)])
    const pulled = report.cursors.map((cursor) => `${cursor.tenant_id}: ${cursor.records}`)
    expect(pulled.sort()).toEqual(['1: 60', '2: 10'])
  })
})
