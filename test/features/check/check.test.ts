/**
 * `check` finds what would make a run fail: each fault once, with its fix. It also probes how the source behaves,
 * stores the answers, and reports what has changed since.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Probe, ProbeChange } from '../../../src/features/check/probe.js'
import { shopsync } from '../../support/harness/call.js'
import { cloneSqlite, postgresStarted } from '../../support/harness/clones.js'
import { configure, type Place, place } from '../../support/harness/place.js'
import { startPostgres } from '../../support/harness/postgres.js'
import { Program, program } from '../../support/harness/process.js'
import { postgresUrl } from '../../support/harness/warehouse.js'
import { usualWays } from '../../support/world/probe.js'

interface Checked {
  readonly exit_code: number
  readonly checks: readonly { what: string; ok: boolean; found: string; hint: string | null }[]
  readonly probe: (Probe & { readonly changes: readonly ProbeChange[] }) | null
}

let here: Place
beforeAll(async () => {
  here = await place({ repairOrders: 120, tenants: 2 })
})
afterAll(() => here.remove())
afterEach(() => {
  here.sandbox.script([])
  here.configure()
})

/** No two generated records have the same time. */
const { ties: _, ...usual } = usualWays

const faultsOf = ({ checks }: Checked) => checks.filter(({ ok }) => !ok)

test('a resource that answers 500 is reported once, not once for each tenant', async () => {
  // Appointments are the first list requested for every tenant; notes are not.
  for (const resource of ['appointments', 'notes']) {
    here.sandbox.script([{ when: { resource }, fault: { kind: 'status', status: 500 } }])
    const { code, json } = await here.run('check', '--json')
    expect(code).toBe(1)
    const [fault, ...more] = faultsOf(json<Checked>())
    expect(more).toEqual([])
    expect(fault).toMatchObject({ what: `resource ${resource}` })
    expect(fault?.found).toContain('500')
    expect(fault?.hint).toContain(`"enabled": false under resources.${resource}`)
  }
})

test('no request is sent more often than configured', async () => {
  here.configure({ api: { retry: { attempts: 1 } } })
  here.sandbox.script([{ when: { resource: 'appointments' }, fault: { kind: 'status', status: 500 } }])
  const { code, json } = await here.run('check', '--json')
  expect([code, faultsOf(json<Checked>())]).toMatchObject([
    1,
    [{ found: expect.stringContaining('after 1 attempt') }],
  ])
})

test('a used-up rate limit is reported, and the credentials are not blamed', async () => {
  const until = Math.floor(Date.now() / 1000) + 86_400
  const set = {
    'X-RateLimit-Limit': '100',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String(until),
  }
  for (const resets of [set, { 'X-RateLimit-Remaining': '50' }]) {
    here.sandbox.script([
      {
        fault: [
          { kind: 'status', status: 429 },
          { kind: 'headers', set: resets },
        ],
      },
    ])
    const { code, json } = await here.run('check', '--json')
    expect(code).toBe(3)
    const { checks } = json<Checked>()
    expect(faultsOf({ checks } as Checked).map(({ what }) => what)).toEqual(['rate limit'])
    expect(JSON.stringify(checks)).not.toMatch(/partnerId|api\.secret|baseUrl/)
    const run = await here.run('sync', '--quiet')
    expect(run.code).toBe(3)
    expect(run.stderr).toMatch(/429|rate limit/)
    expect(run.stderr).not.toMatch(/api\.baseUrl|api\.partnerId/)
  }
})

test('the text shows each fault once, with its remedy', async () => {
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  const { stdout } = await here.run('check')
  expect(stdout.match(/answered 500/g)).toHaveLength(1)
  expect(stdout).toContain('1 thing to fix:')
})

test("a target of a resource that isn't synced is mentioned, and isn't a fault", async () => {
  const tenants = { 101: { gp_exceptions: 'PT1H' } }
  const targets = { notes: 'PT1H', payments: 'PT1H', shops: 'PT6H', '*': 'P1D', tenants }
  const sync = { resources: ['notes', 'vehicles', 'shops'] }
  here.configure({ targets, sync, resources: { shops: { enabled: false } } })
  const { code, stdout } = await here.run('check')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^! +targets\.payments +has no effect on runs that do not name the resource/m)
  expect(stdout).toMatch(
    /^! +targets\.shops +has no effect, because the configuration disables the resource/m,
  )
  expect(stdout).not.toContain('targets.notes')
  expect(stdout).toContain('Nothing must be fixed; the lines with ! are worth a look. Type shopsync sync')
  const { checks } = (await here.run('check', '--json')).json<Checked>()
  expect(checks.filter(({ what }) => what.startsWith('targets')).map(({ ok, hint }) => [ok, hint])).toEqual([
    [true, 'Remove "payments" from targets, or add it to sync.resources'],
    [true, 'Remove "shops" from targets, or "enabled": false under resources.shops'],
    [true, 'Remove "gp_exceptions" from targets.tenants.101, or add it to sync.resources'],
  ])
})

test('a scheduled job that works on what is due needs targets', async () => {
  mkdirSync(join(here.folder, 'jobs'))
  const file = join(here.folder, 'jobs/often.json')
  const job = { description: 'x', schedule: '*/5 * * * *', steps: [{ command: 'sync', due: true }] }
  writeFileSync(file, JSON.stringify(job))
  const said = 'often: found a schedule and "due": true, but the configuration has no targets'
  expect(await here.run('check')).toMatchObject({ code: 1, stdout: expect.stringContaining(`✗ job ${said}`) })
  const validated = await here.run('jobs', 'validate')
  expect(validated).toMatchObject({ code: 1, stdout: expect.stringContaining(`✗ ${said}`) })
  // Started by hand, the shipped job says so itself.
  expect(validated.stdout).toContain('✓ due')
  expect(await here.run('jobs', 'show', 'often')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/✗ found a schedule .*1\. sync, due true/s),
  })
  here.configure({ targets: { '*': 'PT6H' } })
  expect(await here.run('check')).toMatchObject({ code: 0 })
  expect(await here.run('jobs', 'validate')).toMatchObject({ code: 0 })
  rmSync(file)
})

test("the probe's findings are stored in an existing warehouse, and changes are reported", async () => {
  const file = join(here.folder, 'data/warehouse.db')
  await cloneSqlite(file, 'viewed')
  await here.run('sync', '--quiet', '--resource', 'notes')
  const first = (await here.run('check', '--json')).json<Checked>()
  expect(first.probe).toMatchObject({
    changes: [],
    answers: usual,
  })
  expect(first.probe?.requests).toBeLessThanOrEqual(15)
  const db = new Database(file)
  const { probe } = db.prepare('select probe from sync_source').get() as { probe: string }
  expect(JSON.parse(probe).answers).toEqual(first.probe?.answers)
  // As if the source had printed whole seconds at the last check.
  const before = probe.replace('"precision":"microseconds"', '"precision":"seconds"')
  db.prepare('update sync_source set probe = ?').run(before)
  db.close()
  const { code, stdout } = await here.run('check')
  expect(code).toBe(0)
  expect(stdout).toContain('changed; before: seconds')
  expect((await here.run('check', '--json')).json<Checked>().probe?.changes).toEqual([])
})

test("of a source other than the warehouse's: exit 2, and nothing is stored", async () => {
  await here.run('sync', '--quiet', '--resource', 'notes')
  here.configure({ api: { baseUrl: `${here.sandbox.url}/` } })
  expect(await here.run('check', '--quiet')).toMatchObject({ code: 0 })
  here.configure({ api: { partnerId: '43' } })
  const { code, json } = await here.run('check', '--json')
  expect(code).toBe(2)
  expect(faultsOf(json<Checked>()).find(({ what }) => what === 'source')?.hint).toContain('shopsync adopt')
})

describe.skipIf(process.platform === 'win32')('a disk that is full', () => {
  test('of SQLite', async () => {
    const url = `sqlite:${join(here.folder, 'small.db')}`
    const config = configure(here.sandbox, { url, schema: '' }, ['notes'])
    const full = await new Program(program, ['check', '--json', '--config', config], { kilobytes: 2048 })
      .ended
    expect(full.code, full.stderr).toBe(1)
    expect(faultsOf(full.json<Checked>())).toMatchObject([
      { what: 'warehouse', hint: expect.stringContaining('free space') },
    ])
    const roomy = await shopsync(['check', '--json', '--config', config])
    expect(faultsOf(roomy.json<Checked>())).toEqual([])
    const file = join(here.folder, 'small.db')
    if (!existsSync(file)) return
    const db = new Database(file)
    expect(db.prepare('select name from sqlite_master').all()).toEqual([])
    db.close()
  })

  test('of Postgres', async () => {
    const postgres = await startPostgres({ megabytes: 4 })
    const config = configure(here.sandbox, { url: postgres.url, schema: 'full' }, ['notes'])
    const full = await shopsync(['check', '--json', '--config', config])
    expect(full.code, full.stderr).toBe(1)
    expect(faultsOf(full.json<Checked>())).toMatchObject([
      { what: 'warehouse', found: expect.stringContaining('out of room') },
    ])
    await postgres.stop()
  })
})

/* The roles described in docs/warehouse.md; on Postgres 15, nobody may create tables in the schema public. */
describe('the roles of Postgres', () => {
  const name = `check_${randomBytes(4).toString('hex')}`
  let owner: pg.Client
  const as = (role: string): string => {
    const url = new URL(postgresUrl())
    url.username = role
    return url.href
  }
  beforeAll(async () => {
    await postgresStarted()
    owner = new pg.Client({ connectionString: postgresUrl() })
    await owner.connect()
    await owner.query(`create role ${name} login; create schema ${name} authorization ${name}`)
    await owner.query(`create role ${name}_run login; create role ${name}_bi login`)
    await owner.query(`grant usage on schema ${name} to ${name}_run, ${name}_bi`)
  })
  afterAll(async () => {
    await owner.query(`drop schema ${name} cascade; drop role ${name}, ${name}_run, ${name}_bi`)
    await owner.end()
  })

  test('one that owns only its schema is fine', async () => {
    here.configure({ warehouse: { url: as(name), schema: name } })
    const { code, stdout } = await here.run('check')
    expect(code, stdout).toBe(0)
    const { rows } = await owner.query(`select 1 from pg_tables where schemaname = '${name}'`)
    expect(rows).toEqual([])
  })

  test('one for daily runs that reads and writes the tables is fine; one that only reads is not', async () => {
    here.configure({ warehouse: { url: as(name), schema: name } })
    expect(await here.run('migrate')).toMatchObject({ code: 0 })
    const all = `all tables in schema ${name}`
    await owner.query(`grant select, insert, update, delete on ${all} to ${name}_run`)
    await owner.query(`grant select on ${all} to ${name}_bi`)
    here.configure({ warehouse: { url: as(`${name}_run`), schema: name, autoMigrate: false } })
    const daily = await here.run('check')
    expect(daily.code, daily.stdout).toBe(0)
    here.configure({ warehouse: { url: as(`${name}_bi`), schema: name, autoMigrate: false } })
    const reading = await here.run('check', '--json')
    expect(reading.code).toBe(3)
    expect(faultsOf(reading.json<Checked>())).toMatchObject([
      { what: 'warehouse', found: expect.stringContaining('permission denied') },
    ])
  })
})
