/** Commands whose answer is in files: what `status` counts, what the dictionary takes from a configuration, the demo. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/harness/size.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace()
})
afterAll(() => here.remove())

test('status takes live rows from the registers, or counts them without one; a revoked tenant is a problem unless it is left out on purpose', async () => {
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
  const { cursors } = json<{
    cursors: { tenant_id: number; resource: string; rows: number; state: string }[]
  }>()
  expect([code, cursors.length]).toEqual([1, 2 * 21])
  expect(live).toBeLessThan(9)
  expect(cursors.filter((c) => c.resource === 'categories').map((c) => c.rows)).toEqual([live, 9])
  expect(cursors.filter((c) => c.tenant_id === revoked && c.state !== 'revoked')).toEqual([])
  here.configure({ sync: { exceptTenants: [Number(revoked)] } })
  expect((await here.run('status')).code).toBe(0)
})

test('the dictionary is that of the configuration, and needs no secret and no password for it', async () => {
  const dictionary = async (configured: Record<string, object>, ...words: string[]): Promise<string> => {
    here.configure(configured)
    const { code, stdout, stderr } = await shopsync(['dictionary', ...words], { cwd: here.folder })
    expect(code, stderr).toBe(0)
    return stdout
  }
  const promoted = await dictionary({ resources: { vehicles: { columns: { vin: 'text' } } } }, '--json')
  const { tables } = JSON.parse(promoted) as { tables: { name: string; columns: { name: string }[] }[] }
  expect(tables.find(({ name }) => name === 'vehicles')?.columns.map(({ name }) => name)).toContain('vin')
  const known = { url: 'postgres://me:secret@127.0.0.1/warehouse', schema: 'shops' }
  const archive = await dictionary({ warehouse: known }, '--format', 'superset')
  expect(archive.slice(0, 2)).toBe('PK')
  expect(archive).toContain('sqlalchemy_uri: postgresql+psycopg2://bi:XXXXXXXXXX@127.0.0.1/warehouse')
  expect(archive).not.toContain('secret')
  expect(await dictionary({}, '--format', 'dbt')).toMatch(/schema: main\n/)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: people type it so
  const unknown = { url: 'postgres://me:${NOT_SET}@127.0.0.1/warehouse', schema: 'shops' }
  const named = await dictionary({ warehouse: unknown, report: { schema: 'bi' } }, '--format', 'dbt')
  expect([...named.matchAll(/^ {4}schema: (\w+)$/gm)].map(([, schema]) => schema)).toEqual(['shops', 'bi'])
  expect(named).toContain('"shops".sync_cursors')
})

// `.ci/run` runs it each time.
test.runIf(isWhole())('demo fills a warehouse twice and answers four questions', async () => {
  const folder = scratch()
  const { code, stdout } = await shopsync(['demo'], { cwd: folder })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ +first sync +second sync$/m)
  const titles = ['What needs attention today?', 'How was last month?', 'Can I trust it?', 'The report']
  const places = titles.map((title) => stdout.indexOf(`── ${title} ─`))
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  expect(stdout).toContain('demo/report.html')
  expect(existsSync(join(folder, 'demo/warehouse.db-wal'))).toBe(false)
  // The terminal, the page and the view show the same number.
  const [, name = '', sales = ''] = /^(\w+ \d{4}): \$([\d,]+) of sales/m.exec(stdout) ?? []
  const db = new Database(join(folder, 'demo/warehouse.db'), { readonly: true })
  const month = new Date(`1 ${name} UTC`).toISOString().slice(0, 7)
  const sum = db.prepare('select sum(sales_cents) from shop_months where month = ?').pluck().get(month)
  db.close()
  expect(Math.round(Number(sum) / 100)).toBe(Number(sales.replaceAll(',', '')))
  expect(readFileSync(join(folder, 'demo/report.html'), 'utf8')).toContain(`$${sales}`)
})
