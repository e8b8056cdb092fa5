/** Backfill: reads a time range again, starting at the right page, without moving a watermark. */
import { describe, expect, it } from 'vitest'
import { describeError, type Stop } from '../../../src/engine/base/errors.js'
import { template } from '../../../src/sandbox/index.js'
import { parseRange, parseRanges } from '../../../src/shell/timerange.js'
import {
  type RunOptions,
  type RunReport,
  type Source,
  sync,
  type TimeRange,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
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
  async function prepared(count: number, synced = true): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    if (synced) await sync(sandbox, warehouse, { resources: ['notes'] })
    sandbox.resetRequests()
    return warehouse
  }

  it.each([
    [0, 100],
    [437, 500],
    [1000, 5000],
    [4990, 17],
    [2600, 1],
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
      await warehouse.close()
    },
  )

  it('a range that matches 5 % of 20,000 records costs its pages and two requests', async () => {
    const warehouse = await prepared(20_000)
    const report = await backfill(warehouse, [between(7000, 8000)])
    expect(only(report)).toMatchObject({ status: 'ok', records: 1000, rows_upserted: 0 })
    expect(only(report)?.requests).toBeLessThanOrEqual(12)
    await warehouse.close()
  })

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
    await warehouse.close()
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
      await warehouse.close()
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
    await warehouse.close()
  })

  it('includes the first instant of the range and excludes the last, to the microsecond', async () => {
    const warehouse = await prepared(0)
    const times = [at(100), at(100, 1), at(100, 500_000), at(101), at(101, 1)]
    for (const [i, time] of times.entries()) sandbox.store.put(1, 'notes', template('notes', i + 1, time))
    await backfill(warehouse, [{ from: at(100, 1), to: at(101) }])
    expect(await liveIds(warehouse)).toEqual([2, 3])
    await warehouse.close()
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
    await warehouse.close()
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
    await warehouse.close()
  })

  it('finds every record of a tie that the source shuffles from page to page', async () => {
    const warehouse = await prepared(0)
    for (let id = 1; id <= 450; id++) sandbox.store.put(1, 'notes', template('notes', id, at(50, 5)))
    sandbox.store.shuffleTies = true
    let report: RunReport | undefined
    for (let n = 0; n < 20 && only(report ?? ({ cursors: [] } as unknown as RunReport))?.status !== 'ok'; n++)
      report = await backfill(warehouse, [{ from: at(1), to: at(60) }])
    expect(await liveIds(warehouse)).toHaveLength(450)
    await warehouse.close()
  })

  it('reads a list of names whole, which has no times: what it calls complete was read', async () => {
    const names = 'customer_payment_types'
    const warehouse = await prepared(0)
    sandbox.store.tenant(1).strings.set(names, ['Cash', 'Card'])
    const report = await backfill(warehouse, [nothing(1)], { resources: [names] })
    expect(only(report, names)).toMatchObject({ completeness: 'proven', records: 2, requests: 1 })
    expect((await rowsOf(warehouse, names)).map(({ name }) => name)).toEqual(['Card', 'Cash'])
    await warehouse.close()
  })

  it('begins with the year 1, before which no time can be expressed', async () => {
    const warehouse = await prepared(30)
    sandbox.store.put(1, 'notes', { ...template('notes', 900, at(0)), updated_at: '0001-01-01T00:00:00Z' })
    const report = await backfill(warehouse, [{ from: '0001-01-01T00:00:00.000000Z', to: at(1000) }])
    expect(only(report)).toMatchObject({ status: 'ok', completeness: 'proven', records: 31 })
    expect(await liveIds(warehouse)).toContain(900)
    await warehouse.close()
  })

  it('several ranges and tenants in one sync', async () => {
    const warehouse = await prepared(1000, false)
    sandbox.store.addTenant({ id: 2 })
    for (let id = 1; id <= 50; id++) sandbox.store.put(2, 'notes', template('notes', id, at(id * 7)))
    const report = await backfill(warehouse, [between(10, 20), between(900, 950)])
    const pulled = report.cursors.map((cursor) => `${cursor.tenant_id}: ${cursor.records}`)
    expect(pulled.sort()).toEqual(['1: 60', '2: 10'])
    await warehouse.close()
  })
})

describe('the words of a range', () => {
  const now = '2026-06-01T00:00:00.000000Z'
  it.each([
    ['2026-03-01T00:00:00Z', '2026-02-01T00:00:00Z', /after --to.*Swap the two/],
    ['2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z', /the range is empty/],
    ['2026-03-01T10:00:00', '2026-03-02T00:00:00Z', /time zone.*2026-03-01T10:00:00Z/],
    ['yesterday', '2026-03-02T00:00:00Z', /"yesterday", expected/],
    ['2027-03-01T00:00:00Z', '2027-03-02T00:00:00Z', /--from.*future/],
  ])('%s to %s is refused, with how to type it', (from, to, message) => {
    const refused = (): Stop => {
      try {
        parseRange(from, to, now)
      } catch (error) {
        return error as Stop
      }
      throw new Error('the range was accepted')
    }
    expect(refused()).toMatchObject({ exitCode: 2, hint: expect.any(String) })
    expect(describeError(refused())).toMatch(message)
  })

  it("dates begin in the schedule's zone, and lengths of time end now", () => {
    expect(parseRange('2026-03-01', '1d', now, { timeZone: 'Europe/Berlin' })).toEqual({
      from: '2026-02-28T23:00:00.000000Z',
      to: '2026-05-31T00:00:00.000000Z',
    })
  })

  it('an end in the future counts as now, and one line says so', () => {
    const told: string[] = []
    const noon = '2026-06-01T12:00:00.000000Z'
    const today = parseRange('2026-06-01', '2026-06-02', noon, { tell: (line) => told.push(line) })
    expect(today).toEqual({ from: '2026-06-01T00:00:00.000000Z', to: noon })
    expect(told).toEqual([
      `--to 2026-06-02T00:00:00.000000Z lies in the future; the range ends now, at ${noon}`,
    ])
    parseRange('2026-06-01', noon, noon, { tell: (line) => told.push(line) })
    expect(told).toHaveLength(1)
  })

  it('offsets and pairs', () => {
    expect(parseRange('2026-01-01T00:00:00+02:00', '2026-02-01T00:00:00Z', now)).toEqual({
      from: '2025-12-31T22:00:00.000000Z',
      to: '2026-02-01T00:00:00.000000Z',
    })
    expect(() => parseRanges(['2026-01-01T00:00:00Z'], [], now)).toThrow(/one --from and no --to/)
  })
})
