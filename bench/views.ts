/**
 * npm run bench:views -- [--orders 11000] [--rounds 5] [--warehouses sqlite,postgres] [--views orders,daily_sales]
 *                        [--urls sqlite:/tmp/kept.db,postgres://postgres@127.0.0.1:5432/postgres]
 *
 * How long views take to answer over a generated business of four tenants with three shops each. `all` counts the rows
 * and sums the view's first money column over everything; `every sum` sums all its number columns; `month` is the first
 * question for one shop and one month, or one year for views by month. Medians in milliseconds, with the shortest round
 * in brackets; 11,000 orders per tenant are 1.4 million rows. Warehouses of `--urls` are kept, and filled if they are
 * empty: another round then only costs its queries. Their views are made again by the current program.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { sql } from 'kysely'
import { resources } from '../schema/index.js'
import type { View } from '../schema/view.js'
import { views } from '../schema/views/index.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { compiledOf } from '../test/support/harness/compiled.js'
import { model } from '../test/support/harness/model.js'
import { median } from './stats.js'
import { fill, run } from './views/fillwarehouse.js'
import { type BenchWarehouse, schema, withKept } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    orders: { type: 'string', default: '11000' },
    rounds: { type: 'string', default: '5' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    views: { type: 'string' },
    urls: { type: 'string' },
  },
})
const orders = Number(options.orders)
const wanted = options.views?.split(',')

/** Tables, views, days and totals, made by the program. */
async function migrate({ url }: BenchWarehouse, folder: string): Promise<void> {
  const file = join(folder, 'config.json')
  const api = { baseUrl: 'https://api.example.com', partnerId: '42', secret: 'bench-secret' }
  const report = { timeZone: 'America/Chicago' }
  writeFileSync(file, JSON.stringify({ api, warehouse: { url, schema }, report }))
  await promisify(execFile)(process.execPath, [compiledOf('src/entry.ts'), 'migrate', '--config', file])
}

/** A kept warehouse is already filled. */
async function isFilled(warehouse: Warehouse): Promise<boolean> {
  const { table } = warehouse.dialect.views().sql
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.raw(table('tenants'))}`.execute(
    warehouse.db,
  )
  return Number(rows[0]?.n) > 0
}

async function time(warehouse: Warehouse, text: string): Promise<string> {
  const times: number[] = []
  await run(warehouse, text)
  for (let round = 0; round < Number(options.rounds); round++) {
    const start = performance.now()
    await run(warehouse, text)
    times.push(performance.now() - start)
  }
  return `${median(times).toFixed(1)} (${Math.min(...times).toFixed(1)})`
}

/** A month of the past half year. */
const month = new Date(Date.now() - 150 * 86_400_000).toISOString().slice(0, 7)

/** Eleven months earlier: a year, together with the month itself. */
function yearBefore(last: string): string {
  const date = new Date(`${last}-15T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() - 11)
  return date.toISOString().slice(0, 7)
}

async function measure(warehouse: Warehouse, { name, columns }: View): Promise<string[]> {
  const from = `from ${warehouse.dialect.views().relation(name)}`
  const kinds = Object.entries(columns)
  const numbers = kinds
    .filter(([, { kind }]) => kind === 'cents' || kind === 'hours')
    .map(([column]) => column)
  const count = `select count(*) as n${numbers[0] === undefined ? '' : `, sum(${numbers[0]}) as s`} ${from}`
  const every = `select count(*) as n${numbers.map((column) => `, sum(${column}) as ${column}`).join('')} ${from}`
  const day = kinds.find(([, { kind }]) => kind === 'day')?.[0]
  const isByMonth = columns.month?.kind === 'text'
  const within = isByMonth
    ? `month between '${yearBefore(month)}' and '${month}'`
    : `${day} between '${month}-01' and '${month}-28'`
  const one = `where tenant_id = 102 and shop_id = 2 and ${within}`
  const hasMonth = (day !== undefined || isByMonth) && 'shop_id' in columns
  const figures = [count, every, ...(hasMonth ? [`${count} ${one}`] : [])]
  const found: string[] = []
  for (const text of figures) found.push(await time(warehouse, text))
  return [...found, ...(hasMonth ? [] : ['–'])]
}

async function bench(one: BenchWarehouse, folder: string): Promise<Map<string, string[]>> {
  await migrate(one, folder)
  const warehouse = await openWarehouse({ url: one.url, schema, model: model(resources) })
  if (!(await isFilled(warehouse))) {
    const rows = await fill(warehouse, orders)
    await migrate(one, folder)
    await run(warehouse, 'analyze')
    process.stderr.write(`${one.name}: ${rows} rows\n`)
  }
  const found = new Map<string, string[]>()
  for (const view of views)
    if (wanted === undefined || wanted.includes(view.name))
      found.set(view.name, await measure(warehouse, view))
  await warehouse.close()
  return found
}

const folder = mkdtempSync(join(tmpdir(), 'shopsync-views-'))
try {
  await withKept(options, async (warehouses) => {
    const all: Map<string, string[]>[] = []
    for (const one of warehouses) all.push(await bench(one, folder))
    const heads = warehouses.flatMap(({ name }) => [`${name}: all`, 'every sum', 'month'])
    const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
    process.stdout.write(line(['view', ...heads]) + line(['---', ...heads.map(() => '---:')]))
    for (const name of all[0]?.keys() ?? [])
      process.stdout.write(line([`\`${name}\``, ...all.flatMap((found) => found.get(name) ?? [])]))
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
