/**
 * An event changes no row: whatever events say, verdicts, watermarks, registers, tombstones and rows are the same as
 * without any. And if none was ever received, nothing is queried, made or read for them.
 */
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { type RunOptions, syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
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
  const tables = ['sync_cursors', 'sync_registers', 'sync_quarantine', 'sync_lateness', 'sync_run_cursors']
  const all = await Promise.all(tables.map((table) => rowsOf(warehouse, table)))
  const without = ['last_run_id', 'run_id', 'started_at', 'finished_at', 'requests']
  return [
    await contents(warehouse),
    ...all.map((rows) =>
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !without.includes(name)))),
    ),
  ]
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

/** Shops, a warehouse of their own, and an inbox if somebody has listened. */
async function opened(kind: Kind, hears: boolean) {
  const clock = new HandClock('2026-11-20T10:00:00Z')
  const shops = { tenants: 2, repairOrders: isWhole() ? 40 : 9, seed: 5, until: '2026-11-20T09:00:00Z' }
  const sandbox = await sandboxOfFile({ ...shops, clock })
  const warehouse = await open(kind)
  const events = hears ? await EventBench.open(sandbox, warehouse, clock.still) : undefined
  const usual: RunOptions = { clock: clock.still, resources, random: () => 0.5 }
  const run = (options: RunOptions) =>
    syncInOrder(sandbox, warehouse, { ...usual, beside: events?.settling, ...options })
  return { clock, sandbox, warehouse, events, run }
}
type World = Awaited<ReturnType<typeof opened>>

/** A few hours of changes and runs; the events before each run say anything. What was claimed, and asked for. */
async function live({ clock, sandbox, events, run }: World): Promise<unknown[]> {
  const told: unknown[] = []
  const ranges = [{ from: '2026-11-01T00:00:00.000000Z', to: '2026-11-21T00:00:00.000000Z' }]
  const modes = ['sync', 'sync', 'full', 'reconcile', 'backfill', 'sync'] as const
  for (const [round, mode] of modes.entries()) {
    clock.pass(3_600_000)
    for (const tenant of sandbox.tenantIds) {
      const ids = sandbox.store.ids(tenant, list)
      for (const id of ids.slice(round, round + 3))
        sandbox.store.change(tenant, list, id, { detail: `round ${round}` })
      sandbox.store.remove(tenant, list, ids.at(-1 - round) ?? 0)
    }
    await events?.putAll(forged(sandbox, fromMicros(clock.micros)))
    sandbox.resetRequests()
    const { cursors } = await run({ mode, ranges: mode === 'backfill' ? ranges : undefined })
    // A record known only from events is requested by id in the end (became.test.ts).
    const lists = sandbox.requests.filter(({ path }) => !/\/-?\d+$/.test(path))
    told.push(
      cursors.map(({ completeness, reason, watermark }) => [completeness, reason, watermark]),
      lists.map(({ path, updated_after }) => [path, updated_after]),
    )
  }
  return told
}

describe.each(bothWarehouses())('on $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  test('runs do and claim the same, whatever events say', async () => {
    const [deaf, hearing] = [await opened(kind, false), await opened(kind, true)]
    const without = await live(deaf)
    expect(await live(hearing)).toEqual(without)
    expect(await standing(hearing.warehouse)).toEqual(await standing(deaf.warehouse))
    // They were read: otherwise this would prove nothing.
    const states = new Set((await hearing.events?.states())?.map((state) => state.split(' ')[0]))
    expect(states).toEqual(new Set(['settled', 'unseen', 'waiting']))
  })

  it('nothing waiting: a run sends the same requests as without an inbox, and none is made', async () => {
    const [deaf, hearing] = [await opened(kind, false), await opened(kind, true)]
    for (const { run, sandbox } of [deaf, hearing]) {
      await run({})
      sandbox.resetRequests()
    }
    expect((await deaf.run({})).requests).toBe(1 + 2 * resources.length)
    await hearing.run({ beside: hearing.events?.beside })
    const paths = ({ sandbox }: World) => sandbox.requests.map(({ path }) => path)
    expect(paths(hearing)).toEqual(paths(deaf))
    expect(await hearing.events?.turn()).toEqual({ by: 'done' })
    expect(paths(hearing)).toEqual(paths(deaf))
    const tables = Object.keys(await deaf.warehouse.dialect.catalog.liveColumns())
    expect(tables.filter((name) => name.startsWith('sync_event'))).toEqual([])
    const inbox = { name: 'events', table: 'sync_events', creates: false }
    expect(await deaf.warehouse.dialect.beside(inbox)).toBe(undefined)
  })
})
