/**
 * npm run bench:follow -- [--seconds 300] [--rate 20] [--warehouses sqlite,postgres]
 *
 * How long a change at the source takes to reach the warehouse: `--rate` changes per second over 60 lists of the
 * sandbox, which sends their events to `shopsync listen`. A change has arrived when the walk that its event rang has
 * ended and its verdict is stored: `settled_at` minus `triggered_at`, both by this machine's clock. The processor time
 * is the listener's, without the database server's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { resources } from '../../schema/index.js'
import { toMicros } from '../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.js'
import { revision } from '../../src/sandbox/records/sample.js'
import { processorSeconds } from '../processes.js'
import { withWarehouses } from '../warehouse.js'
import { ended, Installed, percentile } from './listening.js'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    rate: { type: 'string', default: '20' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
  },
})
/** Each with twelve lists that have events. */
const tenants = 5
const announced = Object.values(resources)
  .filter((resource) => resource.announced)
  .map(({ name }) => name)
const mostWait = 60_000

async function change(sandbox: Sandbox): Promise<number> {
  const cursors = sandbox.tenantIds.flatMap((tenant) => announced.map((resource) => ({ tenant, resource })))
  const [count, gap] = [Number(options.rate) * Number(options.seconds), 1000 / Number(options.rate)]
  const start = performance.now()
  let changes = 0
  for (let i = 0; i < count; i++) {
    const at = start + i * gap
    if (performance.now() < at) await sleep(at - performance.now())
    const { tenant, resource } = cursors[Math.floor(Math.random() * cursors.length)] ?? {
      tenant: 0,
      resource: '',
    }
    const ids = sandbox.store.ids(tenant, resource)
    const id = ids[Math.floor(Math.random() * ids.length)]
    if (id === undefined) continue
    sandbox.store.change(tenant, resource, id, revision(sandbox.store, tenant, resource, id, i))
    changes++
  }
  await sandbox.delivered()
  return changes
}

interface Followed {
  readonly waits: readonly number[]
  readonly notSettled: number
  readonly rings: number
  readonly requests: number
  readonly verdicts: readonly string[]
}

/** What the inbox shows once nothing waits any more. */
async function followed(installed: Installed): Promise<Followed> {
  for (let waited = 0; ; waited += 500) {
    const found = await installed.ask(async (inbox, warehouse) => {
      const events = await inbox.read((db) =>
        db
          .selectFrom('sync_events')
          .select(['tenant_id', 'resource', 'type', 'state', 'triggered_at', 'settled_at'])
          .execute(),
      )
      const runs = await warehouse.read((db) =>
        db.selectFrom('sync_run_cursors').selectAll().where('mode', '=', 'events').execute(),
      )
      const own = events.filter(({ resource, type }) => resources[resource]?.entity === type)
      const settled = own.filter(({ state }) => state === 'settled')
      const rings = new Set(
        events.map(({ tenant_id, resource, settled_at }) => `${tenant_id} ${resource} ${settled_at}`),
      )
      return {
        waits: settled.map(
          ({ triggered_at, settled_at }) =>
            Number(toMicros(settled_at ?? '') - toMicros(triggered_at ?? '')) / 1e6,
        ),
        notSettled: own.length - settled.length,
        rings: rings.size,
        requests: runs.reduce((sum, { requests }) => sum + Number(requests ?? 0), 0),
        verdicts: [...new Set(runs.map(({ completeness }) => String(completeness)))],
      }
    })
    if (found.notSettled === 0 || waited >= mostWait) return found
    await sleep(500)
  }
}

async function main(): Promise<void> {
  process.stdout.write(
    '| warehouse | changes | not settled | median s | p99 s | rings | requests a ring | processor ms a ring | verdicts |\n',
  )
  process.stdout.write('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n')
  await withWarehouses((options.warehouses ?? '').split(','), async (warehouses) => {
    for (const warehouse of warehouses) {
      const sandbox = await createSandbox({ tenants, repairOrders: 200, seed: 7 })
      const target = { baseUrl: sandbox.url, partnerId: sandbox.partnerId, secret: sandbox.secret }
      const installed = new Installed(warehouse, target)
      try {
        await installed.prepare()
        const { child, url } = await installed.listen()
        sandbox.subscribe(url)
        const used = (): number => (child.pid === undefined ? 0 : (processorSeconds(child.pid) ?? 0))
        const before = used()
        const changes = await change(sandbox)
        const { waits, notSettled, rings, requests, verdicts } = await followed(installed)
        const milliseconds = ((used() - before) * 1000) / rings
        await ended(child)
        const seconds = [0.5, 0.99].map((share) => percentile(waits, share).toFixed(2)).join(' | ')
        process.stdout.write(
          `| ${warehouse.name} | ${changes} | ${notSettled} | ${seconds} | ${rings} | ${(requests / rings).toFixed(2)} | ${milliseconds.toFixed(1)} | ${verdicts.join(', ')} |\n`,
        )
      } finally {
        installed.remove()
        await sandbox.close()
      }
    }
  })
}

await main()
