/**
 * Law 3 (crash) with real processes: the program is killed at random instants, started again and killed again, while the
 * source keeps changing in between. After a run that ends by itself, the warehouse is the same as one made without any
 * of this. It kills the program itself, and on SQLite two scripts that leave every page, or none, to the writer thread.
 * KILLS=… sets how often.
 */
import { expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sample, sized } from '../support/harness/size.js'
import { bothWarehouses, contents, type Kind, reopen, sqliteBothWays } from '../support/harness/warehouse.js'
import { orderText, workerScript } from '../support/harness/worker.js'
import { registersAgree } from '../support/oracle/registers.js'
import { randomFrom } from '../support/world/random.js'

const { KILLS } = process.env
const kills = Number(KILLS ?? sized(1, 25))
const seed = sized(7, 11)
const resources = ['repair_orders', 'notes', 'customers']
/** Some pages of each list, of which what the shops do concerns many. */
const [pageSize, repairOrders, changes] = sized([40, 100, 60], [100, 450, 300])
/** The first half of a short run is the start of its process. */
const earliest = sized(0.5, 0)
/** What shops do, but for deletions: what a warehouse has never seen, no sync removes from the other one. */
function change({ work, store, tenantIds: [tenant = 0] }: Sandbox): void {
  work(changes)
  for (const { resource, entry } of store.tenant(tenant).buried.splice(0))
    store.putText(tenant, resource, entry.text, entry.key, entry.micros)
}

/** How to start a run in its own process on a warehouse. */
interface Starter {
  readonly way: string
  readonly kind: Kind
  readonly start: (sandbox: Sandbox, address: Address) => Program
}

const configured = (sandbox: Sandbox, address: Address): string =>
  configure(sandbox, address, resources, { api: { pageSize } })

const asShipped = (sandbox: Sandbox, address: Address): Program =>
  new Program(program, ['sync', '--config', configured(sandbox, address), '--json', '--quiet'])

const asWorker = (sandbox: Sandbox, warehouse: Address): Program =>
  new Program(workerScript, [orderText({ sandbox, warehouse, resources, concurrency: 4, pageSize })])

const starters: Starter[] = [
  ...bothWarehouses().map((kind) => ({ way: `${kind.name}, the program`, kind, start: asShipped })),
  // The program itself writes most pages without the thread.
  ...sample(sqliteBothWays()).map(([way, kind]) => ({ way, kind, start: asWorker })),
]
it.each(starters)(
  `$way: is the same after ${kills} kills at random instants`,
  {
    timeout: 3_600_000,
  },
  async ({ kind, start }) => {
    const random = randomFrom(seed)
    const sandbox = await sandboxOfFile({ tenants: 1, repairOrders, seed })
    // In `npm test`, the kill falls on the run, and not on what makes the tables.
    const made = async (): Promise<Address> => sized(await kind.viewed(), kind.address())
    const [address, other] = [await made(), await made()]
    const finish = async (at: Address): Promise<void> => {
      const ended = await start(sandbox, at).ended
      expect(ended.code, ended.stderr + ended.stdout).toBe(0)
      if (kind.threadFrom === undefined) return
      const { pagesToThreads } = ended.json<{ pagesToThreads: number }>()
      expect(pagesToThreads > 0).toBe(kind.threadFrom === 0)
    }
    const began = performance.now()
    await finish(other)
    const whole = performance.now() - began
    let cut = 0
    while (cut < kills) {
      for (let i = 0; i < 4 && cut < kills; i++) {
        const run = start(sandbox, address)
        const at = 100 + (earliest + random() * (1 - earliest)) * whole
        const timer = setTimeout(() => run.kill('SIGKILL'), at)
        const ended = await run.ended
        clearTimeout(timer)
        if (ended.signal === 'SIGKILL') cut++
        else expect(ended.code, ended.stderr + ended.stdout).toBe(0)
      }
      change(sandbox)
      await Promise.all([finish(address), finishHere(sandbox, other)])
      await expectSame(address, other, `after ${cut} kills`)
    }
    expect(cut).toBeGreaterThanOrEqual(kills)
  },
)

/** The undisturbed warehouse needs no process of its own. */
async function finishHere(sandbox: Sandbox, at: Address): Promise<void> {
  const { code, stderr } = await shopsync(['sync', '--quiet', '--config', configured(sandbox, at)])
  expect(code, stderr).toBe(0)
}

async function expectSame(address: Address, other: Address, when: string): Promise<void> {
  const [mine, wanted] = [await reopen(address), await reopen(other)]
  expect(await contents(mine), when).toEqual(await contents(wanted))
  await registersAgree(mine, resources.length)
  await mine.close()
  await wanted.close()
}
