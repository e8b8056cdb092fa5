/**
 * Incidents of events: who receives them, what waits, what no list shows; and what the listener's check reports and
 * leaves to runs.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import type { Incident } from '../../../src/features/health/incident.js'
import { openIncidents } from '../../../src/features/health/openincidents.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { closeAll } from '../../support/harness/server.js'
import { open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, type Receiver, receiver, ruleOf } from '../../support/world/alerting.js'
import { putEvents, putListener } from '../../support/world/inboxrows.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await closeAll()
})

class EventWorld {
  private constructor(
    readonly world: AlertingWorld,
    readonly sandbox: Sandbox,
    readonly warehouse: Warehouse,
    readonly inbox: Inbox,
    readonly hook: Receiver,
  ) {}

  static async open(kind: Parameters<typeof open>[0]): Promise<EventWorld> {
    const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
    for (const resource of ['notes', 'payments'])
      sandbox.store.put(101, resource, template(resource, 101, '2026-01-01T00:00:00Z'))
    const [warehouse, hook] = [await open(kind), await receiver()]
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    await world.run()
    const inbox = await Inbox.open(warehouse)
    closers.push(
      () => sandbox.close(),
      () => warehouse.close(),
      () => inbox.close(),
    )
    return new EventWorld(world, sandbox, warehouse, inbox, hook)
  }

  /** A number of seconds before now. */
  ago(seconds: number): string {
    return fromMicros(this.world.clock.nowMicros() - BigInt(seconds) * 1_000_000n)
  }

  /** What the listener's check reports. */
  async look(): Promise<string[]> {
    const startedAt = this.ago(0)
    await this.world.tell({ runId: null, job: null, startedAt, reports: [], isLook: true })
    return this.hook.take().map(lineOf)
  }

  open(): Promise<Incident[]> {
    return this.warehouse.read((db) => openIncidents(this.warehouse, db))
  }
}

describe.each(warehouses())('on $name', (kind) => {
  it('reports a receiver that accepts nothing, for as long as that lasts', async () => {
    const events = await EventWorld.open(kind)
    const { inbox } = events
    const well = { up_at: events.ago(100), seen_at: events.ago(1), trouble: null }
    await putListener(inbox, well)
    expect(await events.look()).toEqual([])
    await putListener(inbox, { ...well, trouble: 'disk_full' })
    expect(await events.look()).toEqual(['opened: events run'])
    expect(await events.look()).toEqual([])
    expect(await events.open()).toMatchObject([
      {
        ...{ kind: 'events', tenant_id: null, resource: null, since: well.seen_at },
        message: expect.stringContaining('accepts no events: the disk is nearly full'),
        advice: expect.stringContaining('256 MB'),
      },
    ])
    await putListener(inbox, { ...well, seen_at: events.ago(0), trouble: 'wrong_secret' })
    expect(await events.look()).toEqual(['opened: events run', 'resolved: events run'])
    await putListener(inbox, well)
    await events.world.run()
    expect(events.hook.take().map(lineOf)).toEqual(['resolved: events run'])
  })

  it('reports a listener that ended silently, until another one starts', async () => {
    const events = await EventWorld.open(kind)
    const { inbox } = events
    await putListener(inbox, { up_at: events.ago(100), seen_at: events.ago(61) })
    await events.world.run()
    expect(events.hook.take().map(lineOf)).toEqual(['opened: events run'])
    expect((await events.open())[0]?.message).toContain('died without reporting')
    await putListener(inbox, { listener_id: 'l2', up_at: events.ago(2), seen_at: events.ago(1) })
    expect(await events.look()).toEqual(['resolved: events run'])
    await putListener(inbox, { listener_id: 'l2', seen_at: events.ago(500), ended_at: events.ago(500) })
    expect(await events.look()).toEqual([])
  })

  it('reports overdue events once for all lists, but not those that wait for their time or a run', async () => {
    const events = await EventWorld.open(kind)
    const { inbox } = events
    const wait = (due: number | null, resource: string, event_id: string) => {
      const due_at = due === null ? null : events.ago(due)
      return { event_id, resource, received_at: events.ago(90_000), due_at }
    }
    await putEvents(inbox, [wait(-60, 'notes', 'a'), wait(880, 'notes', 'b'), wait(null, 'notes', 'c')])
    expect(await events.look()).toEqual([])
    const oldest = wait(1000, 'repair_orders', 'e')
    await putEvents(inbox, [wait(905, 'payments', 'd'), oldest])
    expect(await events.look()).toEqual(['opened: events run'])
    const [late] = await events.open()
    expect(late?.message).toBe('Events wait too long for 2 lists: tenant 101, repair_orders, and 1 more')
    const overdueAt = new Date(Date.parse(oldest.due_at ?? '') + 900_000).toISOString()
    expect(late?.since.slice(0, 19)).toBe(overdueAt.slice(0, 19))
    await inbox.write([inbox.db.deleteFrom('sync_events').where('due_at', 'is not', null).compile()])
    expect(await events.look()).toEqual(['resolved: events run'])
    // No run has come for longer than status.staleAfter: what waits for one is late.
    await events.world.pass(1.1)
    expect(await events.look()).toEqual(['opened: events run, stale 101/notes, stale 101/payments'])
  })

  it('leaves out the cursor that the current run is working on', async () => {
    const events = await EventWorld.open(kind)
    const { inbox, warehouse } = events
    await putEvents(inbox, [{ resource: 'notes', received_at: events.ago(2000), due_at: events.ago(2000) }])
    const holder = { owner: 'run-1', command: 'sync', host: 'elsewhere', pid: 1, token: 99 }
    const lease = { ...holder, claimed_at: events.ago(3000), expires_at: events.ago(-30) }
    const request = {
      tenant_id: 101,
      resource: 'notes',
      run_id: 'run-1',
      way: 'walk',
      page: 1,
      rows_written: 1,
    }
    await warehouse.write([
      warehouse.db
        .insertInto('sync_lease')
        .values({ name: 'run', ...lease })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(lease))
        .compile(),
      warehouse.db
        .insertInto('sync_requests')
        .values({ ...request, synced_at: events.ago(30) })
        .compile(),
    ])
    expect(await events.look()).toEqual([])
    await warehouse.write([warehouse.db.deleteFrom('sync_requests').where('run_id', '=', 'run-1').compile()])
    expect(await events.look()).toEqual(['opened: events run'])
  })

  it('reports what was announced but not listed, and what was left alone, by list and for a day', async () => {
    const events = await EventWorld.open(kind)
    const row = {
      resource: 'notes',
      received_at: events.ago(2000),
      settled_at: events.ago(1000),
      due_at: null,
    }
    await putEvents(events.inbox, [
      { ...row, event_id: 'a', state: 'settled', reason: 'not_listed' },
      { ...row, event_id: 'b', state: 'settled', reason: 'not_listed' },
      { ...row, event_id: 'c', state: 'unseen', reason: 'not_listed' },
      { ...row, event_id: 'd', state: 'left', reason: 'breaker', resource: 'payments' },
      { ...row, event_id: 'e', state: 'left', reason: 'breaker', tenant_id: 999 },
    ])
    expect(await events.look()).toEqual(['opened: events 101/notes, events 101/payments'])
    const open = await events.open()
    expect(open.map(({ message }) => message)).toEqual([
      expect.stringContaining('tenant 101, notes: events announced 2 records'),
      expect.stringContaining('tenant 101, payments: events announced 1 deletion: too many'),
    ])
    expect(open[1]?.advice).toContain('shopsync reconcile --accept-deletes --tenant 101 --resource payments')
    await events.world.pass(0.995)
    expect(await events.look()).toEqual(['resolved: events 101/notes, events 101/payments'])
  })

  it("the listener's check reports cursors, and leaves whole runs to runs", async () => {
    const events = await EventWorld.open(kind)
    const { world, hook, warehouse } = events
    const fail = (status: string, reason: string | null) =>
      warehouse.write([
        warehouse.db
          .updateTable('sync_cursors')
          .set({ status, reason, last_error: 'no answer' })
          .where('resource', '=', 'notes')
          .compile(),
      ])
    await fail('failed', 'unreachable')
    expect(await events.look()).toEqual(['opened: failed 101/notes'])
    await fail('ok', null)
    expect(await events.look()).toEqual(['resolved: failed 101/notes'])
    const startedAt = events.ago(0)
    const error = new Stop('Something broke', { exitCode: 1 })
    await world.tell({ runId: null, job: null, startedAt, reports: [], error })
    expect(hook.take().map(lineOf)).toEqual(['opened: failed run'])
    // It follows from the last run's problem, which isn't over until a run reports that.
    await fail('failed', 'unreachable')
    await putListener(events.inbox, { up_at: events.ago(100), seen_at: events.ago(80) })
    expect(await events.look()).toEqual(['opened: events run'])
    await putListener(events.inbox, { ended_at: events.ago(0) })
    await fail('ok', null)
    expect(await events.look()).toEqual(['resolved: events run'])
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed run'])
  })
})
