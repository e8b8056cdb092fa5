/**
 * Plan: what it says a run would cost is what it then costs, as long as the source doesn't change.
 * test/transcripts/plan.txt shows what it says.
 */
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { minutesFor, rateOf } from '../../../src/engine/source/rate/knownrate.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { plan as planned } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { configure } from '../../support/harness/place.js'
import { known, type RunOptions, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole } from '../../support/harness/size.js'
import {
  contents,
  kept,
  migrate,
  open,
  plannedChanges,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { at, fill, lose } from '../../support/world/notes.js'
import { randomFrom } from '../../support/world/random.js'

const sandbox = await sandboxOfFile()
const shops = await sandboxOfFile({
  tenants: 2,
  scale: isWhole() ? 0.3 : 0.05,
  seed: 4,
  // Within the range that is backfilled below: small businesses opened only weeks before the end.
  until: '2026-06-15T12:00:00Z',
  rate: { limit: 100_000 },
})

const all = { resources: null }

/** Plan and run agree cursor by cursor. */
async function agree(from: Sandbox, warehouse: Warehouse, options: RunOptions) {
  const plan = await planned(from, warehouse, options)
  expect(plan.asked).toBeLessThanOrEqual(plan.cursors.length + 1)
  const report = await sync(from, warehouse, { readAhead: 1, random: randomFrom(7), ...options })
  same(plan, report)
  return plan
}

function same(plan: Awaited<ReturnType<typeof planned>>, report: RunReport): void {
  const of = (list: readonly { tenant_id: unknown; resource: string; requests: number }[]) =>
    list.map(({ tenant_id, resource, requests }) => `${tenant_id} ${resource}: ${requests}`).sort()
  expect(of(plan.cursors)).toEqual(of(report.cursors))
  expect(plan.requests).toBe(report.requests)
}

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  it('of a first sync, of the next, of a reconcile and of a backfill of whole shops', async () => {
    const warehouse = await stock.open()
    for (const mode of ['sync', 'sync', 'reconcile', 'full'] as const)
      await agree(shops, warehouse, { mode, ...all })
    const ranges = [{ from: '2026-01-01T00:00:00.000000Z', to: '2026-07-01T00:00:00.000000Z' }]
    await agree(shops, warehouse, { mode: 'backfill', ranges, ...all })
  })

  it('of a column removed from the configuration: the list that is read completely', async () => {
    const address = kind.address()
    const vehicles = { resources: ['vehicles', 'notes'] }
    const promoted = model(resources, { vehicles: { columns: { vin: 'text' } } })
    const first = await reopen(address, promoted)
    await migrate(first)
    await sync(shops, first, { readAhead: 1, ...vehicles, known: promoted })
    await first.close()
    const warehouse = await reopen(address, known)
    const before = await contents(warehouse)
    const plan = await planned(shops, warehouse, vehicles)
    expect(await contents(warehouse)).toEqual(before)
    expect(plan.table_changes).toMatchObject([
      { table: 'vehicles', what: 'leave the column vin, which is no longer configured' },
    ])
    expect(plan.records).toBeGreaterThanOrEqual((await rowsOf(warehouse, 'vehicles')).length)
    await migrate(warehouse)
    same(plan, await sync(shops, warehouse, { readAhead: 1, ...vehicles }))
    const next = await planned(shops, warehouse, vehicles)
    expect(next.table_changes).toEqual([])
    expect(next.requests).toBeLessThan(plan.requests)
  })

  it('of the ids of nested items: only a list that has shown one is read completely', async () => {
    const lists = { resources: ['repair_orders', 'notes'] }
    const warehouse = await open(kind)
    await sync(shops, warehouse, { readAhead: 1, ...lists })
    const [first] = await rowsOf(warehouse, 'sync_cursors')
    const shown = { tenant_id: Number(first?.tenant_id), resource: 'repair_orders', path: 'payments[].id' }
    const entry = { ...shown, kind: 'unknown_field', detail: '' }
    await warehouse.db
      .insertInto('sync_drift')
      .values(entry as never)
      .execute()
    await warehouse.db.schema.dropIndex('repair_order_payments_by_id').execute()
    await warehouse.db.schema.alterTable('repair_order_payments').dropColumn('id').execute()
    const plan = await planned(shops, warehouse, lists)
    expect(plan.cursors.flatMap(({ refill, tenant_id }) => (refill ? tenant_id : []))).toEqual([
      shown.tenant_id,
    ])
    await migrate(warehouse)
    same(plan, await sync(shops, warehouse, { readAhead: 1, ...lists }))
  })

  it('writes nothing, not even tables, and shows which it would make', async () => {
    const warehouse = await reopen(kind.address())
    const plan = await planned(shops, warehouse, all, await stock.open())
    expect(plan.table_changes).toContainEqual({ table: 'sync_cursors', what: 'create table' })
    expect(await plannedChanges(warehouse)).toHaveLength(plan.table_changes.length)
    await migrate(warehouse)
    await sync(shops, warehouse, { resources: ['categories'] })
    const stored = async () => [
      await contents(warehouse),
      await rowsOf(warehouse, 'sync_cursors'),
      await rowsOf(warehouse, 'sync_lease'),
    ]
    const before = await stored()
    expect((await planned(shops, warehouse, { mode: 'reconcile', ...all })).table_changes).toEqual([])
    expect(await stored()).toEqual(before)
  })

  it.each([[50, 0], [500, 0], isWhole() ? [5000, 2] : [1500, 1]] as const)(
    'of a reconcile of %i records, also when rows were lost',
    async (count, checks) => {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      fill(sandbox, count)
      const warehouse = await stock.open()
      const notes = { resources: ['notes'] }
      await sync(sandbox, warehouse, notes)
      await agree(sandbox, warehouse, { ...notes, mode: 'reconcile' })
      await agree(sandbox, warehouse, { ...notes, mode: 'reconcile', full: true })
      const ranges = [{ from: at(70), to: at(7 * (count - 20)) }]
      await agree(sandbox, warehouse, { ...notes, mode: 'backfill', ranges })
      // Where responses take long, pages are read several at a time, and from the ninth on checked.
      const slow = { clock: new HandClock(new Date().toISOString(), 100_000n), readAhead: 16 }
      const [cursor] = (await planned(sandbox, warehouse, { ...notes, mode: 'full', ...slow })).cursors
      expect(cursor?.checks).toBe(checks)
      await lose(warehouse, [3])
      await agree(sandbox, warehouse, { ...notes, mode: 'reconcile' })
    },
  )
})

it('of more lists than the limit lets through in a minute: some are asked, at least one of each resource', async () => {
  // A window whose length is assumed may be longer than these ten seconds.
  const many = await sandboxOfFile({ data: 'none', rate: { limit: 40, window: 10 } })
  for (let id = 1; id <= 30; id++) {
    many.store.addTenant({ id })
    fill(many, 250, { tenantId: id })
  }
  const config = configure(many, await warehouses()[0]!.viewed(), ['notes', 'categories', 'statuses'])
  const plan = async (...words: string[]) => await shopsync(['plan', ...words, '--config', config])
  const whole = (await plan('--json')).json<Awaited<ReturnType<typeof planned>>>()
  // Three pages, and the first again; one page of each of the others.
  expect(whole.requests).toBe(30 * (4 + 1 + 1) + 1)
  expect(whole.records).toBe(30 * 250)
  expect(whole.cursors).toHaveLength(90)
  const asked = whole.cursors.filter(({ is_estimated }) => !is_estimated)
  expect(whole.sampled).toEqual({ asked: asked.length, of: 90 })
  expect(many.requests.length).toBe(asked.length + 1)
  expect(many.requests.length).toBeLessThanOrEqual(40)
  expect(new Set(asked.map(({ resource }) => resource)).size).toBe(3)
})

describe('minutes', () => {
  const resetsAt = 1_800_000_000_000
  const stats = (remaining: number, window: object = {}) => ({
    requests: 1,
    retries: 0,
    rateLimited: 0,
    bytes: 0,
    window: { limit: 300, remaining, resetsAt, ...window },
  })
  const now = resetsAt - 25_000

  it('are those of the windows that the requests need, or of the responses if these are slower', () => {
    const rate = rateOf(stats(200), 0, now)
    expect(rate).toMatchObject({ limit: 300, remaining: 200, window_seconds: 60, window_known: false })
    expect([200, 201, 800].map((requests) => minutesFor(requests, rate, 0))).toEqual([0, 1, 2])
    expect(minutesFor(800, rate, 1)).toBeCloseTo(800 / 60)
    // They grow with the share that is left for others.
    expect([0, 0.5].map((share) => minutesFor(3000, rateOf(stats(0), share, now), 0))).toEqual([10, 20])
    // Two resets have shown the length of a window.
    expect(rateOf(stats(0, { length: 20_000 }), 0, now)).toMatchObject({
      window_seconds: 20,
      window_known: true,
    })
  })

  it.each([
    [3_600_000, 3600],
    [3_602_000, 3600],
    [61_000, 60],
    [4_500_000, 86_400],
  ])(
    "a window that ends in %i ms takes %i s, even if the source's clock is a little behind",
    (ms, seconds) => {
      const evening = Date.parse('2026-03-04T23:00:00Z')
      const rate = rateOf(stats(0, { resetsAt: evening + ms }), 0, evening)
      expect(rate).toMatchObject({ window_seconds: seconds })
    },
  )
})
