/**
 * What a job of `shopsync schedule` leaves behind, in each warehouse: who is notified, and the effect of a signal and a
 * kill in the middle of it.
 */
import { dirname } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { startStaying } from '../../support/harness/listening.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { jobsIn, onlyJob, until } from '../../support/harness/scheduler.js'
import { httpServer } from '../../support/harness/server.js'
import { type Up, upHere } from '../../support/harness/uphere.js'
import { lookAt, openAt, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { receiver } from '../../support/world/alerting.js'

const resources = ['notes', 'categories']
const sandbox = await sandboxOfFile({ data: 'none', tenants: [{ id: 1 }] })
for (const resource of resources)
  sandbox.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
const hook = await receiver()
const beats = await httpServer((_request, response) => response.end())
beforeEach(() => {
  sandbox.script([])
  sandbox.resetRequests()
})
const beaten = (): string[] =>
  beats.seen
    .splice(0)
    .map(({ url }) => url)
    .sort()

describe.each(warehouses())('$name', (kind) => {
  let address: Address
  let cwd: string

  function begin(at: Address): void {
    address = at
    const alerts = { rules: [{ webhook: hook.url }], heartbeat: `${beats.url}/all` }
    const retry = { attempts: 2, base: 'PT0.01S', max: 'PT0.02S' }
    const schedule = { listen: { port: 0 } }
    const config = configure(sandbox, address, resources, { schedule, alerts, api: { retry } })
    cwd = dirname(config)
    onlyJob(cwd, 'mine', { schedule: '0 4 1 1 *', heartbeat: `${beats.url}/mine` })
  }
  beforeEach(async () => begin(await kind.viewed()))

  const rows = (table: string) => lookAt(address, (warehouse) => rowsOf(warehouse, table))

  const start = (): Promise<Up> => upHere(['schedule'], { cwd })
  /** The instant of the job passed while the program was down. */
  async function miss(planned_at = '2026-01-01T04:00:00.000000Z'): Promise<void> {
    const warehouse = await openAt(address)
    const missed = { job: 'mine', schedule: '0 4 1 1 *', time_zone: 'UTC', planned_at, attempts: 0 }
    await warehouse.write([jobsIn(warehouse).insertInto('sync_jobs').values(missed).compile()])
  }

  const planOf = async ({ url }: Pick<Up, 'url'>) =>
    (await (await fetch(`${url}/ready`)).json()) as {
      readonly ready: boolean
      readonly running: string | null
      readonly jobs: { readonly exit_code: number | null; readonly planned_at: string }[]
    }
  /** Waits until the due job has ended with this exit code, and everyone was notified. */
  const ended = (scheduler: Up, code: number): Promise<void> =>
    until(async () => {
      const { running, jobs } = await planOf(scheduler)
      return running === null && jobs[0]?.exit_code === code
    })
  const stop = async ({ end }: Up): Promise<void> => expect(await end()).toMatchObject({ code: 0 })
  /** A due job whose requests for notes get no response; resolves when it waits for one. */
  async function stalled<T>(starting: () => Promise<T>): Promise<T> {
    sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'stall' } }])
    await miss()
    const scheduler = await starting()
    await until(() => sandbox.requests.some(({ resource }) => resource === 'notes'))
    return scheduler
  }

  it('fills a missing warehouse at once, reports it, and keeps what is planned', async () => {
    begin(kind.address())
    const scheduler = await start()
    expect(await planOf(scheduler)).toMatchObject({ ready: true })
    await ended(scheduler, 0)
    await stop(scheduler)
    const { stdout } = await scheduler.call.ended
    expect(stdout).toMatch(/mine: 0 4 1 1 \*, now, because the warehouse is empty, next \d{4}-01-01 04:00/)
    expect(await rows('sync_jobs')).toMatchObject([
      { job: 'mine', exit_code: 0, planned_at: expect.stringContaining('-01-01T04:00:00') },
    ])
    expect(await rows('sync_runs')).toMatchObject([{ job: 'mine', status: 'ok' }])
    const again = await start()
    await until(async () => (await planOf(again)).jobs.length === 1)
    await stop(again)
    expect((await again.call.ended).stdout).not.toContain('now')
    expect(await rows('sync_runs')).toHaveLength(1)
    expect([hook.take(), beaten()]).toEqual([[], ['/all?exit=0', '/mine?exit=0']])
  })

  it('takes a planned instant as done if somebody ran the job by hand, and says so once', async () => {
    expect((await shopsync(['run', 'mine'], { cwd })).code).toBe(0)
    beaten()
    await miss(new Date(Date.now() - 60_000).toISOString().replace('Z', '000Z'))
    const scheduler = await start()
    // The program answers before it has read its plan.
    await until(async () =>
      (await planOf(scheduler)).jobs.some(({ planned_at }) => Date.parse(planned_at) > Date.now()),
    )
    await stop(scheduler)
    const { stdout, stderr } = await scheduler.call.ended
    expect(stderr.match(/Another run has already done this job/g)).toHaveLength(1)
    expect(`${stdout} ${stderr}`).not.toMatch(/did not run|exit_code|another program/i)
    expect(await rows('sync_jobs')).toMatchObject([
      { planned_at: expect.stringContaining('-01-01T04:00:00'), exit_code: null, attempts: 0 },
    ])
    expect(await rows('sync_runs')).toHaveLength(1)
    expect([hook.take(), beaten()]).toEqual([[], []])
  })

  it('sends each alert and calls each heartbeat once', async () => {
    sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await miss()
    const scheduler = await start()
    await ended(scheduler, 1)
    expect(hook.take()).toMatchObject([{ type: 'opened', job: 'mine', incidents: [{ resource: 'notes' }] }])
    expect(beaten()).toEqual(['/all?exit=1', '/mine?exit=1'])
    await stop(scheduler)
  })

  it('SIGTERM ends the current job: its run is closed, the lock is free, and it is due again', async () => {
    await stop(await stalled(start))
    expect(await rows('sync_runs')).toMatchObject([
      { job: 'mine', status: 'interrupted', reason: 'interrupted', finished_at: expect.stringMatching(/Z$/) },
    ])
    expect(await rows('sync_lease')).toMatchObject([{ owner: null }])
    expect(await rows('sync_jobs')).toMatchObject([
      { planned_at: '2026-01-01T04:00:00.000000Z', finished_at: null, attempts: 0 },
    ])
    expect([hook.take(), beaten()]).toEqual([[], []])
  })

  it('a kill calls nobody; the next process runs the job again, and reports the kill', async () => {
    const { run } = await stalled(() => startStaying(['schedule'], { cwd }))
    run.kill('SIGKILL')
    await run.ended
    expect([hook.take(), beaten()]).toEqual([[], []])
    // Stored before the run started: now nobody could count it.
    expect(await rows('sync_jobs')).toMatchObject([{ attempts: 1, started_at: expect.any(String) }])
    sandbox.script([])
    const next = await start()
    await ended(next, 0)
    const [opened, ...more] = hook.take()
    expect(more.map(({ type }) => type)).toEqual(['resolved'])
    expect(opened?.incidents).toMatchObject([{ message: expect.stringContaining('died without reporting') }])
    expect(beaten()).toEqual(['/all?exit=0', '/mine?exit=0'])
    const runs = (await rows('sync_runs')).map(({ job, status }) => [job, status])
    expect(runs.sort()).toEqual([
      ['mine', 'interrupted'],
      ['mine', 'ok'],
    ])
    await stop(next)
  })
})
