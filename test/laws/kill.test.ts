/**
 * Law 3 (crash) with real processes: the program is killed while it works, started again and killed again, while the
 * source keeps changing in between. After a run that ends by itself, the warehouse is the same as one made without any
 * of this. It kills the program itself, and on SQLite two scripts that leave every page, or none, to the writer thread.
 * KILLS=… sets how often.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { isWhole, sample, sized } from '../support/harness/size.js'
import { bothWarehouses, contents, type Kind, reopen, sqliteBothWays } from '../support/harness/warehouse.js'
import { orderText, workerScript } from '../support/harness/worker.js'
import { registersAgree } from '../support/oracle/registers.js'
import { randomFrom } from '../support/world/random.js'

const { KILLS } = process.env
const kills = Number(KILLS ?? sized(1, 25))
const seed = sized(7, 11)
const resources = ['repair_orders', 'notes', 'customers']
/** Some pages of each list, of which what the shops do concerns many. */
const [pageSize, repairOrders, changes] = sized([20, 40, 30], [100, 450, 300])

/** What shops do, but for deletions: what a warehouse has never seen, no sync removes from the other one. */
function change({ work, store, tenantIds: [tenant = 0] }: Sandbox): void {
  work(changes)
  for (const { resource, entry } of store.tenant(tenant).buried.splice(0))
    store.putText(tenant, resource, entry.text, entry.key, entry.micros)
}

const configured = (sandbox: Sandbox, address: Address): string =>
  configure(sandbox, address, resources, { api: { pageSize } })

/** A run in its own process. */
type Start = (sandbox: Sandbox, warehouse: Address) => Program

const asShipped: Start = (sandbox, address) =>
  new Program(program, ['sync', '--config', configured(sandbox, address), '--json', '--quiet'])

const asWorker: Start = (sandbox, warehouse) =>
  new Program(workerScript, [orderText({ sandbox, warehouse, resources, concurrency: 4, pageSize })])

const starters: readonly [way: string, kind: Kind, start: Start][] = [
  ...bothWarehouses().map((kind): [string, Kind, Start] => [`${kind.name}, the program`, kind, asShipped]),
  // The program itself writes most pages without the thread.
  ...sample(sqliteBothWays()).map(([way, kind]): [string, Kind, Start] => [way, kind, asWorker]),
]
it.each(starters)(
  `%s: is the same after ${kills} kills at random moments`,
  { timeout: 3_600_000 },
  async (_way, kind, start) => {
    const random = randomFrom(seed)
    const sandbox = await sandboxOfFile({ tenants: 1, repairOrders, seed })
    // In `npm test`, the kill falls on the run, and not on what makes the tables.
    const [address, other] = await Promise.all([0, 1].map(() => (isWhole() ? kind.address() : kind.viewed())))
    const finish = async (): Promise<void> => {
      const ended = await start(sandbox, address!).ended
      expect(ended.code, ended.stderr + ended.stdout).toBe(0)
      if (kind.threadFrom === undefined) return
      const { pagesToThreads } = ended.json<{ pagesToThreads: number }>()
      expect(pagesToThreads > 0).toBe(kind.threadFrom === 0)
    }
    let requests = await undisturbed(sandbox, other!)
    for (let cut = 0; cut < kills; ) {
      for (let i = 0; i < 4 && cut < kills; i++)
        if (await killed(sandbox, start(sandbox, address!), 1 + random() * requests, random() * 100)) cut++
      change(sandbox)
      await finish()
      requests = await undisturbed(sandbox, other!)
      await expectSame(address!, other!, `after ${cut} kills`)
    }
  },
)

/** Kills a run some milliseconds after its nth request; false if it has ended before. */
async function killed(sandbox: Sandbox, run: Program, nth: number, later: number): Promise<boolean> {
  let n = 0
  const off = sandbox.onRequest(() => {
    if (++n === Math.floor(nth)) void sleep(later).then(() => run.kill('SIGKILL'))
  })
  const { signal, code, stderr, stdout } = await run.ended
  off()
  if (signal !== 'SIGKILL') expect(code, stderr + stdout).toBe(0)
  return signal === 'SIGKILL'
}

/** The other warehouse needs no process of its own. Returns how many requests its run has sent. */
async function undisturbed(sandbox: Sandbox, at: Address): Promise<number> {
  sandbox.resetRequests()
  const { code, stderr } = await shopsync(['sync', '--quiet', '--config', configured(sandbox, at)])
  expect(code, stderr).toBe(0)
  return sandbox.requests.length
}

async function expectSame(address: Address, other: Address, when: string): Promise<void> {
  const [mine, wanted] = [await reopen(address), await reopen(other)]
  expect(await contents(mine), when).toEqual(await contents(wanted))
  await registersAgree(mine, resources.length)
}
