/**
 * npm run bench:status -- [--tenants 500] [--orders 60] [--rounds 11] [--warehouses sqlite,postgres]
 *                         [--urls sqlite:/tmp/kept.db,postgres://postgres@127.0.0.1:5432/postgres]
 *
 * How long the whole process of `shopsync status` takes, over a warehouse of many tenants that the program has loaded
 * from a sandbox: medians in milliseconds, next to those of `shopsync --version`, which only starts. Warehouses of
 * `--urls` are kept, and loaded if they are empty.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { resources } from '../schema/index.js'
import { rootTable } from '../src/engine/warehouse/database.js'
import { plannedChanges } from '../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { createSandbox } from '../src/sandbox/index.js'
import { model } from '../test/support/harness/model.js'
import { root } from '../test/support/harness/tree.js'
import { median } from './stats.js'
import { type BenchWarehouse, schema, withKept } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    tenants: { type: 'string', default: '500' },
    orders: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '11' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    urls: { type: 'string' },
  },
})
const known = model(resources)
const folder = mkdtempSync(join(tmpdir(), 'shopsync-status-'))

/** Returns milliseconds. A status that finds problems is a status, too. */
async function timed(...words: string[]): Promise<number> {
  const start = performance.now()
  await new Promise<void>((resolve, reject) => {
    execFile(
      process.execPath,
      [join(root, 'dist/bin/shopsync.js'), ...words],
      { cwd: folder, maxBuffer: 1e9 },
      (error, _stdout, stderr) =>
        error && error.code !== 1 ? reject(new Error(stderr.slice(0, 2000), { cause: error })) : resolve(),
    )
  })
  return performance.now() - start
}

const configure = (url: string, api: object): void =>
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ api, warehouse: { url, schema } }))

async function sizeOf({ url }: BenchWarehouse): Promise<{ cursors: number; rows: number }> {
  const warehouse = await openWarehouse({ url, schema, model: known })
  try {
    if ((await plannedChanges(warehouse)).length > 0) return { cursors: 0, rows: 0 }
    const count = async (name: string): Promise<number> => {
      const row = await warehouse.db
        .selectFrom(rootTable({ name }))
        .select(sql<number>`count(*)`.as('n'))
        .executeTakeFirst()
      return Number(row?.n ?? 0)
    }
    let rows = 0
    for (const { tables } of known.list) for (const { name } of tables) rows += await count(name)
    return { cursors: await count('sync_cursors'), rows }
  } finally {
    await warehouse.close()
  }
}

async function load({ name, url }: BenchWarehouse): Promise<void> {
  const sandbox = await createSandbox({
    tenants: Number(options.tenants),
    repairOrders: Number(options.orders),
  })
  try {
    const { partnerId, secret } = sandbox
    configure(url, { baseUrl: sandbox.url, partnerId, secret })
    const took = await timed('sync', '--quiet')
    process.stderr.write(`${name}: loaded in ${Math.round(took / 1000)} s\n`)
  } finally {
    await sandbox.close()
  }
}

async function bench(one: BenchWarehouse): Promise<string> {
  if ((await sizeOf(one)).rows === 0) await load(one)
  else configure(one.url, { baseUrl: 'http://127.0.0.1:1', partnerId: '1', secret: 'bench-secret' })
  const { cursors, rows } = await sizeOf(one)
  const questions = [['--version'], ['status'], ['status', '--failing'], ['status', '--json']]
  const times = questions.map((): number[] => [])
  for (let round = 0; round <= Number(options.rounds); round++)
    for (const [at, words] of questions.entries()) {
      const took = await timed(...words)
      if (round > 0) times[at]?.push(took)
    }
  const cells = times.map((all) => `${median(all).toFixed(0)} (${Math.min(...all).toFixed(0)})`)
  return `| ${[one.name, cursors, rows, ...cells].join(' | ')} |\n`
}

try {
  await withKept(options, async (warehouses) => {
    const lines: string[] = []
    for (const one of warehouses) lines.push(await bench(one))
    process.stdout.write(
      `| warehouse | cursors | rows | --version | status | status --failing | status --json |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n${lines.join('')}`,
    )
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
