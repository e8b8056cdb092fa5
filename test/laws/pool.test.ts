/**
 * Equality with workers in real processes: two or three workers on machines whose clocks differ by hours take rounds, while
 * the source changes, the workers are killed, told to end, or stopped and woken, and Postgres is restarted. At each commit,
 * the only holder of the tenant is who commits, and no row goes back to an older version. Once the source doesn't change any
 * more, after `sync` and `reconcile --full` every cell equals the warehouse of a single process that nobody disturbed.
 * Leases and silence end at once; test/long/workers.test.ts takes the time that they take.
 * SEEDS=… sets how many are played, FIRST=… from which on.
 */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hasTenant } from '../../src/engine/base/shard.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { compiledOf } from '../support/harness/compiled.js'
import { onServer } from '../support/harness/databases.js'
import { shardOf } from '../support/harness/leases.js'
import { type Address, configure } from '../support/harness/place.js'
import { startPostgres, type TestPostgres } from '../support/harness/postgres.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { writeJob } from '../support/harness/scheduler.js'
import { sized } from '../support/harness/size.js'
import { contents, lookAt, reopen } from '../support/harness/warehouse.js'
import { expectOneWriter, named, recordCommits } from '../support/oracle/commits.js'
import { registersAgree } from '../support/oracle/registers.js'
import { rowsOf } from '../support/oracle/rows.js'
import { randomFrom } from '../support/world/random.js'

const { SEEDS = sized(1, 40), FIRST = 1 } = process.env
const seeds = Array.from({ length: Number(SEEDS) }, (_, n) => Number(FIRST) + n)
const blows = sized(2, 5)
const resources = ['repair_orders', 'notes', 'customers']
const tenants = sized(4, 6)
const workers = sized(2, 3)
const hour = 3_600_000
const job = 'mine'

/** Workers that blows fall on, and the sender of their work. */
class Pool {
  /** By the name of its connections. */
  readonly pids = new Map<string, number | undefined>()
  readonly #up: Program[] = []

  constructor(
    private readonly sandbox: Sandbox,
    private readonly address: Address,
    private readonly random: () => number,
  ) {}

  #configured(address: Address): string {
    const config = configure(this.sandbox, address, resources, { workers: { listen: false } })
    writeJob(dirname(config), job, { steps: [{ command: 'sync' }, { command: 'snapshot' }] })
    return config
  }

  /** A process on a machine whose clock is an hour slow, right, or an hour fast. */
  start(...words: string[]): Program {
    const name = `p${this.pids.size}`
    const ahead = (Math.floor(this.random() * 3) - 1) * hour
    const run = new Program(program, [...words, '--config', this.#configured(named(this.address, name))], {
      env: {
        PATH: process.env.PATH ?? '',
        CLOCK_AHEAD: String(ahead),
        NODE_OPTIONS: `--import=${pathToFileURL(compiledOf('test/support/harness/shiftedclock.ts')).href}`,
      },
    })
    this.pids.set(name, run.child.pid)
    return run
  }

  async done(...words: string[]): Promise<void> {
    const { code, stderr } = await this.start(...words, '--quiet').ended
    expect(code, stderr).toBe(0)
  }

  /** Sends a round whenever the last one has ended, until it is told to stop. */
  async send(isOver: () => boolean): Promise<void> {
    const config = this.#configured(this.address)
    const words = ['run', job, '--enqueue', String(2 + Math.floor(this.random() * 4)), '--config', config]
    while (!isOver()) {
      const { code, stderr } = await shopsync(words)
      expect([0, 3, 4], stderr).toContain(code)
      await sleep(300)
    }
  }

  /** One that was started while Postgres was not there has ended. */
  fill(): void {
    for (const [at, { child }] of [...this.#up.entries()].reverse())
      if (child.exitCode !== null) this.#up.splice(at, 1)
    while (this.#up.length < workers) this.#up.push(this.start('worker'))
  }

  async blow(): Promise<void> {
    const [worker] = this.#up.splice(Math.floor(this.random() * this.#up.length), 1)
    if (!worker) return
    const kind = this.random()
    if (kind < 0.4) {
      worker.kill('SIGKILL')
      await worker.ended
    } else if (kind < 0.6) await toldToEnd(worker)
    else {
      worker.kill('SIGSTOP')
      await this.#pass(worker.child.pid)
      await sleep(3000)
      worker.kill('SIGCONT')
      this.#up.push(worker)
    }
    await this.#pass()
    this.fill()
  }

  /** As if a minute had passed for workers that are silent, and for the lease of one that is stopped. */
  async #pass(stopped?: number): Promise<void> {
    const { url, schema } = this.address
    await this.#onQueue("heartbeat_on = heartbeat_on - interval '1 minute' where state = 'active'")
    if (stopped === undefined) return
    const past = "host = 'elsewhere', expires_at = '2020-01-01T00:00:00Z'"
    await onServer(url, `update ${schema}.sync_lease set ${past} where pid = ${stopped}`)
  }

  /** Nothing where nobody has made the queue yet. */
  #onQueue(change: string): Promise<void> {
    const { url, schema } = this.address
    const job = `${schema}_queue.job`
    return onServer(
      url,
      `do $$ begin if to_regclass('${job}') is not null then update ${job} set ${change}; end if; end $$`,
    )
  }

  /** Also after all this, a round comes to its end. */
  async endsRounds(): Promise<void> {
    const warehouse = await reopen(this.address)
    const ended = async (): Promise<number> => {
      // What is to be tried again after a while is due now.
      await this.#onQueue('start_after = now()')
      this.fill()
      const runs = await rowsOf(warehouse, 'sync_runs')
      return runs.filter(({ mode, finished_at }) => mode === 'whole' && finished_at !== null).length
    }
    const before = await ended()
    await expect.poll(ended, { timeout: 300_000, interval: 250 }).toBeGreaterThan(before)
  }

  async end(): Promise<void> {
    await Promise.all(this.#up.splice(0).map(toldToEnd))
  }

  kill(): void {
    for (const worker of this.#up) worker.kill('SIGKILL')
  }
}

/**
 * Told to end, a worker ends with 0; one that had only just been started, by the signal, or with 3 where Postgres was not
 * there yet.
 */
async function toldToEnd(worker: Program): Promise<void> {
  worker.kill('SIGTERM')
  const { code, signal, stderr } = await worker.ended
  expect([0, 3, 143, 'SIGTERM'], stderr).toContain(code ?? signal)
}

/**
 * Rows of records that the source has, and what is derived from them. Without tags: those of a deleted record stay until
 * their own list is reconciled, and it is not synced here.
 */
async function live(address: Address): Promise<unknown> {
  const { integrator_tags: _, ...synced } = await lookAt(address, contents)
  const tables = Object.entries(synced).map(([name, rows]) => {
    const known = (rows as Record<string, unknown>[]).filter((row) => row._deleted_at === false)
    return [name, known]
  })
  return Object.fromEntries(tables)
}

let server: TestPostgres
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

it.each(seeds)(
  'workers lose nothing, double nothing and roll nothing back: seed %i',
  {
    timeout: 1_200_000,
  },
  async (seed) => {
    const random = randomFrom(seed)
    const [address, other] = ['pool', 'alone'].map((name) => ({
      url: server.url,
      schema: `${name}_${seed}`,
    }))
    const sandbox = await sandboxOfFile({ tenants, repairOrders: sized(6, 15), seed })
    const motion = setInterval(() => sandbox.work(2), sized(150, 40))
    const pool = new Pool(sandbox, address!, random)
    try {
      await pool.done('migrate')
      await recordCommits(address!, resources)
      let isOver = false
      const sending = pool.send(() => isOver)
      await sleep(1000)
      pool.fill()
      const restart = Math.floor(random() * blows)
      for (let n = 0; n < blows; n++) {
        await sleep(500 + random() * 3000)
        if (n === restart) {
          await server.crash()
          await server.start()
        }
        await pool.blow()
      }
      await pool.endsRounds()
      isOver = true
      await sending
      clearInterval(motion)
      await pool.end()
      await pool.done('sync')
      await pool.done('reconcile', '--full', '--accept-deletes')
    } finally {
      clearInterval(motion)
      pool.kill()
    }
    expect(await expectOneWriter(address!, pool.pids)).toBeGreaterThan(tenants)
    const config = configure(sandbox, other!, resources)
    expect(await shopsync(['sync', '--quiet', '--config', config])).toMatchObject({ code: 0 })
    const warehouse = await reopen(address!)
    await registersAgree(warehouse, resources.length * tenants)
    const runs = new Map((await rowsOf(warehouse, 'sync_runs')).map(({ run_id, shard }) => [run_id, shard]))
    for (const { run_id, tenant_id } of await rowsOf(warehouse, 'sync_requests')) {
      const shard = shardOf(String(runs.get(run_id) ?? '0/1')) ?? { index: 0, of: 1 }
      expect(hasTenant(shard, Number(tenant_id)), `${run_id}, which is ${JSON.stringify(shard)}`).toBe(true)
    }
    expect(await live(address!)).toEqual(await live(other!))
  },
)
