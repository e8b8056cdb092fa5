/**
 * npm run bench -- accept [--seconds 60] [--rate 500] [--orders 20000] [--warehouses sqlite,postgres]
 *
 * How long an event waits for its answer: `--rate` events per second of 2 to 20 kB, for `--seconds`, sent to a
 * `shopsync listen` process; with no other load, and during `shopsync sync --full` of this many repair orders. Each
 * event is sent at its own time, whatever happened to the earlier ones, and its wait counts from then. Every answered
 * event must be in the inbox.
 */
import { Pool } from 'undici'
import { startStaying } from '../test/support/harness/listening.js'
import { Installed, inbox, inFolder, options, paced, print } from './kit.js'
import { BenchSource } from './source/source.js'
import { percentile } from './stats.js'
import { empty, withWarehouses } from './warehouse.js'

const { seconds, rate, orders, warehouses } = options({
  seconds: 60,
  rate: 500,
  orders: 20_000,
  warehouses: 'sqlite,postgres',
})
const tenants = 4
const secret = 'bench-secret'
const smallest = 2000
const largest = 20_000

/** Events of a round: `prefix` keeps their ids apart. */
async function send(url: string, prefix: string) {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: 64 })
  const headers = { 'x-api-secret': secret, 'content-type': 'application/json' }
  const waits: number[] = []
  const answered = new Set<string>()
  let refused = 0
  const under = new Set<Promise<void>>()
  const answer = async (id: string, i: number, due: number): Promise<void> => {
    try {
      const sent = await pool.request({ method: 'POST', path, headers, body: bodyOf(id, i) })
      await sent.body.dump()
      waits.push(performance.now() - due)
      if (sent.statusCode === 200) answered.add(id)
      else refused++
    } catch {
      refused++
    }
  }
  await paced(rate, seconds, (i, due) => {
    const sent = answer(`${prefix} ${i}`, i, due).finally(() => under.delete(sent))
    under.add(sent)
  })
  await Promise.all(under)
  await pool.close()
  return { waits, answered, refused }
}

const filling = 'x'.repeat(largest)

const bodyOf = (id: string, i: number): string =>
  JSON.stringify({
    id,
    timestamp: new Date().toISOString(),
    event: 'repair_order.updated',
    payload: {
      type: 'RepairOrder',
      id: 1 + (i % 100),
      tenant_id: 1 + (i % tenants),
      // Without a version, any walk settles it: only the answer is measured.
      data: { detail: filling.slice(0, smallest + ((i * 7919) % (largest - smallest))) },
    },
  })

async function lost(warehouse: string, prefix: string, answered: ReadonlySet<string>): Promise<number> {
  const rows = await inbox(warehouse, (db) =>
    db.selectFrom('sync_events').select('event_id').where('event_id', 'like', `${prefix} %`).execute(),
  )
  const there = new Set(rows.map(({ event_id }) => event_id))
  return [...answered].filter((id) => !there.has(id)).length
}

/** The cells of one row. */
async function measured(installed: Installed, url: string, beside: string): Promise<(string | number)[]> {
  const { run, url: address } = await startStaying(['listen', '--port', '0'], { cwd: installed.folder })
  // One full load after the other, until the events are sent.
  let isOver = beside === 'nothing'
  const loads = (async () => {
    while (!isOver) await installed.run(['sync', '--full', '--quiet'])
  })()
  const { waits, answered, refused } = await send(address, beside)
  isOver = true
  await loads
  const gone = await lost(url, beside, answered)
  run.kill('SIGTERM')
  await run.ended
  const ms = [0.5, 0.99].map((share) => percentile(waits, share).toFixed(1))
  return [beside, waits.length, gone, refused, ...ms]
}

using source = await BenchSource.start(tenants, orders / tenants, 'lifelike')
const rows: (string | number)[][] = []
await withWarehouses(warehouses, async (all) => {
  for (const { name, url } of all)
    await inFolder(async (folder) => {
      await empty(url)
      const installed = new Installed(folder)
      installed.configure(url, source)
      await installed.run(['sync', '--quiet'])
      for (const beside of ['nothing', 'sync --full'])
        rows.push([name, ...(await measured(installed, url, beside))])
    })
})
print(['warehouse', 'beside', 'sent', 'lost', 'refused', 'median ms', 'p99 ms'], rows)
