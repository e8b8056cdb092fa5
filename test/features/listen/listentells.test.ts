/** What people see of events: the commands, the metrics, and the alerts that `listen` sends if no run comes. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listenHere } from '../../support/harness/listenhere.js'
import { Metrics } from '../../support/harness/metrics.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'

let here: Place

beforeEach(async () => {
  here = await viewedPlace({ repairOrders: 6, tenants: 1 })
  here.configure({
    sync: { resources: ['repair_orders', 'customers'] },
    schedule: { listen: { port: 0 } },
    metrics: { textfile: './shopsync.prom' },
    alerts: { rules: [{ on: ['events'], command: ['sh', '-c', 'cat >> told.jsonl; echo >> told.jsonl'] }] },
  })
  expect((await here.run('sync')).code).toBe(0)
})
afterEach(() => here.remove())

const tenant = (): number => here.sandbox.tenantIds[0] ?? 0
const textfile = (): Metrics => new Metrics(readFileSync(join(here.folder, 'shopsync.prom'), 'utf8'))
const start = () => listenHere(here.folder, here.sandbox.secret)

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

/** Whether it is recorded that the alert was sent: a signal before that would leave it to the next check. */
const isNoted = (type: 'opened' | 'resolved'): boolean =>
  JSON.stringify(sqlOf('warehouse.db', 'select told from sync_alerts')).includes(type)

test('nothing about events is shown if nobody has ever listened; then all of it is', async () => {
  const [id = 0] = here.sandbox.store.ids(tenant(), 'repair_orders')
  const quiet = [
    await here.run('status', '--json'),
    await here.run('why', 'repair_orders', String(id), '--json'),
  ]
  expect(quiet[0]?.json()).not.toHaveProperty('events')
  expect(quiet[1]?.json<{ rows: object[] }>().rows[0]).not.toHaveProperty('event')
  expect(textfile().text).not.toContain('shopsync_events_')
  expect(existsSync(join(here.folder, 'data/warehouse.db.events'))).toBe(false)

  const listening = await start()
  await until(() => textfile().all('events_waiting').length === 1)
  here.sandbox.store.change(tenant(), 'repair_orders', id, { detail: 'heard' })
  const headers = { 'x-api-secret': here.sandbox.secret }
  const body = eventBody({ tenant: tenant(), record: id })
  expect((await fetch(listening.url, { method: 'POST', headers, body })).status).toBe(200)
  const settled = async (): Promise<number> =>
    (await here.run('status', '--json')).json<{ events: { today: { settled: number } } }>().events.today
      .settled
  await until(async () => (await settled()) === 1)
  const status = await here.run('status')
  expect(status.stdout).toMatch(
    /\nevents: listening since \d\d:\d\d UTC, last one \S+ s ago\n {2}today \(UTC\) 1 received, 1 settled \(median/,
  )
  expect((await here.run('status', '--failing')).stdout).not.toContain('events:')
  const why = await here.run('why', 'repair_orders', String(id))
  expect(why.stdout).toMatch(
    /last made due by event e1 \(RepairOrder updated\), received at \S+: settled after \S+ s, by run events-/,
  )
  expect((await listening.end()).code).toBe(0)
  expect((await here.run('status')).stdout).toMatch(/events: no listener since/)
  // A run writes them, too.
  expect((await here.run('sync')).code).toBe(0)
  expect(textfile().sum('events_received_total', { type: 'RepairOrder', answer: 'stored' })).toBe(1)
  expect(textfile().sum('events_settled_total', { resource: 'repair_orders', state: 'settled' })).toBe(1)
})

test('listen by itself reports an incident, and its end', async () => {
  let listening = await start()
  expect((await listening.end()).code).toBe(0)
  const at = new Date().toISOString().replace('Z', '000Z')
  sqlOf(
    'warehouse.db.events',
    `insert into sync_events (tenant_id, resource, type, action, record_id, event_id, deliveries, tries, state, reason, received_at, settled_at)
      values (?, 'repair_orders', 'RepairOrder', 'updated', 1, 'e1', 1, 0, 'settled', 'not_listed', ?, ?)`,
    [tenant(), at, at],
  )
  const told = (): string[] =>
    existsSync(join(here.folder, 'told.jsonl'))
      ? readFileSync(join(here.folder, 'told.jsonl'), 'utf8').trim().split('\n')
      : []
  listening = await start()
  await until(async () => isNoted('opened'))
  expect((await listening.end()).code).toBe(0)
  const status = await here.run('status')
  expect([
    status.code,
    /✗ events since .*: events announced 1 record that the list/.test(status.stdout),
  ]).toEqual([1, true])
  expect((await here.run('runs', '--json')).json<{ runs: unknown[] }>().runs.length).toBe(1)
  sqlOf('warehouse.db.events', 'delete from sync_events')
  listening = await start()
  await until(async () => isNoted('resolved'))
  expect((await listening.end()).code).toBe(0)
  expect(told().map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['opened', 'resolved'])
  expect((await here.run('status')).code).toBe(0)
})
