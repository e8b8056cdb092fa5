/** What runs after a run: real programs and a real webhook, after runs against a sandbox. */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { addMicros, fromMicros } from '../../../src/engine/base/timestamp.js'
import { aroundJobs, jobFolders, readJob } from '../../../src/features/jobs/jobfile.js'
import { carryOutJob } from '../../../src/features/jobs/work.js'
import { readChanges } from '../../../src/features/then/changes.js'
import type { Invocation } from '../../../src/shell/command.js'
import { withContext } from '../../../src/shell/commandcontext.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { compiledOf } from '../../support/harness/compiled.js'
import { type Listening, sendEvent, startListening } from '../../support/harness/listening.js'
import { type Place, place } from '../../support/harness/place.js'
import { Program, program } from '../../support/harness/process.js'
import { eventBody } from '../../support/harness/receiver.js'
import type { RunReport } from '../../support/harness/runs.js'
import { until, writeJob } from '../../support/harness/scheduler.js'
import { closeAll } from '../../support/harness/server.js'
import {
  bothWarehouses,
  openLease,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { type Receiver, receiver, signingKey } from '../../support/world/alerting.js'

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
  readonly failed_works: readonly {
    readonly what: string
    readonly message: string
    readonly since: string
  }[]
}

const hourMs = 3_600_000
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
  /** Sets entries, and lets them know everything so far. */
  const begin = async (then: readonly object[], more: Record<string, unknown> = {}): Promise<Told> => {
    set(then, more)
    const { code, stderr } = await here.run('sync')
    expect(code, stderr).toBe(0)
    return [...told(), ...(hook.take() as unknown as Told[])][0]!
  }
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
    const { url, schema } = await kind.viewed()
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
    await warehouse.write([
      warehouse.db.deleteFrom('sync_meta').where('name', 'in', ['then', 'failed then']).compile(),
    ])
    hook.status = 200
    hook.take()
    told()
  })

  it('is told by ranges that leave a run that ended after one to the next', async () => {
    const endOfRun = async (): Promise<string> => {
      const { code } = await here.run('sync')
      expect(code).toBe(0)
      const runs = await warehouse.db.selectFrom('sync_runs').select('stamped_until').execute()
      return runs
        .map(({ stamped_until }) => stamped_until ?? '')
        .sort()
        .at(-1)!
    }
    const tenantsIn = async (from: string, through: string): Promise<unknown[]> => {
      const { lists } = await readChanges(warehouse, { from, through, known: undefined })
      return [...new Set(lists.map(({ tenant_id }) => Number(tenant_id)))]
    }
    const before = await endOfRun()
    change('In the first range.')
    const first = await endOfRun()
    change('In the second range.', other)
    const second = await endOfRun()
    const [begin, middle, end] = [before, first, second].map((instant) => addMicros(instant, 1n))
    expect(await tenantsIn(begin!, middle!)).toEqual([tenant])
    expect(await tenantsIn(middle!, end!)).toEqual([other])
  })

  it('is told what changed, and only that', async () => {
    const everything = await begin([keeping])
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
        changes_from: everything.changes_through,
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
    await begin([
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
    await begin([{ webhook: hook.url, secret: signingKey, timeout: 'PT0.5S' }, keeping])
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
    expect(ended.stderr).not.toContain('x'.repeat(4097))
    const checked = await here.run('check')
    expect(checked.code).toBe(1)
    expect(checked.stdout).toContain('no program "/nowhere/dbt"')
  })

  it('`check` looks at the entries of jobs too, and names the job', async () => {
    writeJob(here.folder, 'elsewhere', { then: [keeping, { command: ['/nowhere/dbt'] }] })
    writeJob(here.folder, 'open', { then: [{ webhook: 'ftp://hooks.example.com/hidden-token' }] })
    const { code, stdout } = await here.run('check')
    expect(code).toBe(1)
    expect(stdout).toContain('✗ then[1].command of job elsewhere: Found no program "/nowhere/dbt"')
    expect(stdout).toMatch(/✗ job open: .*open\.json.*then\[0\]\.webhook/s)
    expect(stdout).not.toContain('hidden-token')
    for (const name of ['elsewhere', 'open']) rmSync(join(here.folder, 'jobs', `${name}.json`))
    expect(await here.run('check')).toMatchObject({ code: 0 })
  })

  it('a webhook that is down for an hour opens one incident, and is then told all of the hour', async () => {
    const alarm = await receiver()
    const alerts = { rules: [{ on: ['failed'], webhook: alarm.url }] }
    const telling = (timeout: string): void => set([{ webhook: hook.url, timeout }], { alerts })
    telling('PT1M')
    expect((await here.run('sync')).code).toBe(0)
    const [before] = hook.take() as unknown as Told[]
    hook.status = 500
    telling('PT0.2S')
    const failures: Status['failed_works'][number][] = []
    for (const detail of ['first', 'second', 'third']) {
      change(detail)
      expect((await here.run('sync', '--quiet')).code).toBe(1)
      failures.push(...(await status()).failed_works)
    }
    expect(failures).toHaveLength(3)
    expect(new Set(failures.map(({ since }) => since)).size).toBe(1)
    expect(alarm.take()).toMatchObject([
      { type: 'opened', incidents: [{ kind: 'failed', tenant_id: null, resource: null }] },
    ])
    hook.take()
    hook.status = 200
    telling('PT1M')
    // Even a run that brings nothing tells what failed.
    expect((await here.run('sync')).code).toBe(0)
    expect(hook.take()).toMatchObject([
      { tables: [{ name: 'notes', rows_upserted: 3 }], changes_from: before!.changes_through },
    ])
    expect(alarm.take()).toMatchObject([{ type: 'resolved', incidents: [{ kind: 'failed' }] }])
    expect(await status()).toMatchObject({ healthy: true, failed_works: [] })
  })

  it('a shopsync that it starts does its work and tells nobody', async () => {
    const count = async (): Promise<number> => (await rowsOf(warehouse, 'sync_runs')).length
    const again = [process.execPath, program, 'sync', '--quiet']
    set([{ command: again, on: 'finished', timeout: 'PT1M' }, keeping])
    const before = await count()
    change('of the outer run')
    expect((await here.run('sync')).code).toBe(0)
    expect(await count()).toBe(before + 2)
    expect(told()).toHaveLength(1)
  })

  it('a job that another run keeps from its work tells nobody', async () => {
    set([{ ...keeping, on: 'finished' }])
    writeJob(here.folder, 'skipped')
    const lease = await openLease({ warehouse, clock: systemClock, shapesRows: false }, 'sync')
    expect((await here.run('run', 'skipped')).code).toBe(4)
    await lease[Symbol.asyncDispose]()
    expect(told()).toEqual([])
    const plannedAt = fromMicros(systemClock.nowMicros())
    expect((await here.run('run', 'skipped')).code).toBe(0)
    expect(told()).toMatchObject([{ job: 'skipped' }])
    // As a second scheduler would start it for the same instant.
    const carryOut = async (invocation: Invocation): Promise<number> => {
      const job = readJob('skipped', jobFolders(invocation), await aroundJobs(invocation, true))
      return await withContext(invocation, (context) => carryOutJob(context, { ...job, plannedAt }))
    }
    const { code, stderr } = await shopsync(['instant'], {
      cwd: here.folder,
      env: { API_SECRET: here.sandbox.secret },
      more: [{ command: { name: 'instant', summary: 'an instant', examples: [], run: carryOut } }],
    })
    expect([code, stderr]).toEqual([4, expect.stringContaining('Another program already ran skipped')])
    expect(told()).toEqual([])
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

  it('of two runs that end at once, the second one waits, and each change is told once', async () => {
    const [began, go] = ['first-began', 'first-go'].map((name) => join(here.folder, name)) as [string, string]
    const wait = '[ -e first-began ] && exit; touch first-began; while [ ! -e first-go ]; do sleep 0.02; done'
    writeFileSync(began, '')
    await begin([
      { command: ['sh', '-c', `cat >> told.jsonl; echo >> told.jsonl; ${wait}`], timeout: 'PT1M' },
    ])
    rmSync(began)
    for (const [name, of] of Object.entries({ a: tenant, b: other }))
      writeJob(here.folder, name, { steps: [{ command: 'sync', tenants: [of] }], wait: 'PT1M' })
    const start = (job: string): Program => {
      const { PATH = '' } = process.env
      return new Program(program, ['run', job], {
        cwd: here.folder,
        env: { PATH, API_SECRET: here.sandbox.secret },
      })
    }
    const ended = async (job: string): Promise<number> =>
      (await rowsOf(warehouse, 'sync_runs')).filter((run) => run['job'] === job && run['finished_at']).length
    change('of a')
    change('of b', other)
    const first = start('a')
    await until(() => existsSync(began))
    const second = here.run('run', 'b')
    await until(async () => (await ended('b')) === 1)
    writeFileSync(go, '')
    expect([(await first.ended).code, (await second).code]).toEqual([0, 0])
    const [one, two, ...more] = told()
    expect([one, two, more]).toMatchObject([
      { job: 'a', tenants: [tenant], tables: [{ name: 'notes', rows_upserted: 1 }] },
      { job: 'b', tenants: [other], tables: [{ name: 'notes', rows_upserted: 1 }] },
      [],
    ])
    expect(two!.changes_from).toBe(one!.changes_through)
    // The turn of one that dies while it tells is free, and what it told may be told again.
    rmSync(began)
    rmSync(go)
    change('of a, again')
    const killed = start('a')
    await until(() => existsSync(began))
    killed.kill('SIGKILL')
    await killed.ended
    change('of b, again', other)
    expect((await here.run('run', 'b')).code).toBe(0)
    writeFileSync(go, '')
    const after = told().at(-1)!
    expect(after).toMatchObject({ tenants: [tenant, other], changes_from: two!.changes_through })
    // At the same moment, one of them may tell for both.
    change('of a, at last')
    change('of b, at last', other)
    expect(await Promise.all(['a', 'b'].map(async (job) => (await start(job).ended).code))).toEqual([0, 0])
    const last = told()
    const rows = last.flatMap(({ tables }) => tables.map(({ rows_upserted }) => rows_upserted))
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(2)
    const through = [after, ...last].map(({ changes_through }) => changes_through)
    expect(last.map(({ changes_from }) => changes_from)).toEqual(through.slice(0, -1))
  })

  it('is told everything if it has accepted nothing, however often it was killed meanwhile', async () => {
    const hanging = [
      'sh',
      '-c',
      'if [ -e hang ]; then touch began; exec sleep 5; fi; cat >> told.jsonl; echo >> told.jsonl',
    ]
    const [hang, began] = ['hang', 'began'].map((name) => join(here.folder, name)) as [string, string]
    const { PATH = '' } = process.env
    const env = { PATH, API_SECRET: here.sandbox.secret }
    const all = { tenants: [tenant, other], changes_from: null }
    set([{ command: hanging, timeout: 'PT2M' }])
    writeFileSync(hang, '')
    change('stored, and never told')
    for (const _ of ['first', 'second']) {
      const run = new Program(program, ['sync'], { cwd: here.folder, env })
      await until(() => existsSync(began))
      run.kill('SIGKILL')
      await run.ended
      rmSync(began)
    }
    rmSync(hang)
    expect((await here.run('sync')).code).toBe(0)
    const [first, ...more] = told()
    expect([first, more]).toMatchObject([all, []])
    // Another timeout makes no other entry; another command does.
    set([{ command: hanging, timeout: 'PT3M' }])
    expect((await here.run('sync')).code).toBe(0)
    expect(told()).toEqual([])
    expect(await begin([{ command: [...hanging, 'again'] }])).toMatchObject({ ...all, tables: first!.tables })
  })

  it('the next run tells what a killed one stored', async () => {
    set([keeping])
    change('known')
    expect((await here.run('sync')).code).toBe(0)
    const [before] = told()
    change('stored, then killed')
    const { PATH = '' } = process.env
    const env = { PATH, API_SECRET: here.sandbox.secret }
    // The run stays up for a list of the other tenant. A list of the same one could hold up the change, too.
    const run = new Program(program, ['sync'], { cwd: here.folder, env })
    let isHeld = true
    const unhook = here.sandbox.onRequest(async ({ resource, tenant: of }) => {
      while (isHeld && resource === 'customers' && of === other)
        await new Promise((resolve) => setTimeout(resolve, 20))
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

  // The last one: later stamps of this warehouse are an hour ahead.
  it('ranges join, and hold what they tell, whatever the clock does between two runs', async () => {
    const { PATH = '' } = process.env
    let last = (await begin([keeping])).changes_through
    for (const ahead of [0, hourMs, -hourMs, 0]) {
      const detail = `${ahead} after ${last}`
      change(detail)
      const env = {
        ...{ PATH, API_SECRET: here.sandbox.secret, CLOCK_AHEAD: String(ahead) },
        NODE_OPTIONS: `--import=${pathToFileURL(compiledOf('test/support/harness/shiftedclock.ts')).href}`,
      }
      const shifted = (): Promise<Ended> => new Program(program, ['sync'], { cwd: here.folder, env }).ended
      const { code, stderr } = await (ahead === 0 ? here.run('sync') : shifted())
      expect(code, stderr).toBe(0)
      const [document, ...more] = told()
      expect([document, more]).toMatchObject([{ changes_from: last, tenants: [tenant] }, []])
      const row = (await rowsOf(warehouse, 'notes')).find(({ description }) => description === detail)
      const stamp = String(row?.['_synced_at'])
      expect(stamp >= last && stamp < document!.changes_through, `${stamp} of ${detail}`).toBe(true)
      last = document!.changes_through
    }
  })
})

it('a round of shards is told once, by the run after them', async () => {
  const address = await bothWarehouses()[1]!.viewed()
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
