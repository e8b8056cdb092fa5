/**
 * Incidents of events: who receives them, what waits, what no list shows; and what the listener's check reports and
 * leaves to runs.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf } from '../../support/world/alerting.js'
import { EventBench } from '../../support/world/events.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('on $name', (kind) => {
  let warehouse: Warehouse
  let world: Awaited<ReturnType<typeof AlertingWorld.of>>
  let events: EventBench
  beforeEach(async () => {
    warehouse = await open(kind)
    world = await AlertingWorld.of(sandbox, warehouse, [101])
    await world.run()
    events = await EventBench.open(sandbox, warehouse)
  })
  afterEach(async () => {
    await events.inbox.close()
    await warehouse.close()
    await closeAll()
  })

  /** A number of seconds before now. */
  const ago = (seconds: number): string => fromMicros(world.clock.nowMicros() - BigInt(seconds) * 1_000_000n)
  const told = (): string[] => world.hook.take().map(lineOf)
  /** What the listener's check reports. */
  const look = () => world.look().then(told)
  const incidents = async () =>
    (await rowsOf(warehouse, 'sync_alerts')).filter(({ resolved_at }) => resolved_at === null)
  /** From now on, the notes end like this. */
  const notes = (status: string, reason: string | null) =>
    warehouse.db
      .updateTable('sync_cursors')
      .set({ status, reason, last_error: 'no answer' })
      .where('resource', '=', 'notes')
      .execute()

  it('reports a receiver that accepts nothing, for as long as that lasts, and one that ended silently', async () => {
    const well = { up_at: ago(100), seen_at: ago(1), trouble: null }
    await events.listens(well)
    expect(await look()).toEqual([])
    await events.listens({ ...well, trouble: 'disk_full' })
    expect([await look(), await look()]).toEqual([['opened: events run'], []])
    expect(await incidents()).toMatchObject([
      {
        kind: 'events',
        since: well.seen_at,
        advice: expect.stringContaining('256 MB'),
        message: expect.stringContaining('accepts no events: the disk is nearly full'),
      },
    ])
    await events.listens({ ...well, seen_at: ago(0), trouble: 'wrong_secret' })
    expect(await look()).toEqual(['opened: events run', 'resolved: events run'])
    await events.listens(well)
    expect(await world.run().then(told)).toEqual(['resolved: events run'])

    await events.listens({ up_at: ago(100), seen_at: ago(61) })
    expect(await world.run().then(told)).toEqual(['opened: events run'])
    expect((await incidents())[0]?.message).toContain('died without reporting')
    await events.listens({ listener_id: 'l2', up_at: ago(2), seen_at: ago(1) })
    expect(await look()).toEqual(['resolved: events run'])
    await events.listens({ listener_id: 'l2', seen_at: ago(500), ended_at: ago(500) })
    expect(await look()).toEqual([])
  })

  it('reports overdue events once for all lists, but not those that wait for their time, for a run or are being read', async () => {
    const wait = (due: number | null, resource: string) =>
      ({ resource, received_at: ago(90_000), due_at: due === null ? null : ago(due) }) as const
    const nothingIsDue = async (): Promise<void> => {
      const { inbox } = events
      await inbox.write([inbox.db.deleteFrom('sync_events').where('due_at', 'is not', null).compile()])
      expect(await look()).toEqual(['resolved: events run'])
    }
    await events.putRows([wait(-60, 'notes'), wait(880, 'notes'), wait(null, 'notes')])
    expect(await look()).toEqual([])
    const oldest = wait(1000, 'repair_orders')
    await events.putRows([wait(905, 'payments'), oldest])
    expect(await look()).toEqual(['opened: events run'])
    const [late] = await incidents()
    expect(late?.message).toBe('Events wait too long for 2 lists: tenant 101, repair_orders, and 1 more')
    const overdueAt = new Date(Date.parse(oldest.due_at ?? '') + 900_000).toISOString()
    expect(String(late?.since).slice(0, 19)).toBe(overdueAt.slice(0, 19))
    await nothingIsDue()

    // A run is working on the list.
    const run = { owner: 'run-1', command: 'sync', host: 'elsewhere', pid: 1, token: 99 }
    const lease = { ...run, claimed_at: ago(3000), expires_at: ago(-30) }
    const page = { run_id: run.owner, way: 'walk', page: 1, rows_written: 1, synced_at: ago(30) }
    const { db } = warehouse
    await db.updateTable('sync_lease').set(lease).where('name', '=', 'run').execute()
    await db
      .insertInto('sync_requests')
      .values({ tenant_id: 101, resource: 'notes', ...page })
      .execute()
    await events.putRows([wait(2000, 'notes')])
    expect(await look()).toEqual([])
    await db.deleteFrom('sync_requests').where('run_id', '=', run.owner).execute()
    expect(await look()).toEqual(['opened: events run'])
    await nothingIsDue()
    // No run has come for longer than status.staleAfter: what waits for one is late.
    await db.updateTable('sync_lease').set({ owner: null }).execute()
    await world.pass(1.1)
    expect(await look()).toEqual(['opened: events run, stale 101/notes, stale 101/payments'])
  })

  it('reports what was announced but not listed, and what was left alone, by list and for a day', async () => {
    const row = { resource: 'notes', received_at: ago(2000), settled_at: ago(1000), due_at: null }
    const unlisted = { ...row, state: 'settled', reason: 'not_listed' }
    const left = { ...row, resource: 'payments', state: 'left', reason: 'breaker' }
    await events.putRows([
      unlisted,
      unlisted,
      { ...unlisted, state: 'unseen' },
      left,
      { ...left, resource: 'notes', tenant_id: 999 },
    ])
    expect(await look()).toEqual(['opened: events 101/notes, events 101/payments'])
    expect((await incidents()).map(({ message, advice }) => `${message}. ${advice}`).sort()).toEqual([
      expect.stringContaining('tenant 101, notes: events announced 2 records'),
      expect.stringMatching(
        /tenant 101, payments: events announced 1 deletion: too many.*shopsync reconcile --accept-deletes --tenant 101 --resource payments/,
      ),
    ])
    await world.pass(0.995)
    expect(await look()).toEqual(['resolved: events 101/notes, events 101/payments'])
  })

  it("the listener's check reports cursors, and leaves whole runs to runs", async () => {
    await notes('failed', 'unreachable')
    expect(await look()).toEqual(['opened: failed 101/notes'])
    await notes('ok', null)
    expect(await look()).toEqual(['resolved: failed 101/notes'])
    const error = new Stop('Something broke', { exitCode: 1 })
    await world.tell({ runId: null, job: null, startedAt: ago(0), reports: [], error })
    expect(told()).toEqual(['opened: failed run'])
    // It follows from the last run's problem, which isn't over until a run reports that.
    await notes('failed', 'unreachable')
    await events.listens({ up_at: ago(100), seen_at: ago(80) })
    expect(await look()).toEqual(['opened: events run'])
    await events.listens({ ended_at: ago(0) })
    await notes('ok', null)
    expect(await look()).toEqual(['resolved: events run'])
    expect(await world.run().then(told)).toEqual(['resolved: failed run'])
  })
})
