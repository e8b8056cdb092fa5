/**
 * `shopsync listen` and a source: it hears, gives the lease back, tells what it sees by itself, ends on a signal. What its
 * inbox lacks keeps nothing else from working. Another source's warehouse: test/transcripts/events.txt.
 */
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { sendEvent, startStaying } from '../../support/harness/listening.js'
import { Metrics } from '../../support/harness/metrics.js'
import { newLines, viewedPlace } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'
import { isWhole, sized } from '../../support/harness/size.js'
import { listenHere, type Up, upHere } from '../../support/harness/uphere.js'

const here = await viewedPlace({ repairOrders: 6, tenants: 1 })
const [tenant = 0] = here.sandbox.tenantIds
const usual = {
  sync: { resources: ['repair_orders', 'payments', 'customers'] },
  schedule: { listen: { port: 0 } },
}

beforeAll(async () => {
  here.configure(usual)
  expect((await here.run('sync')).code).toBe(0)
})
beforeEach(() => here.configure(usual))

const listening = (...flags: string[]): Promise<Up> => listenHere(here.folder, here.sandbox.secret, flags)
const end = async (up: Up): Promise<void> => expect((await up.end()).code).toBe(0)
const send = ({ url }: { readonly url: string }, event: Parameters<typeof eventBody>[0]): Promise<number> =>
  sendEvent(url, here.sandbox.secret, eventBody({ tenant, ...event }))

/** The file of the events, which the first listener makes. */
const inbox = (): string => join(here.folder, 'data/warehouse.db.events')
const text = (name: string): string => {
  const file = join(here.folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
/** The rows that a statement on the warehouse or, beside it, the inbox returns. */
function sqlOf(file: 'warehouse.db' | 'warehouse.db.events', statement: string, ...values: unknown[]) {
  const db = new Database(join(here.folder, 'data', file))
  try {
    const asked = db.prepare(statement)
    return asked.reader ? asked.all(values) : [asked.run(values)]
  } finally {
    db.close()
  }
}

interface Listed {
  readonly event_id: string
  readonly resource: string
  readonly state: string
}
const listed = async (): Promise<Listed[]> =>
  (await here.run('events', 'list', '--last', '100000', '--json')).json<{ events: Listed[] }>().events
const states = async (): Promise<string[]> =>
  (await listed()).map(({ event_id, resource, state }) => `${event_id} ${resource} ${state}`).sort()
const isSettled = async (): Promise<boolean> => (await listed()).every(({ state }) => state === 'settled')
const isMissing = async (): Promise<boolean> =>
  (await here.run('events', 'list')).stdout.includes('Nobody has received events')

test('an inbox that was interrupted while a listener made it reads as missing, and is made by the next one', async () => {
  writeFileSync(inbox(), '')
  expect(await isMissing()).toBe(true)
  expect((await here.run('sync')).code).toBe(0)
  await end(await listening())
  expect(await isMissing()).toBe(false)
  for (const file of ['', '-wal', '-shm']) rmSync(`${inbox()}${file}`, { force: true })
})

test('hears a change, and has it at once', async () => {
  const up = await listening()
  const [id = 0] = here.sandbox.store.ids(tenant, 'repair_orders')
  here.sandbox.store.change(tenant, 'repair_orders', id, { detail: 'heard' })
  expect(await send(up, { record: id })).toBe(200)
  await until(isSettled)
  expect(await states()).toEqual(['e1 payments settled', 'e1 repair_orders settled'])
  expect((await here.run('why', 'repair_orders', String(id), '--json')).stdout).toContain('heard')
  expect(statSync(inbox()).mode & 0o777).toBe(0o600)
  const ready = await fetch(new URL('/ready', up.url))
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, trouble: null }])
  const checked = await here.run('check', '--webhook-url', up.url)
  expect(checked.stdout).toContain('leads to shopsync listen; the source delivers only to https')
  expect(checked.stdout).toMatch(
    /36 to register: see below[\s\S]*\n +assignment\.created assignment\.updated/,
  )
  await end(up)
})

test('a command that wants the lease gets it, and rings meanwhile', async () => {
  const up = await listening()
  const [, id = 0] = here.sandbox.store.ids(tenant, 'repair_orders')
  const sending = (async () => {
    for (let i = 0; i < sized(15, 40); i++) {
      here.sandbox.store.change(tenant, 'repair_orders', id, { detail: `change ${i}` })
      expect(await send(up, { id: `many ${i}`, record: id })).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  const commands = ['sync', 'reconcile', 'forget --tenant 999 --yes']
  const ended = await Promise.all(commands.map((words) => here.run(...words.split(' '))))
  // Two of them use the same warehouse: the second may find the first one, but never the listener.
  for (const { code, stderr } of ended) if (code === 4) expect(stderr).not.toContain('(listen,')
  await sending
  await until(isSettled)
  await end(up)
}, 120_000)

test('schedule hears alongside its jobs', async () => {
  const { sync } = usual
  here.configure({ sync, schedule: { listen: false, events: true }, events: { port: 0 } })
  const up = await upHere(['schedule'], { cwd: here.folder, env: { API_SECRET: here.sandbox.secret } })
  expect(await send(up, { id: 'scheduled' })).toBe(200)
  await until(async () => (await states()).includes('scheduled repair_orders settled'))
  await end(up)
})

test('an expired certificate is reported, and its replacement is used at once', async () => {
  const pem = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
  const [cert, key] = [join(here.folder, 'cert.pem'), join(here.folder, 'key.pem')]
  copyFileSync(pem('expired.pem'), cert)
  copyFileSync(pem('server.key'), key)
  const up = await listening('--tls-cert', cert, '--tls-key', key)
  const { port, protocol } = new URL(up.url)
  expect(protocol).toBe('https:')
  /** Until when its certificate is valid, and what it says of itself. */
  const peer = (): Promise<{ validTo: string; ready: string }> =>
    new Promise((resolve, reject) => {
      const options = { port: Number(port), host: '127.0.0.1', rejectUnauthorized: false }
      let [validTo, answer] = ['', '']
      const socket = connect(options, () => {
        validTo = socket.getPeerCertificate().valid_to
        socket.write('GET /ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
      })
      socket.on('data', (chunk: Buffer) => {
        answer += chunk.toString()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve({ validTo, ready: answer.slice(answer.indexOf('{')) }))
    })
  expect(await peer()).toEqual({
    validTo: expect.stringContaining('2020'),
    ready: '{"ready":false,"trouble":"certificate"}',
  })
  copyFileSync(pem('server.pem'), cert)
  await until(async () => !(await peer()).validTo.includes('2020'))
  expect((await peer()).ready).toBe('{"ready":true,"trouble":null}')
  // A file that isn't a certificate leaves the current one in place; it is looked at every few seconds.
  if (isWhole()) {
    copyFileSync(pem('make.sh'), cert)
    await until(() => up.call.stderr.text.includes('cannot be used'))
    expect(JSON.parse((await peer()).ready)).toMatchObject({ ready: true })
  }
  await end(up)
}, 60_000)

test('if no run comes, it writes the metrics itself, and reports an incident and its end', async () => {
  const tell = ['sh', '-c', 'cat >> told.jsonl; echo >> told.jsonl']
  here.configure({
    ...usual,
    metrics: { textfile: './shopsync.prom' },
    alerts: { rules: [{ on: ['events'], command: tell }] },
  })
  /** It listens until it is recorded that the alert was sent: a signal before that would leave it to the next check. */
  async function listenUntil(type: 'opened' | 'resolved'): Promise<void> {
    const up = await listening()
    await until(() => JSON.stringify(sqlOf('warehouse.db', 'select told from sync_alerts')).includes(type))
    await until(() => new Metrics(text('shopsync.prom')).all('events_waiting').length === 1)
    await end(up)
  }
  const runs = async () => (await here.run('runs', '--json')).json<{ runs: unknown[] }>().runs.length
  const before = await runs()
  const at = new Date().toISOString().replace('Z', '000Z')
  sqlOf(
    'warehouse.db.events',
    `insert into sync_events (tenant_id, resource, type, action, record_id, event_id, deliveries, tries, state, reason, received_at, settled_at)
      values (?, 'repair_orders', 'RepairOrder', 'updated', 1, 'unlisted', 1, 0, 'settled', 'not_listed', ?, ?)`,
    ...[tenant, at, at],
  )
  await listenUntil('opened')
  const status = await here.run('status')
  expect([status.code, status.stdout]).toEqual([
    1,
    expect.stringMatching(/✗ events since .*: events announced 1 record that the list/),
  ])
  expect(await runs()).toBe(before)
  sqlOf('warehouse.db.events', "delete from sync_events where event_id = 'unlisted'")
  await listenUntil('resolved')
  const told = newLines<{ type: string }>(join(here.folder, 'told.jsonl'))
  expect(told.map(({ type }) => type)).toEqual(['opened', 'resolved'])
  expect((await here.run('status')).code).toBe(0)
})

test('a full disk: what was answered is stored, the rest is refused with 503; SIGTERM ends it with 0', async () => {
  const env = { API_SECRET: here.sandbox.secret }
  const how = { cwd: here.folder, env, kilobytes: 2000 }
  const listener = await startStaying(['listen', '--port', '0', '--no-ring'], how)
  const stored: string[] = []
  let refused = 0
  const filling = 'x'.repeat(180)
  for (let round = 0; refused === 0; round++) {
    const ids = Array.from({ length: 200 }, (_, i) => `full ${filling} ${round} ${i}`)
    const codes = await Promise.all(ids.map((id) => send(listener, { id })))
    stored.push(...ids.filter((_, i) => codes[i] === 200))
    refused = codes.filter((code) => code === 503).length
    expect(codes.filter((code) => code !== 200 && code !== 503)).toEqual([])
  }
  expect(stored).not.toEqual([])
  expect((await fetch(new URL('/health', listener.url))).status).toBe(200)
  listener.run.child.kill('SIGTERM')
  expect((await listener.run.ended).code).toBe(0)
  const found = new Set((await listed()).map(({ event_id }) => event_id))
  expect(stored.filter((id) => !found.has(id))).toEqual([])
}, 60_000)

test('--json: one document, with the address', async () => {
  const { url, end: ended } = await listening('--no-ring', '--json')
  expect((await ended()).json()).toEqual({ url, pid: process.pid, rings: false })
})

test("a listener takes no inbox of another source's events", async () => {
  await end(await listening())
  sqlOf('warehouse.db.events', "update sync_listeners set source = 'https://other.example 7'")
  const refused = await here.run('listen')
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('come from https://other.example 7'),
  ])
})
