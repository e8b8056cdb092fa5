import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { cloneSqlite } from '../support/harness/clones.js'
import { type Place, place } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/harness/size.js'

let here: Place

beforeAll(async () => {
  here = await place()
})
afterAll(() => here.remove())
afterEach(() => {
  here.sandbox.script([])
  here.configure()
})

interface StatusReport {
  readonly cursors: readonly { tenant_id: number; resource: string; rows: number; state: string }[]
}

test('status takes live rows from the registers, or counts them without one; a revoked tenant is a problem unless it is left out on purpose', async () => {
  await cloneSqlite(join(here.folder, 'data/warehouse.db'), 'viewed')
  expect((await here.run('sync', '--quiet')).code).toBe(0)
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  const [counted, revoked] = here.sandbox.tenantIds
  const at = '2026-01-01T00:00:00.000000Z'
  db.prepare(
    "update sync_registers set live_rows = null where resource = 'categories' and tenant_id = ?",
  ).run(counted)
  db.prepare('update categories set _deleted_at = ? where id % 3 = 0').run(at)
  const rows = db.prepare('select count(*) from categories where tenant_id = ? and _deleted_at is null')
  const live = rows.pluck().get(counted)
  db.prepare('update tenants set revoked_at = ? where tenant_id = ?').run(at, revoked)
  db.prepare("update sync_cursors set status = 'failed' where tenant_id = ?").run(revoked)
  db.close()
  const { code, json } = await here.run('status', '--json')
  expect(code).toBe(1)
  const { cursors } = json<StatusReport>()
  expect(cursors).toHaveLength(2 * 21)
  here.configure({ sync: { exceptTenants: [Number(revoked)] } })
  expect((await here.run('status')).code).toBe(0)
  expect(live).toBeLessThan(9)
  expect(cursors.filter((c) => c.resource === 'categories').map((c) => c.rows)).toEqual([live, 9])
  expect(new Set(cursors.filter((c) => c.tenant_id === revoked).map((c) => c.state))).toEqual(
    new Set(['revoked']),
  )
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
    cwd: here.folder,
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
    {
      cwd: here.folder,
      during: (call) => call.onText((text) => text.includes('Ctrl-C') && call.kill('SIGINT')),
    },
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
