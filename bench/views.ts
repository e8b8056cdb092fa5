/**
 * npm run bench -- views [--orders 11000] [--rounds 5] [--warehouses sqlite,postgres] [--views orders,daily_sales]
 *                        [--urls sqlite:/tmp/kept.db,postgres://postgres@127.0.0.1:5432/postgres]
 *
 * How long views take to answer over a generated business of four tenants with three shops each. `all` counts the rows
 * and sums the view's first money column over everything; `every sum` sums all its number columns; `month` is the first
 * question for one shop and one month, or one year for views by month. Medians in milliseconds, with the shortest round
 * in brackets. Warehouses of `--urls` are kept, and filled from a sandbox if they are empty: another round then only costs
 * its queries. Their views are made again by the current program.
 */
import { sql } from 'kysely'
import type { View } from '../schema/view.js'
import { views } from '../schema/views/index.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { fill } from './filled.js'
import { Installed, inFolder, options, print, seconds, withOpen } from './kit.js'
import { median } from './stats.js'
import { type BenchWarehouse, withWarehouses } from './warehouse.js'

const { orders, rounds, warehouses, urls, ...more } = options({
  orders: 11_000,
  rounds: 5,
  warehouses: 'sqlite,postgres',
  urls: '',
  views: '',
})
const wanted = views.filter(({ name }) => more.views === '' || more.views.split(',').includes(name))

const run = async ({ db }: Warehouse, text: string): Promise<unknown> =>
  (await sql.raw(text).execute(db)).rows

async function time(warehouse: Warehouse, text: string): Promise<string> {
  const times: number[] = []
  for (let round = -1; round < rounds; round++) {
    const took = 1000 * (await seconds(() => run(warehouse, text)))
    if (round >= 0) times.push(took)
  }
  return `${median(times).toFixed(1)} (${Math.min(...times).toFixed(1)})`
}

/** So many months ago. */
const monthAgo = (months: number): string => {
  const date = new Date()
  date.setUTCMonth(date.getUTCMonth() - months, 15)
  return date.toISOString().slice(0, 7)
}
/** One of the past half year, and eleven months earlier: a year, together with the month itself. */
const [month, yearBefore] = [monthAgo(5), monthAgo(16)]

async function measure(warehouse: Warehouse, { name, columns }: View): Promise<string[]> {
  const from = `from ${warehouse.dialect.views().relation(name)}`
  const kinds = Object.entries(columns)
  const numbers = kinds.flatMap(([column, { kind }]) => (kind === 'cents' || kind === 'hours' ? column : []))
  const count = `select count(*) as n${numbers[0] === undefined ? '' : `, sum(${numbers[0]}) as s`} ${from}`
  const every = `select count(*) as n${numbers.map((column) => `, sum(${column}) as ${column}`).join('')} ${from}`
  const day = kinds.find(([, { kind }]) => kind === 'day')?.[0]
  const isByMonth = columns.month?.kind === 'text'
  const within = isByMonth
    ? `month between '${yearBefore}' and '${month}'`
    : `${day} between '${month}-01' and '${month}-28'`
  const found = [await time(warehouse, count), await time(warehouse, every)]
  if ((day === undefined && !isByMonth) || !('shop_id' in columns)) return [...found, '–']
  return [...found, await time(warehouse, `${count} where tenant_id = 102 and shop_id = 2 and ${within}`)]
}

const bench = (one: BenchWarehouse): Promise<string[][]> =>
  inFolder(async (folder) => {
    const tenants = [101, 102, 103, 104].map((id) => ({ id, repairOrders: orders, shops: 3 }))
    await fill(one, new Installed(folder), { tenants }, { report: { timeZone: 'America/Chicago' } })
    return withOpen(one.url, async (warehouse) => {
      const found: string[][] = []
      for (const view of wanted) found.push(await measure(warehouse, view))
      return found
    })
  })

await withWarehouses(urls || warehouses, async (all) => {
  const found: string[][][] = []
  for (const one of all) found.push(await bench(one))
  const heads = all.flatMap(({ name }) => [`${name}: all`, 'every sum', 'month'])
  const rows = wanted.map(({ name }, i) => [`\`${name}\``, ...found.flatMap((each) => each[i] ?? [])])
  print(['view', ...heads], rows)
})
