/** `shopsync listen` as a process: it hears the sandbox, gives the lease back, ends on a signal. */
import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Listening, startListening } from '../../support/harness/listening.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'
import { isWhole, sized } from '../../support/harness/size.js'

const pem = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const resources = ['repair_orders', 'payments', 'customers']

let here: Place
let env: Record<string, string>

beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 6, tenants: 1 })
  here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
  env = { API_SECRET: here.sandbox.secret }
  expect((await here.run('sync')).code).toBe(0)
  expect((await here.run('events', 'list')).stdout).toContain('Nobody has received events')
})
afterAll(() => here.remove())

const start = (...words: string[]): Promise<Listening> =>
  startListening(here.folder, env, ['--port', '0', ...words])

const send = async ({ url }: Listening, body: string): Promise<number> => {
  const headers = { 'x-api-secret': here.sandbox.secret }
  return (await fetch(url, { method: 'POST', headers, body })).status
}

const tenant = (): number => here.sandbox.tenantIds[0] ?? 0
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

test('hears a change, has it at once, and ends on SIGTERM with 0', async () => {
  expect(existsSync(join(here.folder, 'data/warehouse.db.events'))).toBe(false)
  const listening = await start()
  const [id = 0] = here.sandbox.store.ids(tenant(), 'repair_orders')
  here.sandbox.store.change(tenant(), 'repair_orders', id, { detail: 'heard' })
  expect(await send(listening, eventBody({ tenant: tenant(), record: id }))).toBe(200)
  await until(isSettled)
  expect(await states()).toEqual(['e1 payments settled', 'e1 repair_orders settled'])
  const why = await here.run('why', 'repair_orders', String(id), '--json')
  expect(why.stdout).toContain('heard')
  expect(statSync(join(here.folder, 'data/warehouse.db.events')).mode & 0o777).toBe(0o600)
  const ready = await fetch(new URL('/ready', listening.url))
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, trouble: null }])
  const checked = await here.run('check', '--webhook-url', listening.url)
  expect(checked.stdout).toContain('leads to shopsync listen; the source delivers only to https')
  expect(checked.stdout).toMatch(
    /36 to register: see below[\s\S]*\n +assignment\.created assignment\.updated/,
  )
  listening.run.child.kill('SIGTERM')
  expect((await listening.run.ended).code).toBe(0)
})

test('a command that wants the lease gets it, and rings meanwhile', async () => {
  const listening = await start()
  const [, id = 0] = here.sandbox.store.ids(tenant(), 'repair_orders')
  const sending = (async () => {
    for (let i = 0; i < sized(15, 40); i++) {
      here.sandbox.store.change(tenant(), 'repair_orders', id, { detail: `change ${i}` })
      expect(await send(listening, eventBody({ id: `many ${i}`, tenant: tenant(), record: id }))).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  const ended = await Promise.all([
    here.run('sync'),
    here.run('reconcile'),
    here.run('forget', '--tenant', '999', '--yes'),
  ])
  // Two of them use the same warehouse: the second may find the first one, but never the listener.
  for (const { code, stderr } of ended) if (code === 4) expect(stderr).not.toContain('(listen,')
  await sending
  await until(isSettled)
  listening.run.child.kill('SIGTERM')
  await listening.run.ended
}, 120_000)

test('schedule hears alongside its jobs', async () => {
  here.configure({
    sync: { resources },
    schedule: { listen: { port: 0 }, events: true },
    events: { port: 0 },
  })
  const listening = await startListening(here.folder, env, [], 'schedule')
  expect(await send(listening, eventBody({ id: 'scheduled', tenant: tenant() }))).toBe(200)
  await until(async () => (await states()).includes('scheduled repair_orders settled'))
  listening.run.child.kill('SIGTERM')
  expect((await listening.run.ended).code).toBe(0)
  here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })
})

test('an expired certificate is reported, and its replacement is used at once', async () => {
  const [cert, key] = [join(here.folder, 'cert.pem'), join(here.folder, 'key.pem')]
  copyFileSync(pem('expired.pem'), cert)
  copyFileSync(pem('server.key'), key)
  const listening = await start('--tls-cert', cert, '--tls-key', key)
  expect(listening.url).toMatch(/^https:/)
  const peer = (): Promise<{ validTo: string; ready: string }> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(listening.url)
      const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false }, () =>
        socket.write('GET /ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'),
      )
      let text = ''
      const validTo = (): string => socket.getPeerCertificate().valid_to
      let valid = ''
      socket.on('secureConnect', () => {
        valid = validTo()
      })
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve({ validTo: valid, ready: text.slice(text.indexOf('{')) }))
    })
  const before = await peer()
  expect([before.validTo, JSON.parse(before.ready)]).toEqual([
    expect.stringContaining('2020'),
    { ready: false, trouble: 'certificate' },
  ])
  copyFileSync(pem('server.pem'), cert)
  await until(async () => !(await peer()).validTo.includes('2020'))
  expect(JSON.parse((await peer()).ready)).toEqual({ ready: true, trouble: null })
  // A file that isn't a certificate leaves the current one in place; it is looked at every few seconds.
  if (isWhole()) {
    copyFileSync(pem('make.sh'), cert)
    await until(() => listening.stderr().includes('cannot be used'))
    expect(JSON.parse((await peer()).ready)).toMatchObject({ ready: true })
  }
  listening.run.child.kill('SIGTERM')
  await listening.run.ended
}, 60_000)

test('a full disk: what was answered is stored, the rest is refused with 503', async () => {
  const listening = await startListening(here.folder, env, ['--port', '0', '--no-ring'], 'listen', 6000)
  const stored: string[] = []
  let refused = 0
  const filling = 'x'.repeat(100)
  for (let round = 0; refused === 0; round++) {
    const ids = Array.from({ length: 200 }, (_, i) => `full ${filling} ${round} ${i}`)
    const codes = await Promise.all(ids.map((id) => send(listening, eventBody({ id, tenant: tenant() }))))
    stored.push(...ids.filter((_, i) => codes[i] === 200))
    refused = codes.filter((code) => code === 503).length
    expect(codes.filter((code) => code !== 200 && code !== 503)).toEqual([])
  }
  expect((await fetch(new URL('/health', listening.url))).status).toBe(200)
  listening.run.child.kill('SIGTERM')
  await listening.run.ended
  const found = new Set((await listed()).map(({ event_id }) => event_id))
  expect(stored.filter((id) => !found.has(id))).toEqual([])
}, 60_000)

test('--json: one document, with the address', async () => {
  const flags = ['--port', '0', '--no-ring', '--json']
  const { run, url } = await startListening(here.folder, env, flags)
  run.child.kill('SIGTERM')
  const ended = await run.ended
  expect([ended.code, ended.json()]).toEqual([0, { url, pid: run.child.pid, rings: false }])
})
