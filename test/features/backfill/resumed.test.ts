/** A backfill that is cut short again and again: what is done stays done, until everything is. */
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/engine/base/clock.js'
import { systemClock } from '../../../src/engine/base/clock.js'
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
import { at } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

const tenants = [1, 2, 3, 4, 5, 6]
const range: TimeRange = { from: at(7), to: at(7 * 241) }

/** One backfill of all tenants, one cursor after the other. Returns its report and the tenant of each list request. */
async function backfill(warehouse: Warehouse, options: RunOptions & { after?: number } = {}) {
  const { after = Number.POSITIVE_INFINITY, ...asked } = options
  const stop = new AbortController()
  const lists: string[] = []
  const around = (source: Source): Source =>
    new Between(source, ({ tenantId }, ask) => {
      if (lists.length >= after) stop.abort()
      else lists.push(String(tenantId))
      return ask()
    })
  const usual = {
    resources: ['notes'],
    concurrency: 1,
    ranges: [range],
    signal: stop.signal,
    around,
  } as const
  const report = await sync(sandbox, warehouse, { ...usual, ...asked, mode: 'backfill' })
  return { report, lists }
}

const statuses = ({ cursors }: RunReport): string[] => cursors.map(({ status }) => status)

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  async function prepared(): Promise<Warehouse> {
    sandbox.reset()
    for (const id of tenants) {
      sandbox.store.addTenant({ id })
      for (let n = 1; n <= 300; n++) sandbox.store.put(id, 'notes', template('notes', n, at(n * 7)))
    }
    return stock.open()
  }

  it.each([true, false])(
    'ends after about as many limited runs as its requests take, and repeats no finished cursor (time limit: %s)',
    async (timeLimited) => {
      const warehouse = await prepared()
      const whole = (await backfill(warehouse)).lists.length
      expect(whole).toBeGreaterThan(20)
      const lists: string[] = []
      let runs = 0
      for (let last: RunReport['status'] | undefined; last !== 'ok' && runs < 20; runs++) {
        const limited = await backfill(warehouse, { after: 6, timeLimited })
        last = limited.report.status
        lists.push(...limited.lists)
      }
      expect(runs).toBeLessThanOrEqual(Math.ceil(whole / 6) + 2)
      // An interrupted cursor requests one count again, and the page that it was reading.
      expect(lists.length).toBeLessThanOrEqual(whole + 3 * runs)
      for (const tenant of tenants)
        expect(lists.filter((list) => list === String(tenant)).length).toBeLessThan(10)
      expect(await rowsOf(warehouse, 'notes')).toHaveLength(240 * tenants.length)
      expect(await rowsOf(warehouse, 'sync_backfills')).toEqual([])
    },
  )

  it('a finished cursor keeps its verdict without a request; a complete backfill reads everything again', async () => {
    const warehouse = await prepared()
    const whole = (await backfill(warehouse)).lists.length
    const cut = await backfill(warehouse, { after: 10 })
    expect(statuses(cut.report)).toContain('skipped')
    const done = cut.report.cursors.filter(({ status }) => status === 'ok')
    expect(done.length).toBeGreaterThan(0)
    const rest = await backfill(warehouse)
    expect(rest.report.status).toBe('ok')
    for (const { tenant_id, completeness } of done)
      expect(rest.report.cursors.find((cursor) => cursor.tenant_id === tenant_id)).toMatchObject({
        status: 'ok',
        completeness,
        requests: 0,
        records: 0,
      })
    expect(await rowsOf(warehouse, 'sync_backfills')).toEqual([])
    expect((await backfill(warehouse)).lists).toHaveLength(whole)
  })

  it('another range reads everything; a part of the cursors ends with its own', async () => {
    const warehouse = await prepared()
    await backfill(warehouse, { after: 10 })
    const marked = await rowsOf(warehouse, 'sync_backfills')
    expect(marked.length).toBeGreaterThan(1)
    const other = await backfill(warehouse, { ranges: [{ from: range.from, to: at(7 * 200) }] })
    expect(new Set(other.lists).size).toBe(tenants.length)
    expect(await rowsOf(warehouse, 'sync_backfills')).toEqual(marked)
    await backfill(warehouse, { tenants: [6] })
    const left = await rowsOf(warehouse, 'sync_backfills')
    expect(left.map(({ tenant_id }) => tenant_id)).not.toContain(6)
    expect(left.length).toBeGreaterThanOrEqual(marked.length - 1)
    expect((await backfill(warehouse)).report.status).toBe('ok')
    expect(await rowsOf(warehouse, 'sync_backfills')).toEqual([])
  })

  it('only what failed is read again', async () => {
    const warehouse = await prepared()
    sandbox.store.collection(3, 'notes').odd.hidden.add(100)
    const first = await backfill(warehouse)
    expect(first.report.status).toBe('partial')
    const again = await backfill(warehouse)
    expect([again.report.status, new Set(again.lists)]).toEqual(['partial', new Set(['3'])])
    sandbox.store.collection(3, 'notes').odd.heal()
    const healed = await backfill(warehouse)
    expect([healed.report.status, new Set(healed.lists)]).toEqual(['ok', new Set(['3'])])
    expect(new Set((await backfill(warehouse)).lists).size).toBe(tenants.length)
  })

  it.each([
    [6, false],
    [8, true],
    [-8, true],
  ])('an unfinished backfill %i days later is forgotten: %s', async (days, isForgotten) => {
    const warehouse = await prepared()
    const shifted: Clock = {
      ...systemClock,
      nowMicros: () => systemClock.nowMicros() - BigInt(days) * 86_400_000_000n,
    }
    const cut = await backfill(warehouse, { after: 10, clock: shifted })
    const done = cut.report.cursors.filter(({ status }) => status === 'ok').length
    const { lists } = await backfill(warehouse)
    expect(new Set(lists).size).toBe(isForgotten ? tenants.length : tenants.length - done)
  })
})
