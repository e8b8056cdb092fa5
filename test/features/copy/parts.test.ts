/** A copy of some tenants has their rows and nothing of any other. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { shopsync } from '../../support/call.js'
import { configure } from '../../support/place.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { scratch } from '../../support/scratch.js'
import { dialectWarehouses } from '../../support/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 25, seed: 9 })
const [first = 0, second = 0] = sandbox.tenantIds

const resources = ['customers', 'staffs', 'repair_orders', 'payments', 'shops', 'notes', 'vehicles']

/** Texts of the second tenant's customers that the first one's records don't have. */
const namesOf = (tenant: number): string[] =>
  sandbox.store.all(tenant, 'customers').flatMap(({ email, address }) => [String(email), String(address)])
const others = namesOf(second).filter((text) => text.length > 8 && !namesOf(first).includes(text))
const own = namesOf(first).filter((text) => text.length > 8)

describe.each(dialectWarehouses())('$name', (kind) => {
  it('the copies of all tenants have the rows of the warehouse, and nobody else’s', async () => {
    const config = configure(sandbox, kind.address(), resources)
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const folder = scratch()
    const counts = new Map<string, number>()
    for (const [tenant, more] of [
      [first, ['--personal']],
      [second, []],
    ] as const) {
      const file = join(folder, `${tenant}.db`)
      const copied = await shopsync([
        ...['copy', '--tenant', String(tenant), '--to', `sqlite:${file}`, ...more, '--config', config],
      ])
      expect(copied.code, copied.stderr).toBe(0)
      expect(existsSync(`${file}.part`)).toBe(false)
      expect(copied.stdout).toContain(`${file} is a copy of a part of `)
      expect(copied.stdout).not.toContain('shopsync migrate')
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const db = new BetterSqlite3(file, { readonly: true })
      for (const table of resources) {
        const row = db.prepare(`select count(*) as n from ${table}`).get() as { n: number }
        counts.set(table, (counts.get(table) ?? 0) + row.n)
      }
      expect(db.prepare('select distinct tenant_id as t from orders').all()).toEqual([{ t: tenant }])
      const refused = await shopsync([
        ...['sync', '--config', configure(sandbox, { url: `sqlite:${file}`, schema: '' }, resources)],
      ])
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain(`is a copy of tenant ${tenant}`)
      const checked = await shopsync([
        ...['check', '--json'],
        ...['--config', configure(sandbox, { url: `sqlite:${file}`, schema: '' }, resources)],
      ])
      const { checks } = JSON.parse(checked.stdout) as { checks: { what: string; found: string }[] }
      expect([checked.code, checks.find(({ what }) => what === 'warehouse')]).toEqual([
        2,
        expect.objectContaining({
          ok: false,
          found: expect.stringContaining(`is a copy of tenant ${tenant}`),
        }),
      ])
      const bytes = readFileSync(file, 'latin1')
      db.close()
      if (tenant === first) {
        expect(others.filter((text) => bytes.includes(text))).toEqual([])
        expect(own.filter((text) => bytes.includes(text)).length).toBeGreaterThan(10)
      } else expect([...own, ...others].filter((text) => bytes.includes(text))).toEqual([])
    }
    const all = new Map(
      resources.map((name) => [
        name,
        sandbox.store.all(first, name).length + sandbox.store.all(second, name).length,
      ]),
    )
    expect(counts).toEqual(all)
  })
})
