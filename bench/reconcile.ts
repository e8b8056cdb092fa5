/**
 * Measures the cost of finding deleted and missing records by counting, and by listing everything. Prints tables and
 * draws docs/reconcile.svg: npm run bench -- reconcile
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromMicros } from '../src/engine/base/timestamp.js'
import { fullCost } from '../src/engine/compare/comparisoncost.js'
import type { RunReport } from '../src/engine/run/runreport.js'
import { createSandbox, template } from '../src/sandbox/index.js'
import { inFolder, print, say } from './kit.js'
import { generator } from './random.js'
import { type Line, plot } from './reconcile/plot.js'
import { type Figures, SimulatedCursor } from './reconcile/simulated.js'
import { type ProductRun, run } from './shopsync.js'

const random = generator(1)

function pick(records: number, count: number): number[] {
  const picked = new Set<number>()
  while (picked.size < count) picked.add(Math.floor(random() * records))
  return [...picked]
}

const count = (value: number): string => String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')

async function deleted(records: number, differences: number): Promise<Figures> {
  return new SimulatedCursor(records, { deleted: pick(records, differences) }, random).compare()
}

/** Repeats one case: a million records, three deleted, two missing. Each repetition uses different cut points. */
async function million(trials: number, cause: 'lost' | 'neverStored'): Promise<void> {
  const requests: number[] = []
  let complete = 0
  for (let n = 0; n < trials; n++) {
    const ids = pick(1_000_000, 5)
    const differences = { deleted: ids.slice(0, 3), [cause]: ids.slice(3) }
    const cursor = new SimulatedCursor(1_000_000, differences, random)
    // Two more requests: the walk before the comparison, and the one for the authorizations.
    requests.push((await cursor.compare()).requests + 2)
    if (cursor.left(ids) === 0) complete++
  }
  requests.sort((a, b) => a - b)
  const share = (part: number): number => requests[Math.min(trials - 1, Math.floor(trials * part))] ?? 0
  const how = cause === 'lost' ? 'lost from the warehouse' : 'never stored'
  say(
    `1,000,000 records, 3 deleted, 2 ${how}, ${trials} times (simulated): median ${share(0.5)} requests, 95th percentile ${share(0.95)}, at most ${share(1)}; all five found in ${Math.round((complete / trials) * 100)} % of the runs`,
  )
}

const timeOf = (id: number): string => fromMicros(1_700_000_000_000_000n + BigInt(id) * 7_000_001n)

/** The program against a sandbox with so many notes, and a warehouse of its own. */
const withNotes = (
  records: number,
  use: (
    ask: (how: Pick<ProductRun, 'mode' | 'ranges'>) => Promise<RunReport>,
    remove: (id: number) => void,
  ) => Promise<void>,
): Promise<void> =>
  inFolder(async (folder) => {
    const sandbox = await createSandbox({ data: 'none' })
    sandbox.store.addTenant({ id: 1 })
    for (let id = 1; id <= records; id++) sandbox.store.put(1, 'notes', template('notes', id, timeOf(id)))
    const { url: baseUrl, secret } = sandbox
    const where = { baseUrl, secret, url: `sqlite:${join(folder, 'w.db')}`, schema: '' }
    await use(
      (how) => run({ ...where, resources: ['notes'], connections: 8, ...how }),
      (id) => void sandbox.store.remove(1, 'notes', id),
    )
    await sandbox.close()
  })

async function real(): Promise<void> {
  await withNotes(60_000, async (ask, remove) => {
    await ask({ mode: 'sync' })
    const quiet = await ask({ mode: 'reconcile' })
    say(`60,000 records, nothing different (real): ${quiet.requests} requests in all`)
    for (const id of [3, 30_000, 59_000]) remove(id)
    const report = await ask({ mode: 'reconcile' })
    const { reconciled } = report.cursors[0] ?? {}
    say(`60,000 records, 3 deleted (real): ${report.requests} requests in all, ${reconciled?.deleted} found`)
  })
  await withNotes(100_000, async (ask) => {
    const report = await ask({ mode: 'backfill', ranges: [{ from: timeOf(40_001), to: timeOf(45_001) }] })
    const { requests, records } = report.cursors[0] ?? {}
    say(`backfill of 5 % of 100,000 records (real): ${requests} requests for ${records} records, 50 pages`)
  })
}

const sizes = [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
const numbers = [0, 1, 3, 10, 30, 100, 300, 1000]
const colours = ['#1b9e77', '#d95f02', '#7570b3', '#e7298a', '#66a61e']

async function grid(): Promise<void> {
  const cells = new Map<string, Figures>()
  for (const records of sizes)
    for (const d of numbers) if (d * 2 <= records) cells.set(`${records} ${d}`, await deleted(records, d))
  const shown = (records: number, d: number): string => {
    const cell = cells.get(`${records} ${d}`)
    return cell ? `${count(cell.requests)}${cell.method === 'listing' ? ' *' : ''}` : ''
  }
  const rows = sizes.map((records) => [
    count(records),
    ...numbers.map((d) => shown(records, d)),
    count(fullCost(records)),
  ])
  say(
    '\nRequests to find d deleted records among N (one for each of them included, to ask for it; * by a full listing):',
  )
  print(['N', ...numbers.map((d) => `d = ${d}`), 'listing'], rows)
  const lines = [0, 1, 10, 100, 1000].map((d, i): Line => {
    const points = sizes.flatMap((records) => {
      const cell = cells.get(`${records} ${d}`)
      return cell ? [[records, cell.requests] as const] : []
    })
    return { name: d === 0 ? 'nothing differs' : `${count(d)} deleted`, colour: colours[i] ?? '#000', points }
  })
  const listing = sizes.map((records) => [records, fullCost(records)] as const)
  const title = 'Requests to find deleted records: counting against listing everything'
  writeFileSync(
    'docs/reconcile.svg',
    plot(title, [...lines, { name: 'full listing', colour: '#666', points: listing, dashed: true }]),
  )
}

/** Finds the number of deletions up to which counting costs less than listing. */
async function crossover(): Promise<void> {
  const rows: string[][] = []
  for (const records of [1000, 10_000, 100_000, 1_000_000]) {
    let [low, high] = [0, records]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((await deleted(records, middle)).method === 'counting') low = middle
      else high = middle - 1
    }
    rows.push([count(records), count(low), count(fullCost(records))])
  }
  say('\nCrossover: up to about so many deletes counting is chosen, beyond a full listing:')
  print(['N', 'deletes', 'requests of a listing'], rows)
}

await million(300, 'lost')
await million(300, 'neverStored')
await real()
await grid()
await crossover()
