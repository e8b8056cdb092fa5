/** What `listen` tells by itself if no run comes: it writes the metrics, and reports an incident and its end. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listenHere } from '../../support/harness/listenhere.js'
import { Metrics } from '../../support/harness/metrics.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { until } from '../../support/harness/scheduler.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2, tenants: 1 })
  here.configure({
    sync: { resources: ['repair_orders', 'customers'] },
    schedule: { listen: { port: 0 } },
    metrics: { textfile: './shopsync.prom' },
    alerts: { rules: [{ on: ['events'], command: ['sh', '-c', 'cat >> told.jsonl; echo >> told.jsonl'] }] },
  })
  expect((await here.run('sync')).code).toBe(0)
})
afterAll(() => here.remove())

const text = (name: string): string => {
  const file = join(here.folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** The rows that a statement on the warehouse or, beside it, the inbox returns. */
function sqlOf(file: 'warehouse.db' | 'warehouse.db.events', statement: string, values: unknown[] = []) {
  const db = new Database(join(here.folder, 'data', file))
  try {
    const asked = db.prepare(statement)
    return asked.reader ? asked.all(values) : [asked.run(values)]
  } finally {
    db.close()
  }
}

/** It listens until it is recorded that the alert was sent: a signal before that would leave it to the next check. */
async function listenUntil(type: 'opened' | 'resolved'): Promise<void> {
  const { end } = await listenHere(here.folder, here.sandbox.secret)
  await until(() => JSON.stringify(sqlOf('warehouse.db', 'select told from sync_alerts')).includes(type))
  await until(() => new Metrics(text('shopsync.prom')).all('events_waiting').length === 1)
  expect((await end()).code).toBe(0)
}

test('an incident, its end, and the metrics', async () => {
  expect(text('shopsync.prom')).not.toContain('shopsync_events_')
  const { end } = await listenHere(here.folder, here.sandbox.secret)
  expect((await end()).code).toBe(0)
  const at = new Date().toISOString().replace('Z', '000Z')
  sqlOf(
    'warehouse.db.events',
    `insert into sync_events (tenant_id, resource, type, action, record_id, event_id, deliveries, tries, state, reason, received_at, settled_at)
      values (?, 'repair_orders', 'RepairOrder', 'updated', 1, 'e1', 1, 0, 'settled', 'not_listed', ?, ?)`,
    [here.sandbox.tenantIds[0], at, at],
  )
  await listenUntil('opened')
  const status = await here.run('status')
  expect([status.code, status.stdout]).toEqual([
    1,
    expect.stringMatching(/✗ events since .*: events announced 1 record that the list/),
  ])
  expect((await here.run('runs', '--json')).json<{ runs: unknown[] }>().runs).toHaveLength(1)
  sqlOf('warehouse.db.events', 'delete from sync_events')
  await listenUntil('resolved')
  const told = text('told.jsonl').trim().split('\n')
  expect(told.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['opened', 'resolved'])
  expect((await here.run('status')).code).toBe(0)
})
