/**
 * An event changes no row: whatever events say, verdicts, watermarks, registers, tombstones and rows are the same as
 * without any. And if none was ever received, nothing is queried, made or read for them.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { besideRunsOf } from '../../../src/features/events/beside.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type RunOptions, syncInOrder } from '../../support/harness/runs.js'
import { isWhole } from '../../support/harness/size.js'
import {
  bothWarehouses,
  contents,
  type Kind,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventBench, type TestEvent } from '../../support/world/events.js'

const list = 'repair_orders'
const resources = [list, 'payments', 'customers', 'notes', 'statuses']

/** Everything that a run has written, without what distinguishes runs. */
async function standing(warehouse: Warehouse): Promise<unknown> {
  const without = (rows: Record<string, unknown>[]) =>
    rows.map(({ last_run_id: _, run_id: __, ...row }) => row)
  return {
    rows: await contents(warehouse),
    cursors: without(await rowsOf(warehouse, 'sync_cursors')),
    registers: without(await rowsOf(warehouse, 'sync_registers')),
    quarantine: without(await rowsOf(warehouse, 'sync_quarantine')),
    lateness: await rowsOf(warehouse, 'sync_lateness'),
    verdicts: (await rowsOf(warehouse, 'sync_run_cursors')).map(
      ({ tenant_id, resource, mode, status, completeness, reason, watermark, books }) => ({
        ...{ tenant_id, resource, mode, status, completeness, reason, watermark, books },
      }),
    ),
  }
}

/** What someone could send who only knows the secret: events about records that exist, existed, and never existed. */
const forged = (sandbox: Sandbox, now: string): TestEvent[] =>
  sandbox.tenantIds.flatMap((tenant) => {
    const ids = [...sandbox.store.ids(tenant, list).slice(0, 4), 0, -1, 777_777]
    const versions = [null, now, '0001-01-01T00:00:00.000000Z', '9999-12-31T23:59:59.999999Z']
    const events = ids.flatMap((id) => versions.map((version) => ({ tenant, resource: list, id, version })))
    const others = resources.map((resource) => ({ tenant, resource, id: 1, type: 'Estimate' }))
    return [...events, ...others, { tenant, resource: list, id: 777_777, action: 'deleted' as const }]
  })

class World {
  private constructor(
    readonly clock: HandClock,
    readonly sandbox: Sandbox,
    readonly warehouse: Warehouse,
    readonly events: EventBench | undefined,
  ) {}

  static async open(kind: Kind, { hears }: { hears: boolean }): Promise<World> {
    const clock = new HandClock('2026-11-20T10:00:00Z')
    const sandbox = await createSandbox({
      tenants: 2,
      repairOrders: isWhole() ? 40 : 14,
      seed: 5,
      clock,
      until: '2026-11-20T09:00:00Z',
    })
    const warehouse = await open(kind)
    const events = hears ? await EventBench.open(sandbox, warehouse, clock.still) : undefined
    return new World(clock, sandbox, warehouse, events)
  }

  async close(): Promise<void> {
    await this.events?.inbox.close()
    await this.warehouse.close()
    await this.sandbox.close()
  }

  run(options: RunOptions) {
    const beside = this.events && { beside: this.events.settling }
    return syncInOrder(this.sandbox, this.warehouse, {
      ...{ clock: this.clock.still, resources, random: () => 0.5, ...options },
      ...beside,
    })
  }

  /** A few hours of changes and runs; the events before each run say anything. */
  async live(): Promise<unknown[]> {
    const told: unknown[] = []
    const modes: RunOptions[] = [
      {},
      { mode: 'sync' },
      { mode: 'full' },
      { mode: 'reconcile' },
      {
        mode: 'backfill',
        ranges: [{ from: '2026-11-01T00:00:00.000000Z', to: '2026-11-21T00:00:00.000000Z' }],
      },
      { mode: 'sync' },
    ]
    for (const [round, options] of modes.entries()) {
      this.clock.pass(3_600_000)
      for (const tenant of this.sandbox.tenantIds) {
        const ids = this.sandbox.store.ids(tenant, list)
        for (const id of ids.slice(round, round + 3))
          this.sandbox.store.change(tenant, list, id, { detail: `round ${round}` })
        this.sandbox.store.remove(tenant, list, ids.at(-1 - round) ?? 0)
      }
      await this.events?.putAll(forged(this.sandbox, fromMicros(this.clock.micros)))
      this.sandbox.resetRequests()
      const report = await this.run(options)
      told.push(
        report.cursors.map(({ completeness, reason, watermark }) => ({
          ...{ completeness, reason, watermark },
        })),
      )
      // A record known only from events is requested by id in the end (secondlook.test.ts).
      const lists = this.sandbox.requests.filter(({ path }) => !/\/-?\d+$/.test(path))
      told.push(lists.map(({ path, updated_after }) => [path, updated_after]))
    }
    return told
  }
}

describe.each(bothWarehouses())('on $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  const worlds: World[] = []
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close()
  })
  const opened = async (hears: boolean): Promise<World> => {
    const world = await World.open(kind, { hears })
    worlds.push(world)
    return world
  }

  test('runs do and claim the same, whatever events say', async () => {
    const [deaf, hearing] = [await opened(false), await opened(true)]
    const without = await deaf.live()
    expect(await hearing.live()).toEqual(without)
    expect(await standing(hearing.warehouse)).toEqual(await standing(deaf.warehouse))
    // They were read: otherwise this would prove nothing.
    const states = new Set((await hearing.events?.states())?.map((state) => state.split(' ')[0]))
    expect(states).toEqual(new Set(['settled', 'unseen', 'waiting']))
  })

  test('a turn stores what the list shows, and nothing that only events say', async () => {
    const [deaf, hearing] = [await opened(false), await opened(true)]
    for (const world of [deaf, hearing]) {
      await world.run({})
      const [tenant = 0] = world.sandbox.tenantIds
      const [id = 0] = world.sandbox.store.ids(tenant, list)
      world.clock.pass(60_000)
      world.sandbox.store.change(tenant, list, id, { detail: 'changed' })
    }
    const { events, sandbox, warehouse } = hearing
    const [tenant = 0] = sandbox.tenantIds
    const [id = 0, other = 0] = sandbox.store.ids(tenant, list)
    await events?.put({ tenant, resource: list, id, version: '9999-12-31T23:59:59.999999Z' })
    await events?.put({ tenant, resource: list, id: other, action: 'deleted' })
    await events?.turn()
    await deaf.run({ resources: [list], tenants: [tenant] })
    expect(await contents(warehouse)).toEqual(await contents(deaf.warehouse))
    // Where the next planned walk starts, and what it measures lateness from, only a planned walk moves.
    const cursorsOf = async (world: World) =>
      (await rowsOf(world.warehouse, 'sync_cursors')).map(
        ({ last_run_id: _, planned_watermark: __, walked_at: ___, ...row }) => row,
      )
    expect(await cursorsOf(hearing)).toEqual(await cursorsOf(deaf))
  })

  test('nothing waiting: a run sends the same requests as without an inbox', async () => {
    const [deaf, hearing] = [await opened(false), await opened(true)]
    for (const world of [deaf, hearing]) {
      await world.run({})
      world.sandbox.resetRequests()
    }
    expect((await deaf.run({ mode: 'sync' })).requests).toBe(1 + 2 * resources.length)
    const beside = hearing.events && { beside: hearing.events.beside }
    await syncInOrder(hearing.sandbox, hearing.warehouse, {
      clock: hearing.clock.still,
      resources,
      ...beside,
    })
    const paths = (world: World) => world.sandbox.requests.map(({ path }) => path)
    expect(paths(hearing)).toEqual(paths(deaf))
    expect(await hearing.events?.turn()).toEqual({ by: 'done' })
    expect(paths(hearing)).toEqual(paths(deaf))
  })

  it('without an inbox, runs have no extra work, and no table or file is made', async () => {
    const deaf = await opened(false)
    await deaf.run({})
    const tables = Object.keys(await deaf.warehouse.dialect.catalog.liveColumns())
    expect(tables.filter((name) => name.startsWith('sync_event'))).toEqual([])
    const context = {
      ...{ config: {}, clock: deaf.clock, onClose: () => {} },
      invocation: { signals: { signal: new AbortController().signal } },
    }
    expect(await besideRunsOf(context as never, deaf.warehouse)).toBeUndefined()
    expect(
      await deaf.warehouse.dialect.beside({ name: 'events', table: 'sync_events', creates: false }),
    ).toBe(undefined)
  })
})
