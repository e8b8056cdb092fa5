/**
 * npm run bench -- status [--tenants 500] [--orders 60] [--rounds 11] [--warehouses sqlite,postgres]
 *                         [--urls sqlite:/tmp/kept.db,postgres://postgres@127.0.0.1:5432/postgres]
 *
 * How long the whole process of `shopsync status` takes, over a warehouse of many tenants that the program has loaded
 * from a sandbox: medians in milliseconds, next to those of `shopsync --version`, which only starts. Warehouses of
 * `--urls` are kept, and loaded if they are empty.
 */
import { fill } from './filled.js'
import { Installed, inFolder, options, print, rowsIn, seconds, total } from './kit.js'
import { known } from './known.js'
import { median } from './stats.js'
import { type BenchWarehouse, withWarehouses } from './warehouse.js'

const { tenants, orders, rounds, warehouses, urls } = options({
  tenants: 500,
  orders: 60,
  rounds: 11,
  warehouses: 'sqlite,postgres',
  urls: '',
})
const questions = [['--version'], ['status'], ['status', '--failing'], ['status', '--json']]

/** A status that finds problems is a status, too. */
const milliseconds = async (installed: Installed, words: readonly string[]): Promise<number> =>
  1000 * (await seconds(() => installed.run(words, [0, 1])))

async function bench(one: BenchWarehouse, installed: Installed): Promise<(string | number)[]> {
  await fill(one, installed, { tenants, repairOrders: orders })
  const tables = [{ name: 'sync_cursors' }, ...known.list.flatMap((resource) => resource.tables)]
  const { sync_cursors: cursors = 0, ...rows } = await rowsIn(one.url, tables)
  const times = questions.map((): number[] => [])
  for (let round = 0; round <= rounds; round++)
    for (const [at, words] of questions.entries()) {
      const took = await milliseconds(installed, words)
      if (round > 0) times[at]?.push(took)
    }
  const cells = times.map((all) => `${median(all).toFixed(0)} (${Math.min(...all).toFixed(0)})`)
  return [one.name, cursors, total(rows), ...cells]
}

await withWarehouses(urls || warehouses, async (all) => {
  const rows: (string | number)[][] = []
  for (const one of all) rows.push(await inFolder((folder) => bench(one, new Installed(folder))))
  print(['warehouse', 'cursors', 'rows', ...questions.map((words) => words.join(' '))], rows)
})
