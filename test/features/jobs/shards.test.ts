/**
 * One job on several machines: what a shard leaves out, one run after them all does. That each does its own tenants, and hides
 * no other's failure or death: test/transcripts/shards.txt.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { shardIndex } from '../../../src/engine/base/shard.js'
import { wantedLists } from '../../support/harness/declared.js'
import { place } from '../../support/harness/place.js'
import { known, type RunReport } from '../../support/harness/runs.js'
import { until, writeJob } from '../../support/harness/scheduler.js'
import { httpServer, type Stand } from '../../support/harness/server.js'
import {
  bothWarehouses,
  hasRunSince,
  reopen,
  rowsOf,
  shardsOfRound,
  type Warehouse,
} from '../../support/harness/warehouse.js'

const tenants = [101, 102, 103, 104, 105]
const ofShard = (index: number, of: number): number[] => tenants.filter((id) => shardIndex(id, of) === index)

const here = await place({ tenants: tenants.length, repairOrders: 3 })
let warehouse: Warehouse
let beats: Stand
/** The exit codes that heartbeats have told. */
const beaten = (): (string | null)[] =>
  beats.seen.map(({ url }) => new URL(url ?? '', 'http://here').searchParams.get('exit'))

beforeAll(async () => {
  beats = await httpServer((_request, response) => response.end())
  const [, postgres] = bothWarehouses()
  const address = await postgres!.viewed()
  here.configure({
    api: { allowInsecure: true },
    warehouse: { ...address },
    sync: { resources: ['notes', 'shops'] },
    alerts: { rules: [{ on: ['drift'], command: ['sh', '-c', 'cat >> drift; echo >> drift'] }] },
  })
  warehouse = await reopen(address)
  writeJob(here.folder, 'mine', {
    steps: [{ command: 'sync' }, { command: 'snapshot' }],
    heartbeat: `${beats.url}/`,
  })
})

const snapshots = async (): Promise<number> => (await rowsOf(warehouse, 'daily_snapshots')).length

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
})

test('shards share the rate limit by the lists that they have', () => {
  const sync = { tenants: 'all', resources: ['notes'], exceptTenants: [] }
  const granted = { granted: tenants, revoked: [], missing: [], forgotten: new Set<number>(), reason: null }
  const sharesOf = (of: number): number[] =>
    Array.from({ length: of }, (_, index) => {
      const run = { config: { sync }, warehouse: { model: known }, observer: {}, shard: { index, of } }
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
