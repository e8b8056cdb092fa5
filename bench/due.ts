/**
 * npm run bench -- due [--tenants 10000] [--rounds 20] [--polls 1000] [--warehouses sqlite,postgres]
 *
 * Rounds of `shopsync sync --due` over the idle lists of many tenants, one after the other in one process, as `shopsync
 * schedule` has them: what it takes to choose a thousand lists among hundreds of thousands, the memory of the process, and
 * what the rounds leave in sync_run_cursors. The warehouse is filled by SQL; the source is a process that answers. The
 * first round asks for all authorizations.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { compiledOf } from '../test/support/harness/compiled.js'
import type { RoundInRow } from './freshness/roundsinrow.js'
import { fillIdle } from './idlelists.js'
import { Installed, inFolder, options, print, withOpen } from './kit.js'
import { BenchSource } from './source/source.js'
import { median } from './stats.js'
import { type BenchWarehouse, withWarehouses } from './warehouse.js'

const { tenants, rounds, polls, warehouses } = options({
  tenants: 10_000,
  rounds: 20,
  polls: 1000,
  warehouses: 'sqlite,postgres',
})
/** A one-minute round may use a sixtieth of the hourly limit, minus a tenth for pages beyond the first. */
const limit = Math.round((polls * 60) / 0.9)
const targets = { '*': 'PT6H', repair_orders: 'PT15M', payments: 'PT1H' }

const count = (url: string, table: 'sync_cursors' | 'sync_run_cursors'): Promise<number> =>
  withOpen(url, (warehouse) =>
    warehouse.read(async (db) => {
      const row = await db.selectFrom(table).select(db.fn.countAll().as('n')).executeTakeFirst()
      return Number(row?.n ?? 0)
    }),
  )

async function roundsIn(folder: string): Promise<RoundInRow[]> {
  const words = [compiledOf('bench/freshness/roundsinrow.ts'), folder, String(rounds)]
  const { stdout } = await promisify(execFile)(process.execPath, words, { maxBuffer: 1e9 })
  const lines = stdout.trim().split('\n')
  return lines.map((line) => JSON.parse(line) as RoundInRow)
}

const bench = ({ name, url }: BenchWarehouse): Promise<(string | number)[]> =>
  inFolder(async (folder) => {
    using source = await BenchSource.start(tenants, 1, 'tidy', limit)
    const installed = new Installed(folder)
    installed.configure(url, source, { targets })
    await installed.run(['migrate'])
    await withOpen(url, (warehouse) => fillIdle(warehouse, tenants))
    const lists = await count(url, 'sync_cursors')
    const all = await roundsIn(folder)
    if (all.some(({ status }) => status !== 'ok')) throw new Error('A round was not ok')
    const sum = (of: 'polls' | 'requests'): number => all.reduce((total, round) => total + round[of], 0)
    const middle = (of: 'choosing' | 'choosingCpu' | 'seconds'): number =>
      median(all.slice(1).map((round) => round[of]))
    const [first, last] = [all[0], all.at(-1)]
    const asked = [name, lists, all.length, sum('polls'), sum('requests')]
    const rows = await count(url, 'sync_run_cursors')
    const choosing = [first?.choosing ?? 0, middle('choosing'), middle('choosingCpu')]
    const memory = [first?.peak ?? 0, last?.peak ?? 0, last?.megabytes ?? 0]
    const figures = [...choosing.map((one) => one.toFixed(2)), middle('seconds').toFixed(1)]
    return [...asked, rows, ...figures, ...memory.map((one) => one.toFixed(0))]
  })

await withWarehouses(warehouses, async (all) => {
  const rows: (string | number)[][] = []
  for (const one of all) rows.push(await bench(one))
  const asked = ['warehouse', 'lists', 'rounds', 'polls', 'requests', 'rows in sync_run_cursors']
  const choosing = ['s to choose, first', 's to choose', 'CPU s to choose', 's a round']
  print([...asked, ...choosing, 'peak MB, first', 'peak MB, last', 'MB at the end'], rows)
})
