/**
 * Received events are optional. Where they can't be read, everything that watches the warehouse tells what else there is
 * to tell, and names them.
 */
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, test } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { Metrics, metricsOf } from '../../support/harness/metrics.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { statusOf } from '../../support/harness/status.js'
import { type Kind, open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'
import { EventBench } from '../../support/world/events.js'
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
    const { inbox } = await EventBench.open(sandbox, warehouse)
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
  await (await EventBench.open(await sandboxOfFile(), warehouse)).inbox.close()
  const made = statSync(inboxFile(warehouse))
  expect([made.uid, (made.mode & 0o777).toString(8)]).toEqual([owner, '640'])
})

describe('commands', () => {
  let here: Place
  beforeAll(async () => {
    here = await viewedPlace({ repairOrders: 2, tenants: 1 })
    here.configure({ sync: { resources: ['notes', 'statuses'] }, metrics: { textfile: 'shopsync.prom' } })
    expect((await here.run('sync')).code).toBe(0)
    return () => here.remove()
  })

  // Of one that is no database, test/transcripts/events.txt.
  it('do what they can beside a file of events that is a folder', async () => {
    mkdirSync(join(here.folder, 'data', 'warehouse.db.events'))
    const file = (name: string): string => readFileSync(join(here.folder, name), 'utf8')
    expect((await here.run('sync')).code).toBe(0)
    expect(new Metrics(file('shopsync.prom')).sum('events_readable')).toBe(0)
    expect(await here.run('status')).toMatchObject({ code: 1 })
    const check = await here.run('check', '--json')
    const { checks } = check.json<{ checks: { ok: boolean }[] }>()
    expect([check.code, checks.filter(({ ok }) => !ok)]).toEqual([
      1,
      [expect.objectContaining({ what: 'events', found: expect.stringContaining('cannot be read') })],
    ])
    for (const words of [['report', '--operations'], ['report'], ['runs'], ['runs', '--events']])
      expect([words, (await here.run(...words)).code]).toEqual([words, 0])
    expect(file('operations.html')).toContain('events cannot be read')
  })
})
