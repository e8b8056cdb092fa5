/**
 * Received events are optional. Where they can't be read, everything that watches the warehouse tells what else there is
 * to tell, and names them. What commands say then: test/transcripts/events.txt.
 */
import { chmodSync, chownSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { type Kind, open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf } from '../../support/world/alerting.js'
import { EventBench } from '../../support/world/events.js'

const sandbox = await sandboxOfFile()

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
    const warehouse = await open(kind)
    const world = await AlertingWorld.of(sandbox, warehouse, [101])
    const told = async (): Promise<string[]> => {
      await world.run()
      return world.hook.take().map(lineOf)
    }
    await told()
    const events = await EventBench.open(sandbox, warehouse)
    const ago = (seconds: number): string =>
      fromMicros(world.clock.nowMicros() - BigInt(seconds) * 1_000_000n)
    await events.listens({ up_at: ago(100), seen_at: ago(1), trouble: 'disk_full' })
    await events.inbox.close()
    expect(await told()).toEqual(['opened: events run'])

    const repair = await damage(kind, warehouse)
    sandbox.script([{ when: { resource: 'payments' }, fault: { kind: 'status', status: 500 } }])
    await world.run()
    const [message] = world.hook.take()
    expect(message && lineOf(message)).toBe('opened: events run, failed 101/payments')
    expect(message?.incidents.find(({ kind: of }) => of === 'events')).toMatchObject({
      message: expect.stringMatching(/^The received events cannot be read: /),
      advice: expect.stringContaining('shopsync listen makes a new one'),
    })
    // What isn't known isn't over, and is told once.
    expect(await told()).toEqual([])

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
    expect(await told()).toContain('resolved: events run, failed 101/payments')
    expect((await metricsOf(warehouse, { nowMicros })).sum('events_readable')).toBe(1)
  })
})

test('the file of the events has the owner and the permissions of the warehouse, also if root makes it', async () => {
  const [kind] = warehouses() as [Kind]
  const warehouse = await open(kind)
  const file = warehouse.dialect.where.slice('sqlite:'.length)
  const owner = process.getuid?.() === 0 ? 12_345 : (process.getuid?.() ?? 0)
  chownSync(file, owner, process.getgid?.() ?? 0)
  const before = statSync(file)
  expect(before.mode & 0o777).not.toBe(0o640)
  chmodSync(file, 0o640)
  await (await EventBench.open(sandbox, warehouse)).inbox.close()
  const made = statSync(inboxFile(warehouse))
  expect([made.uid, (made.mode & 0o777).toString(8)]).toEqual([owner, '640'])
})
