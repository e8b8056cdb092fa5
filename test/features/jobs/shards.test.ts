/** One job on several machines: each shard does its tenants, and one run after them what concerns the whole warehouse. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shardIndex } from '../../../src/engine/base/shard.js'
import { wantedLists } from '../../support/harness/declared.js'
import { type Place, place } from '../../support/harness/place.js'
import { known, type RunReport } from '../../support/harness/runs.js'
import { until, writeJob } from '../../support/harness/scheduler.js'
import { closeAll, httpServer, type Stand } from '../../support/harness/server.js'
import {
  bothWarehouses,
  hasRunSince,
  reopen,
  rowsOf,
  shardsOfRound,
  type Warehouse,
} from '../../support/harness/warehouse.js'

interface Status {
  readonly last_run?: { readonly shard: string | null }
  readonly shards?: readonly { readonly shard: string; readonly ended_without_a_word: boolean }[]
  readonly incidents: readonly { readonly tenant_id: number | null }[]
}

const tenants = [101, 102, 103, 104, 105]
const ofShard = (index: number, of: number): number[] => tenants.filter((id) => shardIndex(id, of) === index)

let here: Place
let warehouse: Warehouse
let schema = ''
let beats: Stand
/** The exit codes that heartbeats have told. */
const beaten = (): (string | null)[] =>
  beats.seen.map(({ url }) => new URL(url ?? '', 'http://here').searchParams.get('exit'))

beforeAll(async () => {
  beats = await httpServer((_request, response) => response.end())
  const [, postgres] = bothWarehouses()
  const address = await postgres!.viewed()
  schema = address.schema
  here = await place({ tenants: tenants.length, repairOrders: 3 })
  here.configure({
    api: { allowInsecure: true },
    warehouse: { ...address },
    sync: { resources: ['notes', 'shops'] },
    targets: { '*': 'PT6H' },
    alerts: { rules: [{ on: ['drift'], command: ['sh', '-c', 'cat >> drift; echo >> drift'] }] },
  })
  warehouse = await reopen(address)
  writeJob(here.folder, 'mine', {
    steps: [{ command: 'sync' }, { command: 'snapshot' }],
    heartbeat: `${beats.url}/`,
  })
})
afterAll(async () => {
  await warehouse.close()
  await here.remove()
  await closeAll()
})

const tenantsIn = ({ cursors }: Pick<RunReport, 'cursors'>): number[] =>
  [...new Set(cursors.map(({ tenant_id }) => Number(tenant_id)))].sort()

const jsonOf = async <T>(...words: string[]): Promise<T> => (await here.run(...words, '--json')).json<T>()

const snapshots = async (): Promise<number> => (await rowsOf(warehouse, 'daily_snapshots')).length

/** What is on record of a run; without more, that it was killed. */
const recorded = (runId: string, as: object = { status: 'running', finished_at: null }): Promise<unknown> =>
  warehouse.db.updateTable('sync_runs').set(as).where('run_id', '=', runId).execute()

test('a shard does what a run does, for its own tenants', async () => {
  for (const index of [0, 1]) {
    const shard = `${index}/2`
    const ran = await here.run('sync', '--shard', shard, '--json')
    const report = ran.json<RunReport>()
    // The log names it once in a line.
    for (const line of ran.stderr.trim().split('\n')) expect(line.match(/"shard":/g)).toHaveLength(1)
    expect([report.shard, report.status, tenantsIn(report)]).toEqual([shard, 'ok', ofShard(index, 2)])
  }
  for (const words of [['reconcile'], ['verify'], ['backfill', '--from', '7d', '--to', '1d']]) {
    const report = await jsonOf<RunReport>(...words, '--shard', '2/3')
    expect([words, report.shard, tenantsIn(report)]).toEqual([words, '2/3', ofShard(2, 3)])
  }
  expect((await here.run('verify')).code).toBe(0)
  const { runs } = await jsonOf<{ runs: { shard: string | null }[] }>('runs')
  expect(runs.map(({ shard }) => shard)).toEqual(['2/3', '2/3', '1/2', '0/2'])
  expect((await here.run('runs')).stdout).toMatch(/what +shard/)
})

test('a round polls what is due among its own lists, with its share of the rate limit', async () => {
  const polled = async (...words: string[]): Promise<number[]> =>
    tenantsIn(await jsonOf<RunReport>('sync', '--due', ...words))
  const old = '2026-01-01T00:00:00.000000Z'
  await warehouse.db.updateTable('sync_cursors').set({ polled_at: old }).execute()
  expect(await polled('--shard', '1/2')).toEqual(ofShard(1, 2))
  expect(await polled()).toEqual(ofShard(0, 2))
})

test('a shard leaves out what concerns the whole warehouse, and the run after all shards does that', async () => {
  const first = await here.run('run', 'mine', '--shard', '0/2')
  expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('step 2 (snapshot)')])
  expect([beaten(), await snapshots()]).toEqual([[], 0])

  // The other one never ran.
  const early = await here.run('run', 'mine', '--whole')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('shard 1/2 has not run since')])
  expect([beaten(), await snapshots()]).toEqual([[], expect.toSatisfy((n: number) => n > 0)])

  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  expect((await here.run('run', 'mine', '--shard', '1/2')).code).toBe(1)
  here.sandbox.script([])
  const whole = await here.run('run', 'mine', '--whole', '--json')
  expect([whole.code, whole.json<RunReport>().mode]).toEqual([0, 'whole'])
  expect(beaten()).toEqual(['1'])
  expect((await here.run('run', 'mine', '--shard', '1/2')).code).toBe(0)
  await here.run('run', 'mine', '--whole')
  expect(beaten()).toEqual(['1', '0'])

  const { run_id } = await jsonOf<RunReport>('run', 'mine', '--shard', '0/2')
  await recorded(run_id)
  const late = await here.run('run', 'mine', '--whole', '--quiet')
  expect([late.code, late.stderr]).toEqual([
    1,
    expect.stringMatching(/shard 0\/2 began at .* and has not ended/),
  ])
  expect(beaten()).toEqual(['1', '0'])

  // One that an error of ours has ended is told apart from one that failed, and calls for nothing.
  const ended = await jsonOf<RunReport>('run', 'mine', '--shard', '0/2')
  await recorded(ended.run_id, { status: 'partial', reason: 'bug' })
  const broken = await here.run('run', 'mine', '--whole', '--quiet')
  expect(broken.stderr).toMatch(/shard 0\/2 began at .* and ended by an error of shopsync/)
  expect(beaten()).toEqual(['1', '0'])
})

test("one shard's success doesn't hide another's failure", async () => {
  const { run_id } = await jsonOf<RunReport>('run', 'mine', '--shard', '0/2')
  await recorded(run_id)
  expect((await here.run('run', 'mine', '--shard', '1/2')).code).toBe(0)
  const status = await here.run('status', '--json')
  const report = status.json<Status>()
  expect([status.code, report.last_run?.shard]).toEqual([1, '1/2'])
  expect(report.shards?.map(({ shard, ended_without_a_word }) => [shard, ended_without_a_word])).toEqual([
    ['0/2', true],
    ['1/2', false],
  ])
  expect((await here.run('status')).stdout).toMatch(/1 of 2 shards ended well.*shard 0\/2.*died without/s)

  const { jobs } = await jsonOf<{ jobs: { name: string; last: object | null }[] }>('jobs', 'list')
  expect(jobs.find(({ name }) => name === 'mine')?.last).toMatchObject({ run_id, status: 'interrupted' })

  // A good run of the same shard tells that it was killed, and that this is over.
  expect((await here.run('run', 'mine', '--shard', '0/2')).code).toBe(0)
  expect((await here.run('status')).code).toBe(0)
})

test('the run after all shards tells which of them died; the shard itself makes it good', async () => {
  const { run_id } = await jsonOf<RunReport>('run', 'mine', '--shard', '1/2')
  await recorded(run_id)
  await here.run('run', 'mine', '--whole')
  const open = async () => (await jsonOf<Status>('status')).incidents
  expect(await open()).toEqual([
    expect.objectContaining({
      kind: 'failed',
      tenant_id: null,
      shard: '1/2',
      message: expect.stringContaining('shard 1/2'),
    }),
  ])
  await here.run('run', 'mine', '--shard', '0/2')
  expect(await open()).toHaveLength(1)
  await here.run('run', 'mine', '--shard', '1/2')
  expect(await open()).toEqual([])
})

test('a shard judges the incidents of its own tenants only', async () => {
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  for (const index of [0, 1]) await here.run('sync', '--shard', `${index}/2`)
  here.sandbox.script([])
  const failing = async () => {
    const { incidents } = await jsonOf<Status>('status')
    return incidents.map(({ tenant_id }) => Number(tenant_id)).sort()
  }
  expect(await failing()).toEqual(tenants)
  await here.run('sync', '--shard', '0/2')
  expect(await failing()).toEqual(ofShard(1, 2))
  await here.run('sync', '--shard', '1/2')
  expect(await failing()).toEqual([])
})

test('status names the shard whose increments stand still, and why', async () => {
  const past = '2026-01-01T00:00:00.000000Z'
  const dead = { owner: 'gone', command: 'sync', host: 'elsewhere', claimed_at: past, stamps_from: past }
  const lease = { ...dead, expires_at: past }
  await warehouse.db
    .insertInto('sync_lease')
    .values({ name: '1/2', ...lease })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(lease))
    .execute()
  const { stdout } = await here.run('status')
  expect(stdout).toMatch(
    /Increments of the tenants of shard 1\/2 stand still: sync on elsewhere, .* died.*--shard 1\/2/,
  )
  expect(await jsonOf<Status>('status')).toMatchObject({
    increments_stand: [{ shard: '1/2', host: 'elsewhere', run_id: 'gone' }],
  })
  const { rows } = await sql<{ tenant_id: string; stands: boolean }>`
    select tenant_id, through = ${past} as stands
    from ${sql.id(`${schema}_analytics`, 'changes_by_tenant')}`.execute(warehouse.db)
  expect(
    rows
      .filter(({ stands }) => stands)
      .map(({ tenant_id }) => Number(tenant_id))
      .sort(),
  ).toEqual(ofShard(1, 2))
  expect((await here.run('sync', '--shard', '1/2')).code).toBe(0)
  expect(await jsonOf<Status>('status')).not.toHaveProperty('increments_stand')
})

test('shards share the rate limit by the lists that they have', () => {
  const sync = { tenants: 'all', resources: ['notes'], exceptTenants: [] }
  const granted = { granted: tenants, revoked: [], missing: [], forgotten: new Set<number>(), reason: null }
  const sharesOf = (of: number): number[] =>
    Array.from({ length: of }, (_, index) => {
      const run = { config: { sync }, model: known, observer: {}, shard: { index, of } }
      return wantedLists(run as never, { tenants: null, resources: null }, granted).share
    })
  expect(sharesOf(2)).toEqual([ofShard(0, 2).length / 5, ofShard(1, 2).length / 5])
  expect(sharesOf(64).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
})

test('drift is told once, by the shard of its tenant, also if a sibling ended later', async () => {
  const file = join(here.folder, 'drift')
  /** The fields of which people were told since the last call. */
  const told = (): string[] => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    rmSync(file, { force: true })
    return ['one_more', 'another'].filter((field) => text.includes(field))
  }
  const shard = async (index: number): Promise<string[]> => {
    expect((await here.run('sync', '--shard', `${index}/2`)).code).toBe(0)
    return told()
  }
  const seen = (field: string, of: number): void => {
    const [note] = here.sandbox.store.all(of, 'notes')
    here.sandbox.store.put(of, 'notes', { ...note, [field]: 1, updated_at: new Date().toISOString() })
  }
  const [first = 0, second = 0] = [ofShard(0, 2)[0], ofShard(1, 2)[0]]
  // What their first runs show is no news.
  expect([await shard(0), await shard(1)]).toEqual([[], []])
  seen('one_more', second)
  let isHeld = true
  const off = here.sandbox.onRequest(async ({ resource, tenant }) => {
    while (isHeld && resource === 'shops' && tenant === second)
      await new Promise((done) => setTimeout(done, 20))
  })
  const early = here.run('sync', '--shard', '1/2')
  await until(async () => JSON.stringify(await rowsOf(warehouse, 'sync_drift')).includes('one_more'))
  expect(await shard(0)).toEqual([])
  isHeld = false
  off()
  await early
  expect(told()).toEqual(['one_more'])
  expect([await shard(1), await shard(0)]).toEqual([[], []])
  // A run of all tenants tells what no shard has told.
  seen('another', first)
  expect((await here.run('sync')).code).toBe(0)
  expect(told()).toEqual(['another'])
  expect(await shard(0)).toEqual([])
})

test('a round has a slot for each shard and one for what they leave out', async () => {
  const at = '2026-11-01T10:00:00.000000Z'
  const row = { mode: 'job', job: 'slots', status: 'ok', started_at: at, planned_at: at, finished_at: at }
  const rows = [
    { ...row, run_id: 'slot-0', shard: '0/2' },
    { ...row, run_id: 'slot-1', shard: '1/2', status: 'failed', error: 'the source was away' },
    { ...row, run_id: 'slot-2', shard: '0/3', status: 'partial', reason: 'time_limit' },
  ]
  await warehouse.db.insertInto('sync_runs').values(rows).execute()
  const when = { since: at, now: '2026-11-01T09:00:00.000000Z' }
  const done: unknown[] = []
  for (const shard of [{ index: 0, of: 2 }, { index: 1, of: 2 }, { index: 0, of: 3 }, undefined])
    done.push(await hasRunSince(warehouse, { job: 'slots', mode: 'job', shard }, when))
  expect(done).toEqual([true, false, false, false])
  expect(await hasRunSince(warehouse, { job: 'slots', mode: 'whole', shard: undefined }, when)).toBe(false)
  // Begun later than another instant, by a clock that may be wrong, they still aren't of its round.
  const other = { plannedAt: '2026-11-01T09:00:00.000000Z', since: at }
  expect(await shardsOfRound(warehouse, 'slots', other)).toEqual([])
})
