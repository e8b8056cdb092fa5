/**
 * The folder of `dictionary --format dbt --out` in dbt and MetricFlow: dbt makes its models in both warehouses without
 * changes, tests its sources and their freshness, MetricFlow finds nothing wrong with it, and metrics queried on Postgres
 * match the figures of shop_months. Both come from pip; what can't be installed is reported, and the suite skipped.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Sandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { askServer, inFile } from '../support/harness/databases.js'
import { type Address, configure } from '../support/harness/place.js'
import { known } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { query } from '../support/harness/views.js'
import { reopen, rowsOf, warehouses } from '../support/harness/warehouse.js'
import { dbt, profileOf, type Result } from './dbt.js'
import { client, lackingFor, run } from './environment.js'

const lacking = await lackingFor('The project of dbt')

type Cells = Readonly<Record<string, string>>

/** Rows of a CSV file without quotes, by column name. */
function csv(file: string): Cells[] {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  const names = head.trim().split(',')
  return lines.map((line) => {
    const cells = line.trim().split(',')
    return Object.fromEntries(names.map((name, i) => [name, cells[i] ?? '']))
  })
}

const texts = (row: object): string =>
  JSON.stringify(Object.values(row), (_, value) => (typeof value === 'bigint' ? String(value) : value))

/** Reads what dbt made. */
async function askCopies({ url }: Address, text: string): Promise<object[]> {
  if (!url.startsWith('sqlite:')) return askServer<object>(url, text)
  const made = join(dirname(url.slice('sqlite:'.length)), 'made_by_dbt.db')
  return inFile(':memory:', (db) => {
    db.exec(`attach '${made}' as made_by_dbt`)
    return db.prepare(text).all() as object[]
  })
}

describe.skipIf(lacking !== undefined).each(warehouses())('$name', (kind) => {
  let folder = ''
  let config = ''
  let address: Address
  let sandbox: Sandbox
  const others = (results: readonly Result[], status = 'pass'): Result[] =>
    results.filter((result) => result.status !== status)
  const metricflow = (...words: string[]) =>
    run(client('mf'), words, {
      cwd: folder,
      // It keeps a cache in the folder for temporary files.
      env: {
        ...process.env,
        TMPDIR: folder,
        DBT_PROFILES_DIR: folder,
        DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
      },
      maxBuffer: 1e8,
    })

  beforeAll(async () => {
    sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 120, seed: 5 })
    address = kind.address()
    config = configure(sandbox, address, [], { sync: { resources: 'all' } })
    for (const words of [['sync'], ['snapshot']]) {
      const ended = await shopsync([...words, '--config', config])
      if (ended.code !== 0) throw new Error(ended.stderr)
    }
    folder = join(dirname(config), 'project')
    const written = await shopsync(['dictionary', '--format', 'dbt', '--out', folder, '--config', config])
    if (written.code !== 0) throw new Error(written.stderr)
    const profile = { target: 'it', outputs: { it: profileOf(address, 'made_by_dbt') } }
    writeFileSync(join(folder, 'profiles.yml'), JSON.stringify({ shopsync: profile }))
  })

  it('dbt makes every model', async () => {
    const results = await dbt(folder, ['run'], 'run_results.json')
    expect(others(results, 'success')).toEqual([])
    expect(results.length).toBeGreaterThan(28)
  })

  const ofSources = ['test', '--select', 'source:*']
  it('passes every test of the sources', async () => {
    const { stdout } = await shopsync(['dictionary', '--format', 'dbt', '--config', config])
    type Tested = { data_tests?: object[]; columns?: Tested[] }
    const declared = (parse(stdout) as { sources: { tables: Tested[] }[] }).sources
      .flatMap(({ tables }) => tables.flatMap((table) => [table, ...(table.columns ?? [])]))
      .flatMap(({ data_tests = [] }) => data_tests)
    const results = await dbt(folder, ofSources, 'run_results.json')
    expect(others(results)).toEqual([])
    expect(results).toHaveLength(declared.length)
    expect(results.length).toBeGreaterThan(300)
  })

  it.runIf(kind.name === 'postgres')('is fresh, and stale when one list has stopped changing', async () => {
    const stale = async () => others(await dbt(folder, ['source', 'freshness'], 'sources.json'))
    expect(await stale()).toEqual([])
    const warehouse = await reopen(address)
    const list = { tenant_id: sandbox.tenantIds[0] ?? 0, resource: 'notes' }
    const set = (complete_through: string) =>
      warehouse.db
        .updateTable('sync_cursors')
        .set({ complete_through })
        .where((is) => is.and(list))
        .execute()
    await set('2020-01-01T00:00:00.000000Z')
    expect(await stale()).toMatchObject([{ unique_id: 'source.shopsync.shopsync.notes', status: 'error' }])
    await set(new Date().toISOString().replace('Z', '000Z'))
  })

  it.runIf(kind.name === 'sqlite')('leaves the warehouse file as it was', () => {
    const file = address.url.slice('sqlite:'.length)
    const count = (of: string, from: string) =>
      inFile(of, (db) => db.prepare(`select count(*) from ${from}`).pluck().get())
    const orders = count(file, 'orders')
    expect(Number(orders)).toBeGreaterThan(100)
    expect(count(join(dirname(file), 'made_by_dbt.db'), 'stg_shopsync__orders')).toBe(orders)
    expect(count(file, "sqlite_master where name like 'stg%'")).toBe(0)
  })

  it('copies that are continued are those that are made again', async () => {
    const copies = async (): Promise<unknown[]> => {
      const found: unknown[] = []
      for (const { name, columns } of known.tables) {
        const cells = columns.map((column) => `"${column.name}"`).join(', ')
        const rows = await askCopies(address, `select ${cells} from made_by_dbt.inc_shopsync__${name}`)
        found.push([name, rows.map(texts).sort()])
      }
      return found
    }
    const before = await copies()
    const { store } = sandbox
    const [first = 0] = sandbox.tenantIds
    const [order = 0, gone = 0] = store.ids(first, 'repair_orders')
    store.change(first, 'repair_orders', order, { services: [] })
    store.remove(first, 'repair_orders', gone)
    const words = [
      ['sync'],
      ['reconcile', '--full'],
      ['forget', '--tenant', String(sandbox.tenantIds[1]), '--yes'],
    ]
    for (const each of words) expect((await shopsync([...each, '--config', config])).code).toBe(0)
    const select = ['run', '--select', 'models/increments']
    await dbt(folder, select, 'run_results.json')
    const continued = await copies()
    await dbt(folder, [...select, '--full-refresh'], 'run_results.json')
    expect(continued).toEqual(await copies())
    expect(continued).not.toEqual(before)
  })

  it('MetricFlow finds nothing wrong', async () => {
    const { stdout } = await metricflow('validate-configs', '--skip-dw')
    expect(stdout).toContain('ERRORS: 0, FUTURE_ERRORS: 0, WARNINGS: 0')
  })

  // MetricFlow doesn't support SQLite.
  const onPostgres = it.runIf(kind.name === 'postgres')
  onPostgres("offers no order's technician for the hours of its lines", async () => {
    const dimensions = async (metric: string): Promise<string> =>
      (await metricflow('list', 'dimensions', '--metrics', metric)).stdout
    expect(await dimensions('technician_hours')).toContain('technician__staff_name')
    const ofOrders = await dimensions('hours_sold')
    expect(ofOrders).toContain('shop__shop_name')
    expect(ofOrders).not.toContain('technician__')
    expect(ofOrders).not.toContain('created_on')
  })

  onPostgres('metrics are the figures of shop_months', async () => {
    const asked = ['sales_cents', 'average_repair_order', 'gross_margin', 'customers', 'receivables_cents']
    const more = ['days_to_close', 'collected_cents', 'gross_margin_left_out']
    const file = join(folder, 'answer.csv')
    const all = [...asked, ...more]
    const groups = ['--group-by', 'metric_time__month,shop', '--decimals', '9']
    await metricflow('query', '--metrics', all.join(','), ...groups, '--csv', file)
    const warehouse = await reopen(address)
    const ratio = (name: string, factor = '1.0'): string =>
      `${factor} * ${name}_numerator / nullif(${name}_denominator, 0) as ${name}`
    const months = await query(
      warehouse,
      `select month, shop_key, sales_cents, customers, receivables_cents, collected_cents, gross_margin_left_out,
        ${ratio('average_repair_order')}, ${ratio('gross_margin')}, ${ratio('days_to_close', '1.0 / 1440')}
       from {shop_months} where shop_key is not null`,
    )
    const kept = new Map(months.map((row) => [`${row.month} ${row.shop_key}`, row]))
    const found = csv(file).filter((row) => row.shop !== '')
    expect(found.length).toBeGreaterThan(3)
    const seen = new Map(all.map((name) => [name, 0]))
    for (const row of found) {
      const month = kept.get(`${row.metric_time__month?.slice(0, 7)} ${row.shop}`)
      for (const name of all) {
        const [here, there] = [row[name] ?? '', month?.[name] ?? null]
        if (here === '') continue
        expect([name, row.shop, Number(here)]).toEqual([name, row.shop, expect.closeTo(Number(there), 6)])
        if (Number(here) !== 0) seen.set(name, (seen.get(name) ?? 0) + 1)
      }
    }
    // MetricFlow has receivables from snapshots; shop_months also knows them of months without one.
    const withSnapshot = (await rowsOf(warehouse, 'daily_snapshots')).map(({ day }) =>
      String(day).slice(0, 7),
    )
    for (const name of all) {
      const isAsked = ({ month }: (typeof months)[number]) =>
        name !== 'receivables_cents' || withSnapshot.includes(String(month))
      const wanted = months.filter((row) => isAsked(row) && Number(row[name] ?? 0) !== 0).length
      expect(wanted).toBeGreaterThan(0)
      expect([name, seen.get(name)]).toEqual([name, wanted])
    }
  })

  it('warns of references that lead nowhere', async () => {
    const warehouse = await reopen(address)
    await warehouse.db.deleteFrom('customers').execute()
    await warehouse.close()
    const found = others(await dbt(folder, ofSources, 'run_results.json'))
    expect(found.filter(({ unique_id }) => unique_id.includes('customer')).length).toBeGreaterThan(3)
    expect(others(found, 'warn')).toEqual([])
  })
})
