/** Plan: what it says a run would cost is what it then costs, as long as the source doesn't change. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { minutesFor, rateOf } from '../../../src/engine/source/rate/knownrate.js'
import { burstChecks, readsAhead, walkCost } from '../../../src/features/plan/cursorcost.js'
import { mostAsked } from '../../../src/features/plan/sample.js'
import { planText } from '../../../src/features/plan/words.js'
import { makePlan, type RunPlan } from '../../../src/features/plan/work.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { model } from '../../support/harness/model.js'
import { place } from '../../support/harness/place.js'
import {
  depsOf,
  known,
  type RunOptions,
  type RunReport,
  type RunRequest,
  sync,
} from '../../support/harness/runs.js'
import { isWhole } from '../../support/harness/size.js'
import {
  contents,
  migrate,
  open,
  plannedChanges,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { at, fill, lose } from '../../support/world/notes.js'
import { randomFrom } from '../../support/world/random.js'

let sandbox: Sandbox
let shops: Sandbox
beforeAll(async () => {
  sandbox = await createSandbox({ data: 'none' })
  shops = await createSandbox({
    tenants: 2,
    scale: isWhole() ? 0.3 : 0.05,
    seed: 4,
    // Within the range that is backfilled below: small businesses opened only weeks before the end.
    until: '2026-06-15T12:00:00Z',
    rate: { limit: 100_000 },
  })
})
afterAll(async () => {
  await sandbox.close()
  await shops.close()
})

async function plan(
  from: Sandbox,
  warehouse: Warehouse,
  ask: RunOptions,
  stamped = warehouse,
): Promise<RunPlan> {
  const { mode = 'sync', full, ranges, tenants, resources } = ask
  const { deps, close } = await depsOf(from, stamped)
  const request: RunRequest = {
    mode,
    job: null,
    tenants: tenants ?? null,
    resources: resources ?? null,
    ...(full !== undefined && { full }),
    ...(ranges && { ranges }),
  }
  try {
    return await makePlan({ ...deps, warehouse, readAhead: 1 }, request, 0)
  } finally {
    await close()
  }
}

/**
 * One page at a time: several together are checked, with one request per batch. Plan and sync agree cursor by cursor.
 */
function agree(planned: RunPlan, report: RunReport): void {
  const of = (list: readonly { tenant_id: unknown; resource: string; requests: number }[]) =>
    list.map(({ tenant_id, resource, requests }) => `${tenant_id} ${resource}: ${requests}`).sort()
  expect(of(planned.cursors)).toEqual(of(report.cursors))
  expect(planned.requests).toBe(report.requests)
}

describe.each(warehouses())('$name', (kind) => {
  it('of a first sync, of the next, of a reconcile and of a backfill of whole shops', async () => {
    const warehouse = await open(kind)
    for (const mode of ['sync', 'sync', 'reconcile', 'full'] as const) {
      const planned = await plan(shops, warehouse, { mode })
      expect(planned.asked).toBeLessThanOrEqual(planned.cursors.length + 1)
      const report = await sync(shops, warehouse, { readAhead: 1, mode, random: randomFrom(1) })
      agree(planned, report)
    }
    const ranges = [{ from: '2026-01-01T00:00:00.000000Z', to: '2026-07-01T00:00:00.000000Z' }]
    agree(
      await plan(shops, warehouse, { mode: 'backfill', ranges }),
      await sync(shops, warehouse, { readAhead: 1, mode: 'backfill', ranges }),
    )
    await warehouse.close()
  })

  it('of a column removed from the configuration: the list that is read completely', async () => {
    const address = kind.address()
    const vehicles = ['vehicles', 'notes']
    const columns = { vin: 'text' } as const
    const promoted = model(resources, { vehicles: { columns } })
    const first = await reopen(address, promoted)
    await migrate(first)
    await sync(shops, first, { readAhead: 1, resources: vehicles, known: promoted })
    await first.close()
    const warehouse = await reopen(address, known)
    const before = await contents(warehouse)
    const planned = await plan(shops, warehouse, { resources: vehicles })
    expect(await contents(warehouse)).toEqual(before)
    expect(planned.table_changes).toMatchObject([
      {
        table: 'vehicles',
        what: 'leave the column vin, which is no longer configured',
      },
    ])
    const all = (await rowsOf(warehouse, 'vehicles')).length
    expect(planned.records).toBeGreaterThanOrEqual(all)
    await migrate(warehouse)
    agree(planned, await sync(shops, warehouse, { readAhead: 1, resources: vehicles }))
    const next = await plan(shops, warehouse, { resources: vehicles })
    expect(next.table_changes).toEqual([])
    expect(next.requests).toBeLessThan(planned.requests)
    await warehouse.close()
  })

  it('of the ids of nested items: only a list that has shown one is read completely', async () => {
    const resources = ['repair_orders', 'notes']
    const warehouse = await open(kind)
    await sync(shops, warehouse, { readAhead: 1, resources })
    const [first] = await rowsOf(warehouse, 'sync_cursors')
    const shown = { tenant_id: Number(first?.tenant_id), resource: 'repair_orders', path: 'payments[].id' }
    const entry = { ...shown, kind: 'unknown_field', detail: '' }
    await warehouse.db
      .insertInto('sync_drift')
      .values(entry as never)
      .execute()
    await warehouse.db.schema.dropIndex('repair_order_payments_by_id').execute()
    await warehouse.db.schema.alterTable('repair_order_payments').dropColumn('id').execute()
    const planned = await plan(shops, warehouse, { resources })
    expect(planned.cursors.flatMap(({ refill, tenant_id }) => (refill ? tenant_id : []))).toEqual([
      shown.tenant_id,
    ])
    await migrate(warehouse)
    agree(planned, await sync(shops, warehouse, { readAhead: 1, resources }))
    await warehouse.close()
  })

  it('writes nothing, not even tables, and shows which it would make', async () => {
    const address = kind.address()
    const warehouse = await reopen(address)
    const other = await open(kind)
    const planned = await plan(shops, warehouse, {}, other)
    await other.close()
    expect(planned.table_changes).toContainEqual({ table: 'sync_cursors', what: 'create table' })
    expect(await plannedChanges(warehouse)).toHaveLength(planned.table_changes.length)
    await migrate(warehouse)
    await sync(shops, warehouse, { resources: ['categories'] })
    const before = [
      await contents(warehouse),
      await rowsOf(warehouse, 'sync_cursors'),
      await rowsOf(warehouse, 'sync_lease'),
    ]
    expect((await plan(shops, warehouse, { mode: 'reconcile' })).table_changes).toEqual([])
    expect([
      await contents(warehouse),
      await rowsOf(warehouse, 'sync_cursors'),
      await rowsOf(warehouse, 'sync_lease'),
    ]).toEqual(before)
    await warehouse.close()
  })

  it.each([50, 500, isWhole() ? 5000 : 1500])(
    'of a reconcile of %i records, and is wrong when rows were lost',
    async (count) => {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      fill(sandbox, count)
      const warehouse = await open(kind)
      const resources = ['notes']
      await sync(sandbox, warehouse, { resources })
      const planned = await plan(sandbox, warehouse, { resources, mode: 'reconcile' })
      agree(
        planned,
        await sync(sandbox, warehouse, { readAhead: 1, resources, mode: 'reconcile', random: randomFrom(7) }),
      )
      agree(
        await plan(sandbox, warehouse, { resources, mode: 'reconcile', full: true }),
        await sync(sandbox, warehouse, { readAhead: 1, resources, mode: 'reconcile', full: true }),
      )
      const ranges = [{ from: at(70), to: at(7 * (count - 20)) }]
      agree(
        await plan(sandbox, warehouse, { resources, mode: 'backfill', ranges }),
        await sync(sandbox, warehouse, { readAhead: 1, resources, mode: 'backfill', ranges }),
      )
      if (count <= 100) return warehouse.close()
      await lose(warehouse, [3])
      const after = await sync(sandbox, warehouse, {
        readAhead: 1,
        resources,
        mode: 'reconcile',
        random: randomFrom(7),
      })
      if (count > 1000) expect(after.requests).toBeGreaterThan(planned.requests)
      await warehouse.close()
    },
  )
})

it('of more lists than the limit lets through in a minute: some are asked, at least one of each resource', async () => {
  const many = await createSandbox({ data: 'none', rate: { limit: 40 } })
  try {
    for (let id = 1; id <= 30; id++) many.store.addTenant({ id })
    for (let id = 1; id <= 30; id++) fill(many, 250, { tenantId: id })
    const warehouse = await open(warehouses()[0]!)
    const resources = ['notes', 'categories', 'statuses']
    const all = await plan(many, warehouse, { resources })
    expect(all.requests).toBe(30 * (walkCost(250) + 1 + 1) + 1)
    expect(all.records).toBe(30 * 250)
    expect(all.cursors).toHaveLength(90)
    const asked = all.cursors.filter(({ is_estimated }) => !is_estimated)
    expect(all.sampled).toEqual({ asked: asked.length, of: 90 })
    expect(many.requests.length).toBe(asked.length + 1)
    expect(many.requests.length).toBeLessThanOrEqual(40)
    expect(new Set(asked.map(({ resource }) => resource)).size).toBe(3)
    const text = planText(all, { views: { made: [], troubles: [] } })
    expect(text).toContain(`An estimate: ${asked.length} of 90 lists were asked`)
    expect(text).toContain('shopsync plan --tenant <id>')
    await warehouse.close()
  } finally {
    await many.close()
  }
})

it('a minute of the limit is what known windows let through, and no more than assumed ones that may be longer', () => {
  const rate = { limit: 100, remaining: 100, counted_by: null, reserve: 0.1 }
  expect(mostAsked({ ...rate, window_seconds: 10, window_known: true })).toBe(540)
  expect(mostAsked({ ...rate, window_seconds: 10, window_known: false })).toBe(90)
  expect(mostAsked({ ...rate, window_seconds: 3600, window_known: false })).toBe(1)
})

it('a run stores how long a window lasts; until one has, a plan beyond the window says at least how long', async () => {
  const here = await place({ tenants: 1, repairOrders: 2, rate: { limit: 500, window: 31_536_000 } })
  here.configure({ sync: { resources: ['notes', 'statuses'] } })
  try {
    const cost = async () => (await here.run('plan', '--full', '--json')).json<RunPlan>()
    expect((await cost()).rate).toMatchObject({ limit: 500, window_known: false, window_seen: false })
    expect((await here.run('sync')).code).toBe(0)
    const { rate } = await cost()
    expect(rate).toMatchObject({ limit: 500, window_seen: true })
    const views = { views: { made: [], troubles: [] } }
    const late: RunPlan = {
      ...(await cost()),
      ...{ requests: 1100, minutes: 0.5, rate: { ...rate!, remaining: 100, window_seen: false } },
    }
    expect(planText(late, views)).toContain('1,100 requests')
    expect(planText(late, views)).toContain('at least 30 s')
    expect(planText({ ...late, rate: { ...rate!, remaining: 100 } }, views)).toContain('less than a minute')
    expect(planText({ ...late, requests: 90 }, views)).toContain('less than a minute')
  } finally {
    await here.remove()
  }
})

describe('minutes', () => {
  const stats = (remaining: number) => ({
    requests: 1,
    retries: 0,
    rateLimited: 0,
    bytes: 0,
    window: { limit: 300, remaining, resetsAt: 1_800_000_000_000 },
  })
  const now = 1_800_000_000_000 - 25_000

  it('are those of the windows that the requests need, or of the responses if these are slower', () => {
    const rate = rateOf(stats(200), 0, now)
    expect(rate).toMatchObject({ limit: 300, remaining: 200, window_seconds: 60 })
    expect(minutesFor(200, rate, 0)).toBe(0)
    expect(minutesFor(201, rate, 0)).toBe(1)
    expect(minutesFor(800, rate, 0)).toBe(2)
    expect(minutesFor(800, rate, 1)).toBeCloseTo(800 / 60)
  })

  it("don't take an hour for a day if the source's clock is a little behind", () => {
    const lateEvening = Date.parse('2026-03-04T23:00:00Z')
    const { window, ...rest } = stats(0)
    const rate = (ms: number) =>
      rateOf({ ...rest, window: { ...window, resetsAt: lateEvening + ms } }, 0, lateEvening)
    expect(rate(3_600_000)).toMatchObject({ window_seconds: 3600 })
    expect(rate(3_602_000)).toMatchObject({ window_seconds: 3600 })
    expect(rate(61_000)).toMatchObject({ window_seconds: 60 })
    expect(rate(4_500_000)).toMatchObject({ window_seconds: 86_400 })
  })

  it('use the length of the window if two resets have shown it', () => {
    const { window, ...rest } = stats(0)
    expect(rateOf(stats(0), 0, now)).toMatchObject({ window_seconds: 60, window_known: false })
    const rate = rateOf({ ...rest, window: { ...window, length: 20_000 } }, 0, now)
    expect(rate).toMatchObject({ window_seconds: 20, window_known: true })
  })

  it('count the checks of pages read several at a time', () => {
    expect([1, 8, 9, 33, 34, 41, 97, 10_000].map(burstChecks)).toEqual([0, 0, 1, 1, 1, 2, 2, 42])
    expect(readsAhead(0.2)).toBe(true)
    expect(readsAhead(0.2, 1)).toBe(false)
    expect(readsAhead(0.005)).toBe(false)
  })

  it('grow with the share that is left for others', () => {
    expect(minutesFor(3000, rateOf(stats(0), 0, now), 0)).toBe(10)
    expect(minutesFor(3000, rateOf(stats(0), 0.5, now), 0)).toBe(20)
  })
})
