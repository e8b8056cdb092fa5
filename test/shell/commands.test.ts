import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { StatusReport } from '../../src/features/health/statusdocument.js'
import { shopsync } from '../support/harness/call.js'
import { cloneSqlite } from '../support/harness/clones.js'
import { type Place, place } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'
import type { RunReport } from '../support/harness/runs.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/world/size.js'

let here: Place

beforeAll(async () => {
  here = await place()
})
afterAll(() => here.remove())
afterEach(() => {
  here.sandbox.script([])
  here.configure()
})

describe('status', () => {
  test('of a warehouse that nothing was synced into: exit 1, and what to type', async () => {
    const { code, stdout } = await here.run('status')
    expect(code).toBe(1)
    expect(stdout).toContain('Type shopsync sync')
    expect((await here.run('status', '--json')).json<StatusReport>()).toMatchObject({
      healthy: false,
      cursors: [],
    })
  })

  test('shows freshness, watermark, live rows and verdict of every cursor', async () => {
    await cloneSqlite(join(here.folder, 'data/warehouse.db'), 'viewed')
    await here.run('sync', '--quiet')
    const { code, json } = await here.run('status', '--json')
    expect(code).toBe(0)
    const report = json<StatusReport>()
    expect(report).toMatchObject({ healthy: true, quarantined: 0, lease: null, last_run: { status: 'ok' } })
    expect(report.cursors).toHaveLength(2 * 21)
    const [tenant] = here.sandbox.tenantIds
    const customers = report.cursors.find((c) => c.tenant_id === tenant && c.resource === 'customers')
    expect(customers).toMatchObject({
      state: 'ok',
      completeness: 'proven',
      rows: here.sandbox.store.count(Number(tenant), 'customers'),
      watermark: expect.stringMatching(/^\d{4}-.*Z$/),
      last_error: null,
    })
    expect(customers?.age_seconds).toBeLessThan(120)
  })

  test('exits with 1 when anything is stale', async () => {
    here.configure({ status: { staleAfter: 'PT0S' } })
    const { code, stdout } = await here.run('status')
    expect(code).toBe(1)
    expect(stdout).toContain('42 of 42 cursors stale or failing')
  })

  test('takes live rows from the registers, or counts them without one; a revoked tenant is a problem unless it is left out on purpose', async () => {
    const db = new Database(join(here.folder, 'data/warehouse.db'))
    const [, revoked] = here.sandbox.tenantIds
    const at = '2026-01-01T00:00:00.000000Z'
    const [counted] = here.sandbox.tenantIds
    const registers = db.prepare(
      "update sync_registers set live_rows = ? where resource = 'categories' and tenant_id = ?",
    )
    registers.run(null, counted)
    db.prepare('update categories set _deleted_at = ? where id % 3 = 0').run(at)
    const rows = db.prepare('select count(*) from categories where tenant_id = ? and _deleted_at is null')
    const live = rows.pluck().get(counted)
    db.prepare('update tenants set revoked_at = ? where tenant_id = ?').run(at, revoked)
    db.prepare("update sync_cursors set status = 'failed' where tenant_id = ?").run(revoked)
    const { code, json } = await here.run('status', '--json')
    expect(code).toBe(1)
    const { cursors } = json<StatusReport>()
    here.configure({ sync: { exceptTenants: [Number(revoked)] } })
    expect((await here.run('status')).code).toBe(0)
    here.configure()
    expect(live).toBeLessThan(9)
    expect(cursors.filter((c) => c.resource === 'categories').map((c) => c.rows)).toEqual([live, 9])
    expect(new Set(cursors.filter((c) => c.tenant_id === revoked).map((c) => c.state))).toEqual(
      new Set(['revoked']),
    )
    db.prepare('update categories set _deleted_at = null').run()
    registers.run(9, counted)
    db.close()
    await here.run('sync', '--quiet')
  })
})

test('an answer that could not be written completely exits with 1', async () => {
  const env = { ...process.env, API_SECRET: here.sandbox.secret }
  const to = (where: string, limit = '') =>
    promisify(execFile)(
      'bash',
      ['-c', `${limit} exec "$0" "$1" dictionary ${where}`, process.execPath, program],
      {
        cwd: here.folder,
        env,
      },
    )
  for (const [where, limit] of [['>/dev/full'], ['>part.md', 'ulimit -f 10;']] as const)
    expect(await to(where, limit).catch((error: object) => error)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/The output could not be written \(E(NOSPC|FBIG)\)/),
    })
  expect(await to('>whole.md')).toMatchObject({ stderr: '' })
  expect(readFileSync(join(here.folder, 'whole.md'), 'utf8')).toMatch(/^#.*\n$/s)
})

describe('check', () => {
  test('finds no problem', async () => {
    const { code, stdout } = await here.run('check')
    expect(code).toBe(0)
    for (const what of ['configuration', 'environment', 'credentials', 'tenant', 'warehouse']) {
      expect(stdout).toMatch(new RegExp(`^✓ {2}${what}`, 'm'))
    }
    expect(stdout).toContain('API_SECRET set')
  })

  test('queries each tenant once, each resource of one tenant once, with at most 15 requests, and only GET', async () => {
    here.sandbox.resetRequests()
    await here.run('check')
    const access = 1 + here.sandbox.tenantIds.length + 20
    expect(here.sandbox.requests.length).toBeGreaterThan(access)
    expect(here.sandbox.requests.length).toBeLessThanOrEqual(access + 15)
    expect(new Set(here.sandbox.requests.map((request) => request.method))).toEqual(new Set(['GET']))
  })

  test('2: the configuration is wrong', async () => {
    here.configure({ sync: { overlap: 'soon' } })
    const { code, stdout } = await here.run('check')
    expect(code).toBe(2)
    expect(stdout).toContain('✗ configuration: ')
    expect(stdout).toContain('sync.overlap')
  })

  test('3: the credentials are refused; the warehouse is still tried', async () => {
    const { code, stdout } = await shopsync(['check'], { cwd: here.folder, env: { API_SECRET: 'wrong' } })
    expect(code).toBe(3)
    expect(stdout).toMatch(/✗ credentials: .*401/)
    expect(stdout).toMatch(/✓ {2}warehouse/)
    expect(stdout).toContain('→ Check api.partnerId and api.secret')
  })

  test('3: the API cannot be reached', async () => {
    here.configure({
      api: { baseUrl: 'http://127.0.0.1:9' },
      warehouse: { url: `sqlite:${join(scratch(), 'other.db')}` },
    })
    const { code, json } = await here.run('check', '--json')
    expect(code).toBe(3)
    const { checks } = json<{ checks: { what: string; ok: boolean; found: string }[] }>()
    expect(checks.find(({ what }) => what === 'credentials')).toMatchObject({
      ok: false,
      found: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test('3: the warehouse cannot be written', async () => {
    here.configure({ warehouse: { url: 'sqlite:/proc/warehouse.db' } })
    const { code, stdout } = await here.run('check')
    expect(code).toBe(3)
    expect(stdout).toContain('✗ warehouse: ')
  })

  test('1: a tenant that is configured but not granted, and one that does not answer', async () => {
    const [tenant] = here.sandbox.tenantIds
    here.configure({ sync: { tenants: [Number(tenant), 999] } })
    here.sandbox.script([{ when: { tenant: Number(tenant) }, fault: { kind: 'status', status: 500 } }])
    const { code, stdout } = await here.run('check')
    expect(code).toBe(1)
    expect(stdout).toContain('✗ tenant 999: is not granted')
    expect(stdout).toMatch(new RegExp(`✗ tenant ${tenant}: .*500`))
    for (const fault of ['tenant 999', `tenant ${tenant}:`]) expect(stdout.split(fault)).toHaveLength(2)
  })
})

describe('run', () => {
  test('carries out a shipped job, under its name', async () => {
    const report = (await here.run('run', 'hourly', '--json')).json<RunReport>()
    expect(report).toMatchObject({ job: 'hourly', mode: 'job', status: 'ok' })
  })

  test('prefers the jobs of the working directory; several steps make one document', async () => {
    mkdirSync(join(here.folder, 'jobs'))
    const steps = [
      { command: 'sync', resources: ['notes'] },
      { command: 'sync', resources: ['categories'], tenants: here.sandbox.tenantIds.slice(0, 1), full: true },
    ]
    writeFileSync(join(here.folder, 'jobs/mine.json'), JSON.stringify({ description: 'Mine.', steps }))
    const { code, json } = await here.run('run', 'mine', '--json')
    expect(code).toBe(0)
    const report = json<RunReport>()
    expect(report.cursors.map((cursor) => cursor.resource)).toEqual(['notes', 'notes', 'categories'])
    // Each step requests the authorizations once, and each cursor once.
    expect(report.requests).toBe(2 + report.cursors.length)
  })

  test('a verify step reports what differs, and writes nothing', async () => {
    here.configure({ sync: { resources: ['repair_orders', 'customers', 'notes', 'shops'] } })
    await here.run('sync')
    const equal = await here.run('run', 'weekly-verify', '--json')
    expect(equal.code, equal.stdout).toBe(0)
    expect(equal.json<RunReport>()).toMatchObject({ job: 'weekly-verify', mode: 'job', status: 'ok' })
    const tenant = Number(here.sandbox.tenantIds[0])
    const [id] = here.sandbox.store.ids(tenant, 'notes')
    here.sandbox.store.remove(tenant, 'notes', id ?? 0)
    here.sandbox.work(60)
    // Changes at a live source aren't a difference, and nobody is alerted.
    const living = await here.run('run', 'weekly-verify', '--json')
    expect(living.code, living.stdout).toBe(0)
    const db = new Database(join(here.folder, 'data/warehouse.db'))
    expect(db.prepare('select * from sync_alerts').all()).toEqual([])
    expect((await here.run('run', 'weekly-verify')).stdout).toContain(
      'Changed since the last sync (not a difference)',
    )
    db.exec(
      `delete from notes where id = (select min(id) from notes where tenant_id = ${tenant} and id > ${id}) and tenant_id = ${tenant}`,
    )
    db.close()
    const { code, json } = await here.run('run', 'weekly-verify', '--json')
    expect(code).toBe(1)
    const { status, cursors } = json<RunReport>()
    expect(status).toBe('partial')
    expect(cursors.filter((cursor) => cursor.status === 'failed')).toMatchObject([
      { resource: 'notes', error: 'differs: 1 missing, 0 outdated, 0 extra, 0 with other values' },
    ])
    expect((await here.run('run', 'weekly-verify')).stdout).toContain('Type shopsync reconcile to repair')
  })

  test('a backfill step fetches whole days, and is checked before anything is written', async () => {
    const report = (await here.run('run', 'backfill', '--json')).json<RunReport>()
    expect(report).toMatchObject({ job: 'backfill', mode: 'job', status: 'ok' })
    mkdirSync(join(here.folder, 'jobs'), { recursive: true })
    const steps = [
      { command: 'sync' },
      { command: 'backfill', from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
    ]
    writeFileSync(join(here.folder, 'jobs/wrong.json'), JSON.stringify({ description: 'Wrong.', steps }))
    const { code, stderr } = await here.run('run', 'wrong')
    expect(code).toBe(2)
    expect(stderr).toContain('Found from 2026-01-02T00:00:00.000000Z after to 2026-01-01T00:00:00.000000Z')
  })

  test('an unknown job lists the existing ones', async () => {
    const { code, stderr } = await here.run('run', 'hurly')
    expect(code).toBe(2)
    expect(stderr).toMatch(/expected one of .*hourly.*nightly.*Did you mean hourly\?/)
  })
})

describe('dictionary', () => {
  test.each([
    ['md', /^# Data dictionary/],
    ['html', /^<!doctype html>/i],
    ['json', /^\{/],
    ['dbt', /^version: 2$/m],
  ])('as %s, without any configuration', async (format, beginning) => {
    const { code, stdout } = await shopsync(['dictionary', '--format', format])
    expect(code).toBe(0)
    expect(stdout).toMatch(beginning)
    expect(stdout).toContain('repair_order_labors')
  })

  test('shows promoted columns, and needs no secret for that', async () => {
    here.configure({ resources: { vehicles: { columns: { vin: 'text' } } } })
    const { code, json } = await shopsync(['dictionary', '--json'], { cwd: here.folder })
    expect(code).toBe(0)
    const { tables } = json<{ tables: { name: string; columns: { name: string }[] }[] }>()
    expect(tables.find(({ name }) => name === 'vehicles')?.columns.map(({ name }) => name)).toContain('vin')
  })

  test('the datasets for Superset are an archive, and no password is in them', async () => {
    here.configure({ warehouse: { url: 'postgres://me:secret@127.0.0.1/warehouse', schema: 'shops' } })
    const { code, stdout } = await shopsync(['dictionary', '--format', 'superset'], { cwd: here.folder })
    expect(code).toBe(0)
    expect(stdout.slice(0, 2)).toBe('PK')
    expect(stdout).toContain('sqlalchemy_uri: postgresql+psycopg2://bi:XXXXXXXXXX@127.0.0.1/warehouse')
    expect(stdout).not.toContain('secret')
  })

  test('the sources for dbt are those of the configured warehouse, whose password may be unknown', async () => {
    const sources = async (more: Record<string, object>): Promise<string> => {
      here.configure(more)
      const { code, stdout } = await shopsync(['dictionary', '--format', 'dbt'], { cwd: here.folder })
      expect(code).toBe(0)
      return stdout
    }
    expect(await sources({})).toMatch(/schema: main\n/)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: people type it so
    const url = 'postgres://me:${NOT_SET}@127.0.0.1/warehouse'
    const named = await sources({ warehouse: { url, schema: 'shops' }, report: { schema: 'bi' } })
    expect([...named.matchAll(/^ {4}schema: (\w+)$/gm)].map(([, schema]) => schema)).toEqual(['shops', 'bi'])
    expect(named).toContain('"shops".sync_cursors')
  })
})

test('sandbox prints how to reach it, and ends cleanly when it is stopped', async () => {
  const flags = [
    '--port',
    '0',
    '--tenants',
    '2',
    '--size',
    'small',
    '--rate-limit',
    '3',
    '--read-only-tenant',
    '102',
  ]
  const { code, stdout } = await shopsync(['sandbox', ...flags], {
    during: (call) => call.onText((text) => text.includes('Ctrl-C') && call.kill('SIGINT')),
  })
  expect(code).toBe(0)
  expect(stdout).toMatch(/sandbox +http:\/\/127\.0\.0\.1:\d+/)
  expect(stdout).toContain('"baseUrl"')
  expect(stdout).toMatch(/tenants +101, 102 \(read only\)\nrate limit +3 requests a minute/)
})

test('sandbox can make less data for each tenant', async () => {
  const { code, stdout, stderr } = await shopsync(
    ['sandbox', '--port', '0', '--tenants', '12', '--size', 'small'],
    { during: (call) => call.onText((text) => text.includes('Ctrl-C') && call.kill('SIGINT')) },
  )
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('tenants     101, 102,')
})

// `.ci/run` runs it each time.
test.runIf(isWhole())('demo fills a warehouse twice and answers four questions', async () => {
  const folder = scratch()
  try {
    const { code, stdout } = await shopsync(['demo'], { cwd: folder })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ +first sync +second sync$/m)
    const titles = ['What needs attention today?', 'How was last month?', 'Can I trust it?', 'The report']
    const places = titles.map((title) => stdout.indexOf(`── ${title} ─`))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places[0]).toBeGreaterThan(0)
    expect(stdout).toContain('demo/report.html')
    expect(existsSync(join(folder, 'demo/report.html'))).toBe(true)
    expect(existsSync(join(folder, 'demo/warehouse.db'))).toBe(true)
    expect(existsSync(join(folder, 'demo/warehouse.db-wal'))).toBe(false)
    // The terminal, the page and the view show the same number.
    const [, name = '', sales = ''] = /^(\w+ \d{4}): \$([\d,]+) of sales/m.exec(stdout) ?? []
    const db = new Database(join(folder, 'demo/warehouse.db'), { readonly: true })
    const month = new Date(`1 ${name} UTC`).toISOString().slice(0, 7)
    const { cents } = db
      .prepare('select sum(sales_cents) as cents from shop_months where month = ?')
      .get(month) as { cents: number }
    db.close()
    expect(Math.round(cents / 100)).toBe(Number(sales.replaceAll(',', '')))
    expect(readFileSync(join(folder, 'demo/report.html'), 'utf8')).toContain(`$${sales}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
