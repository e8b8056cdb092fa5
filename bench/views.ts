/**
 * npm run bench -- views [--orders 11000] [--rounds 5] [--warehouses sqlite,postgres] [--views orders,daily_sales]
 *                        [--urls sqlite:/tmp/kept.db,postgres://postgres@127.0.0.1:5432/postgres]
 *
 * How long views take to answer over a generated business of four tenants with three shops each. `all` counts the rows
 * and sums the view's first money column over everything; `every sum` sums all its number columns; `month` is the first
 * question for one shop and one month, or one year for views by month. Medians in milliseconds, with the shortest round
 * in brackets; 11,000 orders per tenant are 1.4 million rows. Warehouses of `--urls` are kept, and filled if they are
 * empty: another round then only costs its queries. Their views are made again by the current program.
 */
import { sql } from 'kysely'
import type { View } from '../schema/view.js'
import { views } from '../schema/views/index.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { Installed, inFolder, options, print, seconds, withOpen } from './kit.js'
import { median } from './stats.js'
import { fill, run } from './views/fill.js'
import { type BenchWarehouse, withWarehouses } from './warehouse.js'

const { orders, rounds, warehouses, urls, ...more } = options({
  orders: 11_000,
  rounds: 5,
  warehouses: 'sqlite,postgres',
  urls: '',
  views: '',
})
const wanted = views.filter(({ name }) => more.views === '' || more.views.split(',').includes(name))

/** A kept warehouse is already filled. */
async function isFilled(warehouse: Warehouse): Promise<boolean> {
  const tenants = sql.raw(warehouse.dialect.views().sql.table('tenants'))
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${tenants}`.execute(warehouse.db)
  return Number(rows[0]?.n) > 0
}

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

const bench = ({ name, url }: BenchWarehouse): Promise<string[][]> =>
  inFolder(async (folder) => {
    const installed = new Installed(folder)
    installed.configure(url, { url: 'https://api.example.com' }, { report: { timeZone: 'America/Chicago' } })
    await installed.run(['migrate'])
    return withOpen(url, async (warehouse) => {
      if (!(await isFilled(warehouse))) {
        const rows = await fill(warehouse, orders)
        await installed.run(['migrate'])
        await run(warehouse, 'analyze')
        process.stderr.write(`${name}: ${rows} rows\n`)
      }
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
