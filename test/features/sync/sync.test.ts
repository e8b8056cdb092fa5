import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { resources } from '../../../schema/index.js'
import { shopsync } from '../../support/harness/call.js'
import { cloneSqlite } from '../../support/harness/clones.js'
import { type Place, place } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import type { RunReport } from '../../support/harness/runs.js'

let here: Place

beforeAll(async () => {
  here = await place({ repairOrders: 4 })
})
afterAll(() => here.remove())
/** Each test has its own warehouse. */
beforeEach(async () => {
  rmSync(join(here.folder, 'data'), { recursive: true })
  mkdirSync(join(here.folder, 'data'))
  await cloneSqlite(join(here.folder, 'data/warehouse.db'), 'viewed')
  here.sandbox.script([])
  here.configure()
})

/** For what doesn't depend on how many lists there are. */
const few = { sync: { resources: ['customers', 'notes', 'repair_orders', 'vendors'] } }
const removeWarehouse = (): void => rmSync(join(here.folder, 'data/warehouse.db'))
const open = (): Database.Database => new Database(join(here.folder, 'data/warehouse.db'))

describe('sync', () => {
  test('what acts after a run is told once, even if it fails itself', async () => {
    here.configure(few)
    const told: (number | undefined)[] = []
    const follower = {
      afterWork: async (_: unknown, { exitCode }: { readonly exitCode: number }): Promise<void> => {
        told.push(exitCode)
        throw new Error('the follower failed')
      },
    }
    const ended = await shopsync(['sync'], {
      cwd: here.folder,
      env: { API_SECRET: here.sandbox.secret },
      more: [follower],
    })
    expect(told).toEqual([0])
    expect(ended.stderr).toContain('the follower failed')
    expect(ended.code).not.toBe(0)
  })

  test('fetches everything, then nothing, and reports that in words', async () => {
    const first = await here.run('sync')
    expect(first).toMatchObject({ code: 0 })
    expect(first.stdout).toMatch(
      /^sync: done in .*: [\d,]+ records new or changed, 2 tenants, \d+ requests$/m,
    )
    expect(first.stdout).toMatch(/^customers +2 .* proven$/m)
    const second = await here.run('sync')
    expect(second.code).toBe(0)
    expect(second.stdout).toMatch(/^sync: done in .*: nothing new, 2 tenants, \d+ requests$/m)
    expect(second.stdout).toMatch(
      new RegExp(`^${Object.keys(resources).length} resources without changes`, 'm'),
    )
    const db = open()
    expect(db.prepare('select count(*) n from customers').get()).toEqual({
      n: here.sandbox.tenantIds.reduce((sum, id) => sum + here.sandbox.store.count(id, 'customers'), 0),
    })
    db.close()
  })

  test("prints exactly the contract's document with --json, wherever the flag is", async () => {
    for (const words of [
      ['--json', 'sync', '--resource', 'categories'],
      ['sync', '--resource', 'categories', '--json', '--log-level', 'debug'],
    ]) {
      const report = (await here.run(...words)).json<RunReport>()
      expect(Object.keys(report).sort()).toEqual(
        'cursors finished_at job mode quarantined rate_limited reason requests retries rows_deleted rows_upserted run_id started_at status'.split(
          ' ',
        ),
      )
      expect(report).toMatchObject({ mode: 'sync', job: null, status: 'ok' })
      expect(report.cursors.map(({ tenant_id, resource }) => [tenant_id, resource])).toEqual(
        here.sandbox.tenantIds.map((id) => [id, 'categories']),
      )
      expect(Object.keys(report.cursors[0] ?? {}).sort()).toEqual(
        'completeness error reason records records_changed requests resource rows_deleted rows_upserted status step tenant_id watermark'.split(
          ' ',
        ),
      )
    }
  })

  test('prints tenant ids beyond 2^53 exactly', async () => {
    const { stdout, code } = await here.run('sync', '--tenant', '9007199254740993', '--json')
    expect(code).toBe(2)
    expect(stdout).toContain('Tenant 9007199254740993 is not granted')
  })

  test('can sync a part: --tenant, --resource, --full', async () => {
    here.configure(few)
    await here.run('sync', '--quiet')
    const [tenant] = here.sandbox.tenantIds
    const words = [
      'sync',
      '--tenant',
      String(tenant),
      '--resource',
      'customers',
      '--resource',
      'notes',
      '--full',
      '--json',
    ]
    const report = (await here.run(...words)).json<RunReport>()
    expect(report.mode).toBe('full')
    expect(report.cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`).sort()).toEqual([
      `${tenant} customers`,
      `${tenant} notes`,
    ])
    expect(report.cursors.find(({ resource }) => resource === 'customers')?.records).toBe(
      here.sandbox.store.count(Number(tenant), 'customers'),
    )
  })

  test('says nothing with --quiet', async () => {
    here.configure(few)
    const { code, stdout, stderr } = await here.run('sync', '--quiet')
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('logs JSON lines to stderr without a terminal, and never the secret', async () => {
    here.configure(few)
    const { stderr } = await here.run('sync', '--log-level', 'trace')
    const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
    expect(lines.map((line) => JSON.parse(line).msg)).toContain('Run ended')
    expect(stderr).not.toContain(here.sandbox.secret)
  })
})

describe('every failure gets its exit code and a way out', () => {
  test('2: an unknown resource or tenant', async () => {
    const resource = await here.run('sync', '--resource', 'custmers')
    expect(resource).toMatchObject({ code: 2, stdout: '' })
    expect(resource.stderr).toMatch(/Found the resource "custmers".*Did you mean customers\?/)
    expect((await here.run('sync', '--tenant', 'x')).stderr).toContain(
      'Found --tenant "x", expected a tenant id',
    )
    const tenant = await here.run('sync', '--tenant', '999')
    expect(tenant).toMatchObject({ code: 2 })
    expect(tenant.stderr).toContain(`Granted tenants: ${here.sandbox.tenantIds.join(', ')}`)
  })

  test('2: a resource that is switched off', async () => {
    here.configure({ resources: { notes: { enabled: false } } })
    const { code, stderr } = await here.run('sync', '--resource', 'notes')
    expect(code).toBe(2)
    expect(stderr).toContain('which the configuration disables')
  })

  test('2: tables out of date, and autoMigrate is false', async () => {
    removeWarehouse()
    here.configure({ warehouse: { autoMigrate: false } })
    const { code, stderr } = await here.run('sync')
    expect(code).toBe(2)
    expect(stderr).toContain('Type shopsync migrate')
    expect((await here.run('migrate')).stdout).toMatch(/^customers: create table$/m)
    expect((await here.run('migrate')).stdout).toContain('up to date')
    expect((await here.run('sync', '--resource', 'notes')).code).toBe(0)
  })

  test('0: the views are there after the first sync, whatever columns are configured', async () => {
    removeWarehouse()
    here.configure({ resources: { vehicles: { columns: { make: 'text' } } } })
    expect((await here.run('sync', '--resource', 'notes')).code).toBe(0)
    const db = open()
    expect(db.prepare("select count(*) as n from sqlite_master where type = 'view'").get()).not.toEqual({
      n: 0,
    })
    db.close()
  })

  test('3: refused credentials', async () => {
    const { code, stderr } = await shopsync(['sync'], {
      cwd: here.folder,
      env: { API_SECRET: 'not-the-one' },
    })
    expect(code).toBe(3)
    expect(stderr).toContain('Check api.partnerId and api.secret')
    expect(stderr).not.toContain('not-the-one')
  })

  test("3: an API that isn't there", async () => {
    here.configure({ api: { baseUrl: 'http://127.0.0.1:9' } })
    const { code, json } = await here.run('sync', '--json')
    expect(code).toBe(3)
    expect(json()).toMatchObject({ error: { exit_code: 3, message: expect.stringContaining('refused') } })
  })

  test("3: a file that isn't a database, which stays as it was", async () => {
    const file = join(here.folder, 'data/warehouse.db')
    writeFileSync(file, 'this is a shopping list, and no database at all')
    expect(await here.run('sync', '--quiet')).toMatchObject({ code: 3, stdout: '' })
    expect(existsSync(`${file}-wal`)).toBe(false)
  })

  test('2: a folder that does not exist, which only migrate makes', async () => {
    here.configure({ warehouse: { url: 'sqlite:./dta/warehouse.db' } })
    for (const command of ['sync', 'status', 'verify', 'report', 'check']) {
      const { code, stdout, stderr } = await here.run(command)
      expect([command, code, stdout + stderr]).toEqual([command, 2, expect.stringMatching(/mkdir -p \S+dta/)])
    }
    expect(existsSync(join(here.folder, 'dta'))).toBe(false)
    expect((await here.run('migrate')).code).toBe(0)
    expect((await here.run('sync', '--resource', 'shops', '--time-limit', '45m')).code).toBe(0)
  })

  test('4: another run holds the lock, and which one', async () => {
    await here.run('migrate', '--quiet')
    const db = open()
    const who = { token: 1, owner: 'run-of-another', host: 'elsewhere', pid: 7, command: 'nightly' }
    const holder = { ...who, expires: new Date(Date.now() + 55_000).toISOString().replace('Z', '000Z') }
    db.prepare(
      `insert into sync_lease (name, token, owner, host, pid, command, claimed_at, expires_at)
       values ('run', @token, @owner, @host, @pid, @command, '2026-01-01T00:00:00.000000Z', @expires)`,
    ).run(holder)
    const { code, stderr } = await here.run('sync')
    expect(code).toBe(4)
    for (const part of ['nightly', 'run-of-another', 'elsewhere', '2026-01-01'])
      expect(stderr).toContain(part)
    expect((await here.run('status')).stdout).toMatch(/Running for.*nightly, on elsewhere, pid 7/)
    db.close()
  })

  test('1: one resource fails, the others are stored, and the summary names it', async () => {
    here.configure(few)
    here.sandbox.script([{ when: { resource: 'vendors' }, fault: { kind: 'status', status: 500 } }])
    const { code, stdout } = await here.run('sync')
    expect(code).toBe(1)
    expect(stdout).toMatch(/finished, but something failed/)
    expect(stdout).toMatch(
      /2 cursors failed; everything else is stored:\n {2}✗ tenants 101, 102: vendors: .*500/,
    )
    const status = await here.run('status')
    expect(status.code).toBe(1)
    expect(status.stdout).toMatch(/✗ tenants 101, 102: vendors: failed, never complete: .*500/)
    here.sandbox.script([])
    expect((await here.run('sync')).code).toBe(0)
    expect((await here.run('status')).code).toBe(0)
  })

  test("a resource that the API doesn't offer fails nothing", async () => {
    here.configure(few)
    here.sandbox.store.switchOff('vendors')
    const { code, stdout } = await here.run('sync')
    here.sandbox.store.switchOn('vendors')
    expect(code).toBe(0)
    expect(stdout).toMatch(/Not offered by the API \(404\): vendors\..*resources\.NAME\.path/)
  })

  test('a broken configuration, as a document', async () => {
    here.configure({ api: { basUrl: 'x' } })
    const { code, json, stderr } = await here.run('sync', '--json')
    expect(code).toBe(2)
    expect(json<{ error: { message: string } }>().error.message).toContain('nearest known key is "baseUrl"')
    expect(stderr).toContain('basUrl')
  })
})

test('a reader that disconnects does no harm', async () => {
  const { code } = await spawned(['dictionary'], { during: (child) => child.stdout?.destroy() })
  expect(code).toBe(0)
})
