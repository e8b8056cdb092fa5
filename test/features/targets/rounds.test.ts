/** What a round reads from the warehouse, and works on, is the same in both warehouses. */
import { describe, expect, it } from 'vitest'
import { addMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import { countDelays } from '../../../src/features/targets/delays.js'
import { type DueList, dueLists, nothingHeard } from '../../../src/features/targets/duelists.js'
import { planFreshness, readFreshness } from '../../../src/features/targets/freshnessplan.js'
import { type CheckRow, uncheckedLists } from '../../../src/features/targets/sql.js'
import { template } from '../../../src/sandbox/index.js'
import { known, type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open, type WantedCursors, type Warehouse } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'

const begin = '2026-03-01T00:00:00.000000Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const hourMs = 3_600_000
const targetOf = (): number => hourMs
const settings = { targetOf, atLeast: 24 * hourMs, deletes: 72 * hourMs }
const options: RunOptions = {
  ...{ resources: ['notes', 'shops', 'customer_payment_types'], clock },
  arrived: countDelays(settings),
}
const resources = known.list.filter(({ name }) => options.resources?.includes(name))

const later = (hours: number): string => addMicros(begin, BigInt(Math.round(hours * 3600)) * 1_000_000n)

function prepare(): void {
  clock.micros = toMicros(begin)
  sandbox.reset()
  for (const id of [1, 2]) sandbox.store.addTenant({ id })
  for (let id = 1; id <= 3; id++) sandbox.store.put(1, 'notes', template('notes', id, later(-id)))
}

async function due(warehouse: Warehouse, hours: number, tenants = [1, 2, 3]) {
  const polled: DueList[] = []
  const take = (list: DueList): void => void polled.push(list)
  const how = { heard: nothingHeard, now: later(hours), atLeast: 24 * hourMs, targetOf, take }
  return { unread: await dueLists(warehouse, { resources, tenants }, how), polled }
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('a list that is not offered is requested once per polling.atLeast, and read once it answers', async () => {
    prepare()
    sandbox.store.switchOff('shops', 1)
    const warehouse = await open(kind)
    const shops = async (): Promise<string | undefined> =>
      (await sync(sandbox, warehouse, options)).cursors.find(
        ({ tenant_id, resource }) => tenant_id === 1 && resource === 'shops',
      )?.status
    const unread = async (hours: number): Promise<string[]> =>
      (await due(warehouse, hours, [1, 2])).unread.map(
        ({ tenantId, resource }) => `${tenantId} ${resource.name}`,
      )
    expect(await shops()).toBe('unavailable')
    expect(await unread(1)).toEqual([])
    expect(await unread(23)).toEqual([])
    expect(await unread(25)).toEqual(['1 shops'])
    clock.pass(25 * hourMs)
    // A plain sync requests it, too.
    expect(await shops()).toBe('unavailable')
    expect(await unread(48)).toEqual([])
    expect(await unread(50)).toEqual(['1 shops'])
    // A month later, the history says nothing about its last request.
    await warehouse.write([warehouse.db.deleteFrom('sync_run_cursors').compile()])
    expect(await unread(26)).toEqual(['1 shops'])
    sandbox.store.switchOn('shops', 1)
    expect(await shops()).toBe('ok')
    const { polled } = await due(warehouse, 30, [1, 2])
    expect(polled.map(({ task }) => `${task.tenantId} ${task.resource.name}`)).toContain('1 shops')
    await warehouse.close()
  })

  it('lists that were polled, what they found, and those that were never read', async () => {
    prepare()
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    clock.pass(2 * hourMs)
    sandbox.store.put(1, 'notes', template('notes', 7, later(0.5)))
    sandbox.store.put(1, 'notes', template('notes', 8, later(1.5)))
    await sync(sandbox, warehouse, options)
    const { polled, unread } = await due(warehouse, 5)
    expect(polled).toHaveLength(6)
    expect(polled.find(({ task, resource }) => task.tenantId === 1 && resource === 'notes')).toMatchObject({
      ...{ waited: 3, news: 2, hours: 2, events: 0 },
    })
    expect(unread.map(({ tenantId, resource }) => [tenantId, resource.name])).toEqual(
      resources.map(({ name }) => [3, name]),
    )
    const told = await readFreshness(warehouse, settings, {
      ...{ resources: ['notes'], tenants: null, exceptTenants: [] },
      nowMicros: toMicros(later(5)),
    })
    expect(told).toEqual([
      {
        ...{ resource: 'notes', target_seconds: 3600, met: 1, missed: 1 },
        ...{ oldest_poll_at: later(2), oldest_poll_seconds: 3 * 3600 },
      },
    ])
    const unchecked = async (hours: number): Promise<CheckRow[]> => {
      const all: CheckRow[] = []
      for await (const rows of uncheckedLists(warehouse, later(hours))) all.push(...rows)
      return all
    }
    const checks = await unchecked(0)
    expect(checks.find(({ resource, tenant_id }) => resource === 'notes' && tenant_id === 1)).toMatchObject({
      deletes_checked_at: later(0),
      status: 'ok',
    })
    expect(checks.map(({ live_rows }) => Number(live_rows ?? 0))).toContain(5)
    expect(await unchecked(-0.1)).toEqual([])
  })

  it('the oldest poll is one of a list that is polled', async () => {
    prepare()
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    clock.pass(2 * hourMs)
    await sync(sandbox, warehouse, { ...options, tenants: [1], resources: ['notes'] })
    const nowMicros = toMicros(later(5))
    const all = { resources: ['notes', 'shops'], tenants: null, exceptTenants: [] }
    const oldest = async (wanted: Partial<WantedCursors>) =>
      (await readFreshness(warehouse, settings, { ...all, ...wanted, nowMicros })).map(
        ({ resource, oldest_poll_at }) => [resource, oldest_poll_at],
      )
    expect(await oldest({})).toEqual([
      ['notes', later(0)],
      ['shops', later(0)],
    ])
    expect(await oldest({ exceptTenants: [2], resources: ['notes'] })).toEqual([['notes', later(2)]])
    expect(await oldest({ tenants: [1], resources: ['notes'] })).toEqual([['notes', later(2)]])
  })

  it('a plan for few requests: a longer wait for all, by the same factor', async () => {
    prepare()
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    const how = { resources, isWanted: () => true, nowMicros: toMicros(later(1)) }
    expect(await planFreshness(warehouse, settings, { ...how, window: 0.25 })).toMatchObject({
      ...{ lists: 6, window: 0, stretched: true, needed_for_bound: 1, needed_for_all: 6 },
      longest_wait_seconds: 48 * 3600,
    })
    expect(await planFreshness(warehouse, settings, { ...how, window: undefined })).toMatchObject({
      ...{ stretched: false, share: null, window: null, longest_wait_seconds: 24 * 3600 },
    })
  })

  it('a failed list rests, and comes again', async () => {
    prepare()
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    clock.pass(20 * hourMs)
    sandbox.script([{ when: { resource: 'notes', tenant: 2 }, fault: { kind: 'status', status: 500 } }])
    await sync(sandbox, warehouse, options)
    sandbox.script([])
    const at = Number(clock.micros - toMicros(begin)) / 3.6e9
    expect((await due(warehouse, at + 0.1)).polled).toHaveLength(5)
    const again = (await due(warehouse, at + 0.3)).polled
    expect(again).toHaveLength(6)
    expect(
      again.find(({ resource, task }) => resource === 'notes' && task.tenantId === 2)?.waited,
    ).toBeGreaterThan(20)
  })
})
