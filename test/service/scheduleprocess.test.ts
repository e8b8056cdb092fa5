/** `shopsync schedule` as a process: a job that is due, its server, its end by a signal and by a kill, bad input. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Place, place } from '../support/place.js'
import { Program, program } from '../support/process.js'

let here: Place
const resources = ['notes', 'categories']
const settings = { sync: { resources }, schedule: { listen: { port: 0 }, timeZone: 'Europe/Berlin' } }

beforeAll(async () => {
  here = await place({ repairOrders: 2, tenants: 1 })
  here.configure(settings)
  job('mine', '0 4 1 1 *')
  // The shipped jobs have schedules of their own, which a file of the same name takes away.
  for (const name of ['hourly', 'nightly', 'weekly-verify']) job(name)
  expect((await here.run('sync')).code).toBe(0)
})
afterAll(() => here.remove())

function job(name: string, schedule?: string): void {
  mkdirSync(join(here.folder, 'jobs'), { recursive: true })
  const content = { description: 'A job.', schedule, steps: [{ command: 'sync' }] }
  writeFileSync(join(here.folder, 'jobs', `${name}.json`), JSON.stringify(content))
}

/** A process of the scheduler; resolves with its address when it listens. */
async function start(): Promise<{ run: Program; url: string }> {
  const { PATH = '' } = process.env
  const env = { PATH, API_SECRET: here.sandbox.secret }
  const run = new Program(program, ['schedule'], { cwd: here.folder, env })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    run.child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const found = /http:\/\/\S+/.exec(text)?.[0]
      if (found) resolve(found)
    })
    void run.ended.then(({ stderr }) => reject(new Error(stderr)))
  })
  return { run, url }
}

const db = (): Database.Database => new Database(join(here.folder, 'data/warehouse.db'))
const runs = (): { job: string; mode: string; status: string }[] => {
  const opened = db()
  const rows = opened
    .prepare("select job, mode, status from sync_runs where job = 'mine' order by started_at")
    .all()
  opened.close()
  return rows as ReturnType<typeof runs>
}

/** Makes the job due: as if its instant had passed while nothing was up. */
function due(): void {
  const opened = db()
  opened.prepare("update sync_jobs set planned_at = '2026-01-01T03:00:00.000000Z', attempts = 0").run()
  opened.close()
}

async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await is())) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** One request, its host name as told. */
const statusOf = (url: string, host: string, method = 'GET'): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, hostname } = new URL(url)
    const socket = createConnection(Number(port), hostname, () => {
      socket.write(`${method} /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    })
    socket.on('error', reject).on('data', (chunk: Buffer) => resolve(chunk.toString().slice(9, 12)))
  })

test('serves, ends by SIGTERM with 0, catches up what was missed, and once more what a kill cut short', async () => {
  const first = await start()
  const ask = (path: string): Promise<Response> => fetch(`${first.url}${path}`)
  const page = await ask('/')
  expect([page.status, page.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
  expect(await page.text()).toContain('Shop report')
  expect(await (await ask('/dictionary')).text()).toContain('Data dictionary')
  expect(await (await ask('/metrics')).text()).toContain('shopsync_build_info{version=')
  expect(await (await ask('/health')).json()).toMatchObject({ status: 'ok' })
  const ready = (await (await ask('/ready')).json()) as { jobs: { job: string; planned_at: string }[] }
  expect(ready).toMatchObject({ ready: true, warehouse: 'ok', running: null })
  // 4 o'clock in Berlin.
  expect(ready.jobs).toMatchObject([{ job: 'mine', planned_at: expect.stringMatching(/-01-01T03:00:00/) }])
  expect(((await (await ask('/runs')).json()) as { runs: unknown[] }).runs).toHaveLength(1)
  expect((await ask('/nothing')).status).toBe(404)
  expect(await statusOf(first.url, 'attacker.example', 'GET')).toBe('421')
  expect(await statusOf(first.url, '127.0.0.1:1', 'POST')).toBe('405')
  first.run.kill('SIGTERM')
  expect(await first.run.ended).toMatchObject({ code: 0, signal: null })
  expect(runs()).toEqual([])
}, 60_000)

test('catches up once; a kill in the middle is made up for by the next process', async () => {
  due()
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'stall' } }])
  const killed = await start()
  await until(() => runs().length === 1)
  killed.run.kill('SIGKILL')
  await killed.run.ended
  here.sandbox.script([])
  const next = await start()
  await until(() => runs().at(-1)?.status === 'ok')
  expect(runs()).toEqual([
    { job: 'mine', mode: 'job', status: 'interrupted' },
    { job: 'mine', mode: 'job', status: 'ok' },
  ])
  next.run.kill('SIGTERM')
  expect(await next.run.ended).toMatchObject({ code: 0 })
  const calm = await start()
  calm.run.kill('SIGTERM')
  await calm.run.ended
  expect(runs()).toHaveLength(2)
}, 60_000)

test('says what is wrong, what it expected and what to type, and ends with 2', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  here.configure({ ...settings, schedule: { listen: { port } } })
  expect(await here.run('schedule')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/in use by another program, expected one that is free.*"listen": false/s),
  })
  server.close()
  here.configure({ ...settings, schedule: { timeZone: 'Europe/Berlim' } })
  expect(await here.run('schedule')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Europe\/Berlim.*Did you mean "Europe\/Berlin"\?/s),
  })
  here.configure(settings)
  job('mine', '0 0 31 2 *')
  expect(await here.run('schedule')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/"0 0 31 2 \*", expected a day that comes/s),
  })
  job('mine')
  expect(await here.run('schedule')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Found no job with a schedule.*jobs\/NAME\.json/s),
  })
}, 60_000)
