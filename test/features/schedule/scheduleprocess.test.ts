/** `shopsync schedule` as a process: its server, its end on a signal, bad input. Its jobs: scheduledjobs.test.ts. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type Staying, startStaying } from '../../support/harness/listening.js'
import { viewedPlace } from '../../support/harness/place.js'
import { startPostgres } from '../../support/harness/postgres.js'
import { onlyJob, until } from '../../support/harness/scheduler.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Up, upHere } from '../../support/harness/uphere.js'

const here = await viewedPlace({ repairOrders: 2, tenants: 1 })
const resources = ['notes', 'categories']
const settings = { sync: { resources }, schedule: { listen: { port: 0 }, timeZone: 'Europe/Berlin' } }

beforeAll(async () => {
  here.configure(settings)
  onlyJob(here.folder, 'mine', { schedule: '0 4 1 1 *' })
  expect((await here.run('sync')).code).toBe(0)
})

/** Writes a line for each page thread if the environment names a file. */
const watching = join(scratch(), 'watch.cjs')
const threads = join(scratch(), 'threads')
writeFileSync(
  watching,
  `const { isMainThread, workerData } = require('node:worker_threads')
if (!isMainThread) require('node:fs').appendFileSync(process.env.THREADS, Object.keys(workerData ?? {}) + '\\n')`,
)
writeFileSync(threads, '')

const inProcess = (): Promise<Staying> => {
  const env = { API_SECRET: here.sandbox.secret, THREADS: threads, NODE_OPTIONS: `--require ${watching}` }
  return startStaying(['schedule'], { cwd: here.folder, env })
}
const start = (...flags: string[]): Promise<Up> =>
  upHere(['schedule', ...flags], { cwd: here.folder, env: { API_SECRET: here.sandbox.secret } })

/** One request with the given host name. */
const statusOf = (url: string, host: string, method = 'GET', path = '/'): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, hostname } = new URL(url)
    const socket = createConnection(Number(port), hostname, () => {
      socket.write(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    })
    socket.on('error', reject).on('data', (chunk: Buffer) => resolve(chunk.toString().slice(9, 12)))
  })

test('serves, and exits with 0 on SIGTERM', async () => {
  const first = await inProcess()
  const ask = (path: string): Promise<Response> => fetch(`${first.url}${path}`)
  const answered: string[] = []
  const made = ask('/').finally(() => answered.push('page'))
  // Other requests don't wait for the page.
  const text = await (await ask('/metrics').finally(() => answered.push('metrics'))).text()
  expect(text).toContain('shopsync_build_info{version=')
  const page = await made
  expect(answered).toEqual(['metrics', 'page'])
  expect([page.status, page.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
  expect(await page.text()).toContain('Shop report')
  // Made in its own thread, which gets the flags of the command line.
  expect(readFileSync(threads, 'utf8')).toMatch(/^page,globals,io\n$/)
  const operated = await (await ask('/operations')).text()
  expect([operated.includes('<h1>Operations'), operated.includes('Last runs')]).toEqual([true, true])
  const listed = await (await ask('/runs')).text()
  expect([listed.startsWith('<!doctype html>'), listed.includes('Last runs')]).toEqual([true, true])
  expect(await (await ask('/dictionary')).text()).toContain('Data dictionary')
  expect(await (await ask('/health')).json()).toMatchObject({ status: 'ok' })
  const ready = (await (await ask('/ready')).json()) as { jobs: { job: string; planned_at: string }[] }
  expect(ready).toMatchObject({ ready: true, warehouse: 'ok', incidents: 0, running: null })
  // 4 o'clock in Berlin.
  expect(ready.jobs).toMatchObject([{ job: 'mine', planned_at: expect.stringMatching(/-01-01T03:00:00/) }])
  expect(((await (await ask('/runs.json')).json()) as { runs: unknown[] }).runs).toHaveLength(1)
  expect((await ask('/nothing')).status).toBe(404)
  expect(await statusOf(first.url, 'attacker.example')).toBe('421')
  // Prometheus and probes know a container by its name.
  for (const path of ['/metrics', '/metrics?name=a', '/health', '/ready'])
    expect([path, await statusOf(first.url, 'shopsync:8788', 'GET', path)]).toEqual([path, '200'])
  for (const path of [
    '/',
    '/operations',
    '/runs',
    '/runs.json',
    '/dictionary',
    '/metrics/../runs',
    '//metrics',
  ])
    expect([path, await statusOf(first.url, 'shopsync:8788', 'GET', path)]).toEqual([path, '421'])
  expect(await statusOf(first.url, '127.0.0.1:1', 'POST')).toBe('405')
  // However many connections someone opens, with requests that never end, the jobs can open files, and probes are answered.
  const { port, hostname } = new URL(first.url)
  const sockets = Array.from({ length: 150 }, () => createConnection(Number(port), hostname))
  let refused = 0
  for (const socket of sockets) {
    socket.on('error', () => {}).on('close', () => refused++)
    socket.write('GET / HTTP/1.1\r\n')
  }
  await until(() => refused >= 20)
  const probe = () => fetch(`${first.url}/health`, { headers: { connection: 'close' } })
  await until(() =>
    probe().then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  for (const socket of sockets) socket.destroy()
  first.run.kill('SIGTERM')
  const { code, stdout } = await first.run.ended
  expect([code, stdout]).toEqual([0, expect.stringMatching(/\nStopped: \d{4}-.* UTC\n$/)])
}, 60_000)

test('--json: one document, with the address and each job’s next instant', async () => {
  const { url, end } = await start('--json')
  const ended = await end()
  expect(ended.code, ended.stderr).toBe(0)
  expect(ended.json()).toEqual({
    pid: process.pid,
    url,
    events_url: null,
    time_zone: 'Europe/Berlin',
    jobs: [
      {
        name: 'mine',
        schedule: '0 4 1 1 *',
        starts_now: false,
        next_at: expect.stringMatching(/^\d{4}-01-01T03:00:00\.000000Z$/),
      },
    ],
  })
}, 60_000)

test('a port that is taken, by another program or by another scheduler of this warehouse, is reported with what to type', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  here.configure({ ...settings, schedule: { listen: { port } } })
  expect(await here.run('schedule')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/in use by another program, expected a free one.*"listen": false/s),
  })
  server.close()
  here.configure(settings)
  const first = await start()
  const taken = Number(new URL(first.url).port)
  here.configure({ ...settings, schedule: { listen: { port: taken } } })
  const second = await here.run('schedule')
  const who = `Another scheduler of this warehouse is running, on ${hostname()}, pid ${process.pid}`
  expect([second.code, second.stderr]).toEqual([3, expect.stringContaining(`${who}. Port ${taken} of`)])
  await first.end()
  here.configure(settings)
}, 60_000)

test('while Postgres is silent, what was known is answered within seconds; once it answers, it goes on', async () => {
  const server = await startPostgres()
  here.configure({ ...settings, warehouse: { url: server.url } })
  const scheduler = await here.run('sync').then(() => start())
  const ask = async (path: string): Promise<readonly [status: number, text: string]> => {
    const answer = await fetch(`${scheduler.url}${path}`, { signal: AbortSignal.timeout(8000) })
    return [answer.status, await answer.text()]
  }
  try {
    expect((await ask('/runs'))[0]).toBe(200)
    const [, before] = await ask('/runs.json')
    server.pause()
    const [runs, never, page] = await Promise.all(['/runs.json', '/operations', '/runs'].map(ask))
    expect(runs?.[0]).toBe(503)
    expect(JSON.parse(runs?.[1] ?? '')).toEqual({
      ...(JSON.parse(before) as object),
      error: expect.stringContaining('The warehouse does not answer'),
    })
    expect(page).toEqual([503, expect.stringContaining('Last runs')])
    expect(never).toEqual([503, expect.stringContaining('does not answer')])
    server.resume()
    await until(() =>
      fetch(`${scheduler.url}/ready`).then(
        ({ status }) => status === 200,
        // A connection that was kept may just be closed.
        () => false,
      ),
    )
    expect(await scheduler.end()).toMatchObject({ code: 0 })
  } finally {
    server.resume()
    await scheduler.end()
    await server.stop()
  }
}, 60_000)
