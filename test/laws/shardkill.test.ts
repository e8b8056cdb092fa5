/**
 * Equality with shards in real processes: three shards, of which in each round, while the source changes, one is killed, one is
 * told to end, and one is stopped until its lease is over and another has taken its tenants; it commits nothing when it
 * wakes. At each commit, the only holder of the tenant is who commits. When all have worked to their ends, the warehouse is
 * the same as that of a single process that nobody disturbed. ROUNDS=… sets how many there are.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { hasTenant, shardIndex } from '../../src/engine/base/shard.js'
import { type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import { bothWarehouses, contents, reopen, rowsOf } from '../support/harness/warehouse.js'
import { expectOneWriter, named, recordCommits } from '../support/oracle/commits.js'
import { registersAgree } from '../support/oracle/registers.js'
import { randomFrom } from '../support/world/random.js'

const { ROUNDS } = process.env
const rounds = Number(ROUNDS ?? sized(1, 40))
const seed = sized(7, 11)
const resources = ['repair_orders', 'notes', 'customers']
const tenants = [1, 2, 3]
const of = 3
const base = Date.parse('2026-03-01T00:00:00Z')
const time = (n: number): string => new Date(base + n * 1000).toISOString()

/** What the nth round changes: in each tenant two pages of notes, orders with other children, a new customer. */
function change({ store }: Sandbox, round: number): void {
  const at = (n: number): string => time(1000 * round + n)
  for (const tenant of tenants) {
    for (let id = 1; id <= 150; id++)
      store.put(tenant, 'notes', { ...template('notes', id, at(id)), description: `round ${round}` })
    for (let id = 1; id <= 40; id++) {
      const services = [serviceTemplate(100_000 * round + id, at(id))]
      store.put(tenant, 'repair_orders', { ...template('repair_orders', id, at(id)), services })
    }
    store.put(tenant, 'customers', template('customers', round, at(1)))
  }
}

const sandbox = await sandboxOfFile()
const kind = bothWarehouses().find(({ name }) => name === 'postgres')
it(`after ${rounds} rounds of kills, the warehouse of three shards is that of one process`, {
  timeout: 3_600_000,
}, async () => {
  if (!kind) throw new Error('There is no Postgres')
  const [address, other] = [await kind.viewed(), await kind.viewed()]
  await recordCommits(address, resources)
  const random = randomFrom(seed)
  const suite = new Shards(sandbox, address)
  sandbox.reset()
  for (const id of tenants) sandbox.store.addTenant({ id })
  for (let round = 1; round <= rounds; round++) {
    change(sandbox, round)
    await suite.disturbed(random)
  }
  const alone = configure(sandbox, other, resources)
  const both = async (...words: string[]): Promise<void> => {
    await suite.finish(...words)
    const ended = await shopsync([...words, '--config', alone, '--quiet'])
    expect(ended.code, ended.stderr).toBe(0)
  }
  await both('sync')
  if (rounds > 1) {
    for (const tenant of tenants) sandbox.store.remove(tenant, 'customers', 1)
    await both('reconcile', '--full')
  }
  const [mine, wanted] = [await reopen(address), await reopen(other)]
  expect(await contents(mine)).toEqual(await contents(wanted))
  await registersAgree(mine, resources.length * tenants.length)
  expect(await expectOneWriter(address, suite.pids)).toBeGreaterThan(of)
  const runs = new Map((await rowsOf(mine, 'sync_runs')).map(({ run_id, shard }) => [run_id, shard]))
  for (const { run_id, tenant_id } of await rowsOf(mine, 'sync_requests')) {
    const [index = 0, count = 1] = String(runs.get(run_id) ?? '0/1')
      .split('/')
      .map(Number)
    expect(hasTenant({ index, of: count }, Number(tenant_id)), `${run_id} of ${index}/${count}`).toBe(true)
  }
  await mine.close()
  await wanted.close()
})

class Shards {
  /** By the name of its connections. */
  readonly pids = new Map<string, number | undefined>()

  constructor(
    private readonly sandbox: Sandbox,
    private readonly address: Address,
  ) {}

  start(words: readonly string[], shard?: string): Program {
    const flags = shard === undefined ? [] : ['--shard', shard]
    const name = `p${this.pids.size}`
    const how = { sync: { concurrency: 1 } }
    const config = configure(this.sandbox, named(this.address, name), resources, how)
    const run = new Program(program, [...words, ...flags, '--config', config, '--quiet'])
    this.pids.set(name, run.child.pid)
    return run
  }

  /** All shards work to their ends, beside each other. */
  async finish(...words: string[]): Promise<void> {
    const runs = Array.from({ length: of }, (_, index) => this.start(words, `${index}/${of}`))
    for (const { ended } of runs) {
      const { code, stderr } = await ended
      expect(code, stderr).toBe(0)
    }
  }

  async disturbed(random: () => number): Promise<void> {
    const first = Math.floor(random() * of)
    const [killed, told, stopped] = [0, 1, 2].map((n) => (first + n) % of) as [number, number, number]
    const sleeper = this.#stopped(stopped, 2 + Math.floor(random() * 4))
    await Promise.all([
      this.#ended(killed, 'SIGKILL', random),
      this.#ended(told, 'SIGTERM', random),
      sleeper.isStopped,
    ])
    await this.#expire(`${stopped}/${of}`)
    const next = [`${stopped}/${of}`, '0/1', undefined][Math.floor(random() * 3)]
    const taken = await this.start(['sync'], next).ended
    expect(taken.code, taken.stderr).toBe(0)
    sleeper.run.kill('SIGCONT')
    const woken = await sleeper.run.ended
    expect([4, ...(sleeper.hasStopped() ? [] : [0])], woken.stderr).toContain(woken.code)
  }

  /** Ends a shard at a random moment, unless it is done before. */
  async #ended(index: number, signal: 'SIGKILL' | 'SIGTERM', random: () => number): Promise<void> {
    const run = this.start(['sync'], `${index}/${of}`)
    const timer = setTimeout(() => run.kill(signal), 500 + random() * 2000)
    const ended = await run.ended
    clearTimeout(timer)
    const cut = ended.signal === signal || (signal === 'SIGTERM' && ended.code === 143)
    if (!cut) expect(ended.code, ended.stderr).toBe(0)
  }

  /** Stops a shard at its nth request for a list. */
  #stopped(index: number, at: number) {
    const run = this.start(['sync'], `${index}/${of}`)
    let asked = 0
    let hasStopped = false
    const isStopped = new Promise<void>((resolve) => {
      const off = this.sandbox.onRequest(({ tenant }) => {
        if (tenant === null || shardIndex(tenant, of) !== index || ++asked !== at) return
        run.kill('SIGSTOP')
        hasStopped = true
        off()
        resolve()
      })
      void run.ended.then(() => {
        off()
        resolve()
      })
    })
    return { run, isStopped, hasStopped: () => hasStopped }
  }

  /** As if its machine hadn't been heard of for as long as a lease lasts. */
  async #expire(name: string): Promise<void> {
    await sleep(200)
    const warehouse = await reopen(this.address)
    const past = { host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' }
    const expired = warehouse.db.updateTable('sync_lease').set(past).where('name', '=', name)
    await warehouse.write([expired.where('owner', 'is not', null).compile()])
    await warehouse.close()
  }
}
