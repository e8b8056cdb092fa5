/**
 * dbt on both warehouses: runs `dbt test` on the `sources.yml` that the program writes, and its freshness check. dbt
 * comes from pip; if it can't be installed, the suite reports what is missing and is skipped.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { reopen, type Warehouse, warehouses } from '../support/harness/warehouse.js'
import { dbt, profileOf, type Result } from './dbt.js'
import { lackingFor } from './environment.js'

const lacking = await lackingFor('The tests of dbt')
const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 40, seed: 5 })

/** A project with nothing but the sources. */
function projectIn(folder: string, sources: string, profile: object): void {
  mkdirSync(join(folder, 'models'), { recursive: true })
  const write = (name: string, content: object | string): void =>
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  write('dbt_project.yml', { name: 'shop', version: '1.0.0', profile: 'shop', 'model-paths': ['models'] })
  write('profiles.yml', { shop: { target: 'it', outputs: { it: profile } } })
  write('models/sources.yml', sources)
}

describe.skipIf(lacking !== undefined).each(warehouses())('$name', (kind) => {
  let folder = ''
  let sources = ''
  let warehouse: Warehouse
  const others = (results: readonly Result[], status: string): Result[] =>
    results.filter((result) => result.status !== status)

  beforeAll(async () => {
    const address = kind.address()
    const config = configure(sandbox, address, [], { sync: { resources: 'all' } })
    const synced = await shopsync(['sync', '--config', config])
    if (synced.code !== 0) throw new Error(synced.stderr)
    sources = (await shopsync(['dictionary', '--format', 'dbt', '--config', config])).stdout
    folder = join(dirname(config), 'dbt')
    projectIn(folder, sources, profileOf(address))
    warehouse = await reopen(address)
  })
  afterAll(() => warehouse?.close())

  it('passes every test of the sources', async () => {
    const declared = (parse(sources) as { sources: { tables: object[] }[] }).sources
      .flatMap(({ tables }) => tables as { data_tests?: object[]; columns: { data_tests?: object[] }[] }[])
      .flatMap(({ data_tests = [], columns }) => [
        ...data_tests,
        ...columns.flatMap((column) => column.data_tests ?? []),
      ])
    const results = await dbt(folder, ['test'], 'run_results.json')
    expect(others(results, 'pass')).toEqual([])
    expect(results).toHaveLength(declared.length)
    expect(results.length).toBeGreaterThan(300)
  })

  it.runIf(kind.name === 'postgres')('is fresh, and stale when one list has stopped changing', async () => {
    const asked = () => dbt(folder, ['source', 'freshness'], 'sources.json')
    expect(others(await asked(), 'pass')).toEqual([])
    const { db } = warehouse
    const old = { complete_through: '2020-01-01T00:00:00.000000Z' }
    const [tenant = 0] = sandbox.tenantIds
    await db
      .updateTable('sync_cursors')
      .set(old)
      .where('resource', '=', 'notes')
      .where('tenant_id', '=', tenant)
      .execute()
    const stale = others(await asked(), 'pass')
    expect(stale.map(({ unique_id, status }) => [unique_id, status])).toEqual([
      ['source.shop.shopsync.notes', 'error'],
    ])
  })

  it('warns of references that lead nowhere', async () => {
    await warehouse.db.deleteFrom('customers').execute()
    const found = others(await dbt(folder, ['test'], 'run_results.json'), 'pass')
    expect(found.length).toBeGreaterThan(3)
    for (const { unique_id, status } of found) {
      expect(status).toBe('warn')
      expect(unique_id).toContain('customer')
    }
  })
})
