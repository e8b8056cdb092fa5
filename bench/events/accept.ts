/**
 * npm run bench:accept -- [--seconds 60] [--rate 500] [--orders 20000] [--warehouses sqlite,postgres]
 *
 * How long an event waits for its answer: `--rate` events per second of 2 to 20 kB, for `--seconds`, sent to a
 * `shopsync listen` process; with no other load, and during `shopsync sync --full` of this many repair orders. Each
 * event is sent at its own time, whatever happened to the earlier ones, and its wait counts from then. Every answered
 * event must be in the inbox.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { residentMegabytes } from '../processes.js'
import { BenchSource } from '../source/source.js'
import { withWarehouses } from '../warehouse.js'
import { ended, Installed, percentile } from './listening.js'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '500' },
    orders: { type: 'string', default: '20000' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
  },
})
const tenants = 4
const smallest = 2000
const largest = 20_000

interface Accepted {
  readonly waits: readonly number[]
  readonly answered: ReadonlySet<string>
  readonly refused: number
}

/** Events of a round: `prefix` keeps their ids apart. */
async function send(url: string, secret: string, prefix: string): Promise<Accepted> {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: 64 })
  const headers = { 'x-api-secret': secret, 'content-type': 'application/json' }
  const [count, gap] = [Number(options.rate) * Number(options.seconds), 1000 / Number(options.rate)]
  const waits: number[] = []
  const answered = new Set<string>()
  let refused = 0
  const under = new Set<Promise<void>>()
  const start = performance.now()
  for (let i = 0; i < count; i++) {
    const at = start + i * gap
    if (performance.now() < at) await sleep(at - performance.now())
    const id = `${prefix} ${i}`
    const body = bodyOf(id, i)
    const sent = pool
      .request({ method: 'POST', path, headers, body })
      .then(async ({ statusCode, body: answer }) => {
        await answer.dump()
        waits.push(performance.now() - at)
        if (statusCode === 200) answered.add(id)
        else refused++
      })
      .catch(() => {
        refused++
      })
      .finally(() => under.delete(sent))
    under.add(sent)
  }
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
      data: {
        detail: filling.slice(0, smallest + ((i * 7919) % (largest - smallest))),
      },
    },
  })

async function lost(installed: Installed, prefix: string, answered: ReadonlySet<string>): Promise<number> {
  const rows = await installed.ask((inbox) =>
    inbox.read((db) =>
      db.selectFrom('sync_events').select('event_id').where('event_id', 'like', `${prefix} %`).execute(),
    ),
  )
  const there = new Set(rows.map(({ event_id }) => event_id))
  return [...answered].filter((id) => !there.has(id)).length
}

async function main(): Promise<void> {
  const source = await BenchSource.start(tenants, Number(options.orders) / tenants, 'lifelike')
  const target = { baseUrl: source.url, partnerId: '42', secret: 'bench-secret' }
  process.stdout.write(
    '| warehouse | beside | sent | lost | refused | median ms | p99 ms | memory MB: begin, a third, end |\n',
  )
  process.stdout.write('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n')
  try {
    await withWarehouses((options.warehouses ?? '').split(','), async (warehouses) => {
      for (const warehouse of warehouses) {
        const installed = new Installed(warehouse, target)
        try {
          await installed.prepare()
          for (const beside of ['nothing', 'sync --full'] as const) {
            const { child, url } = await installed.listen()
            const memory = [residentMegabytes(child.pid ?? 0)]
            const midway = setTimeout(
              () => memory.push(residentMegabytes(child.pid ?? 0)),
              (Number(options.seconds) * 1000) / 3,
            )
            const load = beside === 'nothing' ? undefined : fullLoads(installed)
            const { waits, answered, refused } = await send(url, target.secret, beside)
            await load?.end()
            clearTimeout(midway)
            memory.push(residentMegabytes(child.pid ?? 0))
            const gone = await lost(installed, beside, answered)
            await ended(child)
            const ms = [0.5, 0.99].map((share) => percentile(waits, share).toFixed(1)).join(' | ')
            process.stdout.write(
              `| ${warehouse.name} | ${beside} | ${waits.length} | ${gone} | ${refused} | ${ms} | ${memory.map((mb) => mb.toFixed(0)).join(', ')} |\n`,
            )
          }
        } finally {
          installed.remove()
        }
      }
    })
  } finally {
    source.stop()
  }
}

/** One full load after the other, until the events are sent. */
function fullLoads(installed: Installed): { end(): Promise<void> } {
  let isOver = false
  const going = (async () => {
    while (!isOver) await installed.run('sync', '--full', '--quiet')
  })()
  return {
    end: async () => {
      isOver = true
      await going
    },
  }
}

await main()
