/**
 * npm run bench:due -- [--tenants 10000] [--rounds 20] [--polls 1000] [--warehouses sqlite,postgres]
 *
 * Rounds of `shopsync sync --due` over the idle lists of many tenants, one after the other in one process, as `shopsync
 * schedule` has them: what it takes to choose a thousand lists among hundreds of thousands, the memory of the process, and
 * what the rounds leave in sync_run_cursors. The warehouse is filled by SQL; the source is a process that answers. The
 * first round asks for all authorizations.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { resources } from '../schema/index.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { compiledOf } from '../test/support/harness/compiled.js'
import { model } from '../test/support/harness/model.js'
import type { RoundInRow } from './freshness/roundsinrow.js'
import { fillIdle } from './idlelists.js'
import { BenchSource } from './source/source.js'
import { median } from './stats.js'
import { type BenchWarehouse, schema, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    tenants: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '20' },
    polls: { type: 'string', default: '1000' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
  },
})
const known = model(resources)
const tenants = Number(options.tenants)
/** A one-minute round may use a sixtieth of the hourly limit, minus a tenth for pages beyond the first. */
const limit = Math.round((Number(options.polls) * 60) / 0.9)

async function withOpen<T>({ url }: BenchWarehouse, use: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse({ url, schema, model: known })
  try {
    return await use(warehouse)
  } finally {
    await warehouse.close()
  }
}

const count = (warehouse: Warehouse, table: 'sync_cursors' | 'sync_run_cursors'): Promise<number> =>
  warehouse.read(async (db) => {
    const row = await db.selectFrom(table).select(db.fn.countAll().as('n')).executeTakeFirst()
    return Number(row?.n ?? 0)
  })

function configure(folder: string, { url }: BenchWarehouse, baseUrl: string): void {
  const config = {
    api: { baseUrl, partnerId: '42', secret: 'bench-secret', rateReserve: 0 },
    warehouse: url.startsWith('sqlite:') ? { url } : { url, schema },
    targets: { '*': 'PT6H', repair_orders: 'PT15M', payments: 'PT1H' },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
}

async function rounds(folder: string): Promise<RoundInRow[]> {
  const words = [compiledOf('bench/freshness/roundsinrow.ts'), folder, options.rounds]
  const { stdout } = await promisify(execFile)(process.execPath, words, { maxBuffer: 1e9 })
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RoundInRow)
}

async function bench(one: BenchWarehouse): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-due-'))
  const source = await BenchSource.start(tenants, 1, 'tidy', limit)
  try {
    configure(folder, one, source.url)
    await promisify(execFile)(process.execPath, [compiledOf('src/entry.ts'), 'migrate'], { cwd: folder })
    const lists = await withOpen(one, async (warehouse) => {
      await fillIdle(warehouse, tenants)
      return count(warehouse, 'sync_cursors')
    })
    const all = await rounds(folder)
    const rows = await withOpen(one, async (warehouse) => count(warehouse, 'sync_run_cursors'))
    if (all.some(({ status }) => status !== 'ok')) throw new Error('A round was not ok')
    const sum = (of: 'polls' | 'requests'): number => all.reduce((total, round) => total + round[of], 0)
    const [first] = all
    const cells = [
      ...[one.name, lists, all.length, sum('polls'), sum('requests'), rows],
      ...[first?.choosing.toFixed(2), median(all.slice(1).map(({ choosing }) => choosing)).toFixed(2)],
      ...[median(all.slice(1).map(({ choosingCpu }) => choosingCpu)).toFixed(2)],
      ...[median(all.slice(1).map(({ seconds }) => seconds)).toFixed(1)],
      ...[first?.peak.toFixed(0), all.at(-1)?.peak.toFixed(0), all.at(-1)?.megabytes.toFixed(0)],
    ]
    return `| ${cells.join(' | ')} |\n`
  } finally {
    source.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await withWarehouses(options.warehouses.split(','), async (warehouses) => {
  const lines: string[] = []
  for (const one of warehouses) lines.push(await bench(one))
  process.stdout.write(
    `| warehouse | lists | rounds | polls | requests | rows in sync_run_cursors | s to choose, first | s to choose | CPU s to choose | s a round | peak MB, first | peak MB | MB at the end |\n| --- |${' ---: |'.repeat(12)}\n${lines.join('')}`,
  )
})
