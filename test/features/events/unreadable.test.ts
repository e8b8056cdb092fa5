/**
 * Received events are optional. Where they can't be read, everything that watches the warehouse tells what else there is
 * to tell, and names them.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { CheckFinding } from '../../../src/features/check/words.js'
import { Inbox } from '../../../src/features/events/inbox.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { Metrics, metricsOf } from '../../support/harness/metrics.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { closeAll } from '../../support/harness/server.js'
import { statusOf } from '../../support/harness/status.js'
import { type Kind, open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'
import { EventWorld, list } from '../../support/world/eventworld.js'
import { putListener } from '../../support/world/inboxrows.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await closeAll()
})

const inboxFile = (warehouse: Warehouse): string =>
  `${warehouse.dialect.where.slice('sqlite:'.length)}.events`

/** Makes the inbox unreadable, as damage or another user does. Returns what puts it right. */
async function damage(kind: Kind, warehouse: Warehouse): Promise<() => Promise<void>> {
  if (kind.name === 'sqlite') {
    const file = inboxFile(warehouse)
    renameSync(file, `${file}.whole`)
    writeFileSync(file, 'no database at all, but some text of more than a hundred bytes. '.repeat(4))
    return async () => renameSync(`${file}.whole`, file)
  }
  const rename = (from: string, to: string): Promise<void> =>
    warehouse.db.schema.alterTable('sync_events').renameColumn(from, to).execute()
  await rename('state', 'stolen')
  return () => rename('stolen', 'state')
}

describe.each(warehouses())('on $name', (kind) => {
  it('alerts, status and metrics go on without events that cannot be read, and name them', async () => {
    const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
    for (const resource of ['notes', 'payments'])
      sandbox.store.put(101, resource, template(resource, 101, '2026-01-01T00:00:00Z'))
    const [warehouse, hook] = [await open(kind), await receiver()]
    closers.push(
      () => sandbox.close(),
      () => warehouse.close(),
    )
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    await world.run()
    const inbox = await Inbox.open(warehouse)
    const ago = (seconds: number): string =>
      fromMicros(world.clock.nowMicros() - BigInt(seconds) * 1_000_000n)
    await putListener(inbox, { up_at: ago(100), seen_at: ago(1), trouble: 'disk_full' })
    await inbox.close()
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['opened: events run'])

    const repair = await damage(kind, warehouse)
    sandbox.script([{ when: { resource: 'payments' }, fault: { kind: 'status', status: 500 } }])
    await world.run()
    const [told] = hook.take()
    expect(told && lineOf(told)).toBe('opened: events run, failed 101/payments')
    expect(told?.incidents.find(({ kind: of }) => of === 'events')).toMatchObject({
      message: expect.stringMatching(/^The received events cannot be read: /),
      advice: expect.stringContaining('shopsync listen makes a new one'),
    })
    // What isn't known isn't over, and is told once.
    await world.run()
    expect(hook.take()).toEqual([])

    const nowMicros = world.clock.nowMicros()
    const status = await statusOf(sandbox, warehouse, { nowMicros })
    expect(status).toMatchObject({ healthy: false, cursors: [{ resource: 'notes', state: 'ok' }] })
    expect(status.events).toMatchObject({ unreadable: expect.stringContaining('cannot be read') })
    const metrics = await metricsOf(warehouse, { nowMicros })
    expect(metrics.sum('events_readable')).toBe(0)
    expect(metrics.all('events_waiting')).toEqual([])
    expect(metrics.sum('cursors', { state: 'ok' })).toBe(1)

    await repair()
    sandbox.script([])
    await world.run()
    expect(hook.take().map(lineOf)).toContain('resolved: events run, failed 101/payments')
    expect((await metricsOf(warehouse, { nowMicros })).sum('events_readable')).toBe(1)
  })
})

test('a run ends as usual if the file of its events is damaged while it settles them', async () => {
  const [kind] = warehouses() as [Kind]
  const world = await EventWorld.open(kind)
  closers.push(() => world.close())
  const [order = 0] = world.orders
  await world.put({ id: order, version: world.change(order) })
  // Reads still work; a write finds what somebody made of it.
  const { inbox } = world.events
  await inbox.write([
    sql`create trigger broken before update on sync_events begin select raise(abort, 'broken'); end`.compile(
      inbox.db,
    ),
  ])
  const end = await world.turn()
  expect(end).toBeDefined()
  expect(await world.row(order)).toMatchObject({ detail: 'changed' })
  expect(await world.cursor(list)).toMatchObject({ status: 'ok' })
})

test('the file of the events has the owner and the permissions of the warehouse, also if root makes it', async () => {
  const [kind] = warehouses() as [Kind]
  const warehouse = await open(kind)
  closers.push(() => warehouse.close())
  const file = warehouse.dialect.where.slice('sqlite:'.length)
  const owner = process.getuid?.() === 0 ? 12_345 : (process.getuid?.() ?? 0)
  chownSync(file, owner, process.getgid?.() ?? 0)
  const before = statSync(file)
  expect(before.mode & 0o777).not.toBe(0o640)
  chmodSync(file, 0o640)
  await (await Inbox.open(warehouse)).close()
  const made = statSync(inboxFile(warehouse))
  expect([made.uid, (made.mode & 0o777).toString(8)]).toEqual([owner, '640'])
})

describe('commands', () => {
  let here: Place
  const metrics = (): Metrics => new Metrics(readFileSync(join(here.folder, 'shopsync.prom'), 'utf8'))
  const file = (): string => join(here.folder, 'data', 'warehouse.db.events')

  beforeAll(async () => {
    here = await viewedPlace({ repairOrders: 2, tenants: 1 })
    here.configure({ sync: { resources: ['notes', 'statuses'] }, metrics: { textfile: 'shopsync.prom' } })
    expect((await here.run('sync')).code).toBe(0)
  })
  afterAll(() => here.remove())
  afterEach(() => rmSync(file(), { recursive: true, force: true }))

  it.each([
    ['that is a folder', () => mkdirSync(file())],
    ['that is no database', () => writeFileSync(file(), 'text '.repeat(100))],
  ])('do what they can beside a file of events %s', async (_what, make) => {
    make()
    expect((await here.run('sync')).code).toBe(0)
    expect(metrics().sum('events_readable')).toBe(0)
    const status = await here.run('status')
    expect([status.code, status.stdout]).toEqual([1, expect.stringContaining('events cannot be read')])
    const check = await here.run('check', '--json')
    const { checks } = check.json<{ checks: CheckFinding[] }>()
    expect([check.code, checks.filter(({ ok }) => !ok)]).toEqual([
      1,
      [expect.objectContaining({ what: 'events', found: expect.stringContaining('cannot be read') })],
    ])
    for (const words of [['report', '--operations'], ['report'], ['runs'], ['runs', '--events']])
      expect([words, (await here.run(...words)).code]).toEqual([words, 0])
    expect(readFileSync(join(here.folder, 'operations.html'), 'utf8')).toContain('events cannot be read')
    const [tenant = 0] = here.sandbox.tenantIds
    const [id = 0] = here.sandbox.store.ids(tenant, 'statuses')
    const why = await here.run('why', 'statuses', String(id), '--tenant', String(tenant))
    expect([why.code, why.stdout]).toEqual([0, expect.stringContaining('events cannot be read')])
  })
})
