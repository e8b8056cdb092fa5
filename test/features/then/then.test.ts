/** What runs after a run: real programs and a real webhook, after runs against a sandbox. */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunReport } from '../../../src/engine/run/runreport.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { type Receiver, receiver, signingKey } from '../../support/alerting.js'
import { type Ended, shopsync } from '../../support/call.js'
import { type Listening, sendEvent, startListening } from '../../support/listening.js'
import { type Place, place } from '../../support/place.js'
import { Program, program } from '../../support/process.js'
import { eventBody } from '../../support/receiver.js'
import { until, writeJob } from '../../support/scheduler.js'
import { closeAll } from '../../support/server.js'
import { bothWarehouses, reopen, rowsOf, warehouses } from '../../support/warehouse.js'

interface Told {
  readonly run_id: string | null
  readonly job: string | null
  readonly status: RunReport['status']
  readonly tables: readonly { name: string; rows_upserted: number; rows_deleted: number }[]
  readonly tenants: readonly number[]
  readonly worst: string | null
  readonly complete_through: string | null
  readonly changes_from: string | null
  readonly changes_through: string
}
interface Status {
  readonly healthy: boolean
  readonly failed_works: readonly { readonly what: string; readonly message: string }[]
}

const keeping = { command: ['sh', '-c', 'cat >> told.jsonl; echo >> told.jsonl'] }

describe.each(warehouses())('$name', (kind) => {
  let here: Place
  let warehouse: Warehouse
  let hook: Receiver
  const [tenant, other] = [101, 102]

  const set = (then: readonly object[], more: Record<string, unknown> = {}): void =>
    here.configure({
      warehouse: address,
      sync: { resources: ['notes', 'customers'] },
      api: { allowInsecure: true, retry: { attempts: 1 } },
      then,
      ...more,
    })
  /** What was told since the last call. */
  const told = (): Told[] => {
    const file = join(here.folder, 'told.jsonl')
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    rmSync(file)
    return lines.map((line) => JSON.parse(line) as Told)
  }
  const change = (detail: string, of = tenant): void => {
    const [id = 0] = here.sandbox.store.ids(of, 'notes')
    here.sandbox.store.change(of, 'notes', id, { description: detail })
  }
  const status = async (): Promise<Status> => (await here.run('status', '--json')).json<Status>()
  /** With SHOPSYNC_THEN, as what runs after a run starts it. */
  const nested = (...words: string[]): Promise<Ended> =>
    shopsync(words, { cwd: here.folder, env: { API_SECRET: here.sandbox.secret, SHOPSYNC_THEN: '1' } })

  let address: { readonly url: string; readonly schema?: string }
  beforeAll(async () => {
    const { url, schema } = await kind.migrated()
    address = kind.name === 'sqlite' ? { url } : { url, schema }
    here = await place({ repairOrders: 6, tenants: 2 })
    warehouse = await reopen({ schema: 'shopsync', ...address })
    hook = await receiver()
    set([])
    const first = await here.run('sync')
    expect(first.code, first.stderr).toBe(0)
  })
  afterAll(async () => {
    await warehouse.close()
    await here.remove()
    await closeAll()
  })
  beforeEach(async () => {
    set([])
    expect((await here.run('sync')).code).toBe(0)
    await warehouse.write([
      warehouse.db.deleteFrom('sync_meta').where('name', 'in', ['then', 'failed then']).compile(),
    ])
    hook.status = 200
    hook.take()
    told()
  })

  it('is told what changed, and only that', async () => {
    set([keeping])
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toEqual([])
    change('a word that nobody is told')
    const run = (await here.run('sync', '--json')).json<RunReport>()
    const text = readFileSync(join(here.folder, 'told.jsonl'), 'utf8')
    expect(text).not.toContain('a word')
    const [first] = told()
    expect(first).toMatchObject({
      ...{
        run_id: run.run_id,
        job: null,
        status: 'ok',
        worst: 'proven',
        tenants: [tenant],
        changes_from: null,
      },
      tables: [{ name: 'notes', rows_upserted: 1, rows_deleted: 0 }],
      complete_through: expect.stringMatching(/^20.*Z$/),
    })
    const stamps = (await rowsOf(warehouse, 'notes')).map(({ _synced_at }) => String(_synced_at)).sort()
    expect(stamps.at(-1)! < first!.changes_through).toBe(true)
    // What the overlap shows again is no news.
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toEqual([])
    change('another', other)
    const [gone = 0] = here.sandbox.store.ids(tenant, 'customers')
    here.sandbox.store.remove(tenant, 'customers', gone)
    expect((await here.run('sync')).code).toBe(0)
    expect((await here.run('reconcile', '--full')).code).toBe(0)
    expect(told()).toMatchObject([
      { tenants: [other], changes_from: first!.changes_through },
      { tenants: [tenant], tables: [{ name: 'customers', rows_upserted: 0, rows_deleted: 1 }] },
    ])
  })

  it('is told after the runs that it names, by a job’s own entries, and not by runs that it starts', async () => {
    set([
      { ...keeping, on: 'finished' },
      { ...keeping, on: 'ok' },
    ])
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toMatchObject([{ tables: [], worst: 'proven' }, { tables: [] }])
    here.sandbox.script([{ when: { resource: 'customers' }, fault: { kind: 'status', status: 500 } }])
    expect((await here.run('sync')).code).toBe(1)
    here.sandbox.script([])
    expect(told()).toMatchObject([{ status: 'partial' }])
    expect((await here.run('sync', '--tenant', '999')).code).toBe(2)
    expect((await here.run('verify')).code).toBe(0)
    expect((await here.run('snapshot')).code).toBe(0)
    expect((await nested('sync')).code).toBe(0)
    expect(told()).toEqual([])
    writeJob(here.folder, 'quiet', { then: [] })
    writeJob(here.folder, 'own', { then: [{ command: ['sh', '-c', 'cat > own.json'], on: 'ok' }] })
    writeJob(here.folder, 'usual')
    expect((await here.run('run', 'quiet')).code).toBe(0)
    expect((await here.run('run', 'own')).code).toBe(0)
    expect(told()).toEqual([])
    expect(JSON.parse(readFileSync(join(here.folder, 'own.json'), 'utf8'))).toMatchObject({ job: 'own' })
    expect((await here.run('run', 'usual')).code).toBe(0)
    expect(told()).toMatchObject([{ job: 'usual' }, { job: 'usual' }])
  })

  it('one that fails changes no row and no verdict, is a failed work, and is told the whole range next', async () => {
    set([{ webhook: hook.url, secret: signingKey, timeout: 'PT0.5S' }, keeping])
    change('accepted')
    expect((await here.run('sync')).code).toBe(0)
    const [before] = hook.take() as unknown as Told[]
    const { headers, body } = hook.got.at(-1)!
    expect(new Webhook(signingKey).verify(body, headers)).toMatchObject({ tenants: [tenant] })
    hook.status = 500
    change('refused')
    const refused = await here.run('sync', '--json')
    expect(refused.code).toBe(1)
    expect(refused.json<RunReport>().status).toBe('ok')
    expect(refused.stderr).toContain('"then[0] (webhook)","found":"it answered 500')
    expect(refused.stderr + JSON.stringify(await rowsOf(warehouse, 'sync_meta'))).not.toContain(
      'hidden-token',
    )
    expect(await status()).toMatchObject({
      healthy: false,
      failed_works: [{ what: 'then', message: expect.stringContaining('answered 500') }],
    })
    // The other one was told.
    expect(told()).toHaveLength(2)
    hook.take()
    hook.status = 200
    change('of another', other)
    expect((await here.run('sync')).code).toBe(0)
    expect(hook.take()).toMatchObject([{ tenants: [tenant, other], changes_from: before!.changes_through }])
    expect(await status()).toMatchObject({ healthy: true, failed_works: [] })
    // An entry that is gone fails no more.
    hook.status = 500
    change('refused again')
    expect((await here.run('sync')).code).toBe(1)
    set([])
    expect((await here.run('sync')).code).toBe(0)
    expect(await status()).toMatchObject({ healthy: true, failed_works: [] })
  })

  it('a command that never ends, prints megabytes or is missing fails alone; the end of its output is logged', async () => {
    const script = (name: string, text: string): string => {
      const file = join(here.folder, name)
      writeFileSync(file, `#!/bin/sh\n${text}\n`)
      chmodSync(file, 0o755)
      return file
    }
    const endless = script('endless', '(while :; do date +%N > alive; sleep 0.05; done) & wait')
    const loud = script(
      'loud',
      'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo "$API_SECRET went wrong" >&2; exit 3',
    )
    set([
      { command: [endless], timeout: 'PT0.5S' },
      { command: [loud] },
      { command: ['/nowhere/dbt', 'build'] },
      keeping,
    ])
    change('for all of them')
    const ended = await here.run('sync', '--log-level', 'info')
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('it did not end within')
    expect(ended.stderr).toContain('exit code 3: [secret] went wrong')
    expect(ended.stderr).not.toContain(here.sandbox.secret)
    expect(ended.stderr.length).toBeLessThan(30_000)
    expect(ended.stderr).toContain('x'.repeat(3000))
    expect(ended.stderr).toContain('could not be started (ENOENT)')
    expect(told()).toHaveLength(1)
    const alive = readFileSync(join(here.folder, 'alive'), 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(readFileSync(join(here.folder, 'alive'), 'utf8')).toBe(alive)
    const checked = await here.run('check')
    expect(checked.code).toBe(1)
    expect(checked.stdout).toContain('no program "/nowhere/dbt"')
  })

  it('keeps no other run waiting, and a run in between is told again rather than never', async () => {
    set([{ command: ['sh', '-c', 'cat > slow.json; touch began; while [ ! -e go ]; do sleep 0.02; done'] }])
    change('slow')
    const slow = here.run('sync')
    await until(() => existsSync(join(here.folder, 'began')))
    change('meanwhile', other)
    expect((await nested('sync')).code).toBe(0)
    writeFileSync(join(here.folder, 'go'), '')
    expect((await slow).code).toBe(0)
    // Told nobody, the nested run's change is in the next range.
    expect((await here.run('sync')).code).toBe(0)
    expect(JSON.parse(readFileSync(join(here.folder, 'slow.json'), 'utf8'))).toMatchObject({
      tenants: [other],
    })
  })

  it('the next run tells what a killed one stored', async () => {
    set([keeping])
    change('known')
    expect((await here.run('sync')).code).toBe(0)
    const [before] = told()
    change('stored, then killed')
    const { PATH = '' } = process.env
    const env = { PATH, API_SECRET: here.sandbox.secret }
    // The change has been read when the second list is asked for; its rows are there before the program dies.
    const run = new Program(program, ['sync'], { cwd: here.folder, env })
    let isHeld = true
    const unhook = here.sandbox.onRequest(async ({ resource }) => {
      while (isHeld && resource === 'customers') await new Promise((resolve) => setTimeout(resolve, 20))
    })
    const isStored = async (): Promise<boolean> =>
      (await rowsOf(warehouse, 'notes')).some(({ description }) => description === 'stored, then killed')
    await until(isStored)
    run.kill('SIGKILL')
    await run.ended
    isHeld = false
    unhook()
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toMatchObject([
      {
        tenants: [tenant],
        tables: [{ name: 'notes', rows_upserted: 1 }],
        changes_from: before!.changes_through,
      },
    ])
  })

  it('what events brought is told while a listener is up, and once', async () => {
    set([keeping], { schedule: { listen: { port: 0 } } })
    change('known')
    expect((await here.run('sync')).code).toBe(0)
    const [before] = told()
    const start = (): Promise<Listening> =>
      startListening(here.folder, { API_SECRET: here.sandbox.secret }, ['--port', '0'])
    const end = async ({ run }: Listening): Promise<void> => {
      run.kill('SIGTERM')
      expect((await run.ended).code).toBe(0)
    }
    const hearing = await start()
    const [id = 0] = here.sandbox.store.ids(other, 'customers')
    here.sandbox.store.change(other, 'customers', id, { first_name: 'Heard' })
    const body = eventBody({ type: 'Customer', event: 'customer.updated', record: id, tenant: other })
    expect(await sendEvent(hearing.url, here.sandbox.secret, body)).toBe(200)
    await until(async () => (await rowsOf(warehouse, 'sync_runs')).some(({ mode }) => mode === 'events'))
    await end(hearing)
    // It looks when it starts, and then once a minute.
    const telling = await start()
    await until(async () =>
      (await rowsOf(warehouse, 'sync_meta')).some(({ value }) => String(value).includes('rung')),
    )
    await end(telling)
    const { changes_through: changes_from } = before!
    expect(told()).toMatchObject([
      { job: null, status: 'ok', tenants: [other], tables: [{ name: 'customers' }], changes_from },
    ])
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toEqual([])
  })
})

it('a round of shards is told once, by the run after them', async () => {
  const address = await bothWarehouses()[1]!.migrated()
  const here = await place({ tenants: 4, repairOrders: 3 })
  const file = join(here.folder, 'told.jsonl')
  here.configure({ warehouse: { ...address }, sync: { resources: ['shops'] }, then: [keeping] })
  writeJob(here.folder, 'mine')
  for (const shard of ['0/2', '1/2']) expect((await here.run('run', 'mine', '--shard', shard)).code).toBe(0)
  expect(existsSync(file)).toBe(false)
  expect((await here.run('run', 'mine', '--whole')).code).toBe(0)
  expect((await here.run('run', 'mine', '--whole')).code).toBe(0)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    ...{ job: 'mine', status: 'ok', tenants: here.sandbox.tenantIds },
    tables: [{ name: 'shops' }],
    run_id: expect.any(String),
  })
  await here.remove()
})
