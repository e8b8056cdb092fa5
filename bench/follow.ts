/**
 * npm run bench -- follow [--seconds 300] [--rate 20] [--warehouses sqlite,postgres]
 *
 * How long a change at the source takes to reach the warehouse: `--rate` changes per second over 60 lists of the
 * sandbox, which sends their events to `shopsync listen`. A change has arrived when the walk that its event rang has
 * ended and its verdict is stored: `settled_at` minus `triggered_at`, both by this machine's clock.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { resources } from '../schema/index.js'
import { toMicros } from '../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox } from '../src/sandbox/index.js'
import { revision } from '../src/sandbox/records/sample.js'
import { startStaying } from '../test/support/harness/listening.js'
import { Installed, inbox, inFolder, options, paced, print, withOpen } from './kit.js'
import { percentile } from './stats.js'
import { empty, withWarehouses } from './warehouse.js'

const { seconds, rate, warehouses } = options({ seconds: 300, rate: 20, warehouses: 'sqlite,postgres' })
/** Each with twelve lists that have events. */
const tenants = 5
const announced = Object.values(resources)
  .filter((resource) => resource.announced)
  .map(({ name }) => name)
const mostWait = 60_000

async function change(sandbox: Sandbox): Promise<number> {
  const cursors = sandbox.tenantIds.flatMap((tenant) => announced.map((resource) => ({ tenant, resource })))
  let changes = 0
  await paced(rate, seconds, (i) => {
    const { tenant = 0, resource = '' } = cursors[Math.floor(Math.random() * cursors.length)] ?? {}
    const ids = sandbox.store.ids(tenant, resource)
    const id = ids[Math.floor(Math.random() * ids.length)]
    if (id === undefined) return
    sandbox.store.change(tenant, resource, id, revision(sandbox.store, tenant, resource, id, i))
    changes++
  })
  await sandbox.delivered()
  return changes
}

/** What the inbox shows once nothing waits any more. */
async function followed(url: string) {
  const at = (stamp: string | null): bigint => toMicros(stamp ?? '')
  for (let waited = 0; ; waited += 500) {
    const events = await inbox(url, (db) => db.selectFrom('sync_events').selectAll().execute())
    const runs = await withOpen(url, (warehouse) =>
      warehouse.db.selectFrom('sync_run_cursors').selectAll().where('mode', '=', 'events').execute(),
    )
    const own = events.filter(({ resource, type }) => resources[resource]?.entity === type)
    const settled = own.filter(({ state }) => state === 'settled')
    const notSettled = own.length - settled.length
    if (notSettled === 0 || waited >= mostWait)
      return {
        waits: settled.map((one) => Number(at(one.settled_at) - at(one.triggered_at)) / 1e6),
        notSettled,
        rings: new Set(events.map((one) => `${one.tenant_id} ${one.resource} ${one.settled_at}`)).size,
        requests: runs.reduce((sum, { requests }) => sum + Number(requests ?? 0), 0),
        verdicts: [...new Set(runs.map(({ completeness }) => String(completeness)))],
      }
    await sleep(500)
  }
}

async function bench(url: string, sandbox: Sandbox, installed: Installed): Promise<(string | number)[]> {
  await empty(url)
  installed.configure(url, sandbox)
  await installed.run(['sync', '--quiet'])
  const { run, url: address } = await startStaying(['listen', '--port', '0'], { cwd: installed.folder })
  sandbox.subscribe(address)
  const changes = await change(sandbox)
  const { waits, notSettled, rings, requests, verdicts } = await followed(url)
  run.kill('SIGTERM')
  await run.ended
  const times = [0.5, 0.99].map((share) => percentile(waits, share).toFixed(2))
  return [changes, notSettled, ...times, rings, (requests / rings).toFixed(2), verdicts.join(', ')]
}

const rows: (string | number)[][] = []
await withWarehouses(warehouses, async (all) => {
  for (const { name, url } of all)
    await inFolder(async (folder) => {
      const sandbox = await createSandbox({ tenants, repairOrders: 200, seed: 7 })
      try {
        rows.push([name, ...(await bench(url, sandbox, new Installed(folder)))])
      } finally {
        await sandbox.close()
      }
    })
})
const times = ['warehouse', 'changes', 'not settled', 'median s', 'p99 s', 'rings']
print([...times, 'requests a ring', 'verdicts'], rows)
