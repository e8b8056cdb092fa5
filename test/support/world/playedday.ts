/**
 * Shops at work on a simulated clock, and a warehouse that follows them within a small window, as cron would have it: the
 * real HTTP server, the shipped jobs, a real warehouse. A few shops are large, and they are open in four time zones.
 */
import { setMaxListeners } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { aroundJobs, readJob } from '../../../src/features/jobs/jobfile.js'
import { carryOutJob } from '../../../src/features/jobs/work.js'
import { features } from '../../../src/main.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import type { CommandContext } from '../../../src/shell/command.js'
import { withConfig } from '../../../src/shell/commandcontext.js'
import { loadConfiguration } from '../../../src/shell/configuration.js'
import type { Io } from '../../../src/shell/io.js'
import { Output } from '../../../src/shell/output.js'
import { stillSignals } from '../../../src/shell/signals.js'
import { configure } from '../harness/place.js'
import { known, type RunReport } from '../harness/runs.js'
import { root } from '../harness/tree.js'
import { type Kind, reopen, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { Debts, versionOf } from '../oracle/owed.js'
import { ArrivalWatch } from './arrivals.js'
import { LossyPost, type PostTally } from './lossypost.js'
import { PlayedClock } from './playedclock.js'
import { PlayedListening } from './playedlistening.js'
import { randomFrom } from './random.js'

// As the program itself does (src/entry.ts): a run's signal has a listener for each request under way.
setMaxListeners(100)

const minute = 60_000
const hour = 60 * minute
/** Of one request, there and back: to spend a window takes its time. */
const latency = 100
/** What a shop of middle size does in an hour in which it is open; sizes are lognormal. */
const thingsAnHour = 5
const spread = 1.2
const [opens, closes] = [8, 18]
/** Hours by which the shops are behind UTC. */
const zones = [5, 6, 7, 8]

export interface PlayedOptions {
  readonly tenants: number
  readonly begin: string
  readonly seed: number
  /** Of each shop at the beginning; default 12. */
  readonly repairOrders?: number
  readonly targets?: Readonly<Record<string, string>>
  readonly polling?: object
  /** After each run and turn, everything that a cursor claims is compared with the source. */
  readonly checksClaims?: boolean
  /** The schedule of a copy of the job `due`; without it the shipped one is run, which has none. */
  readonly schedule?: string
}

export interface PlayedRun {
  readonly code: number
  readonly report: RunReport
}

/** The quantile of the normal distribution, roughly (Tukey's lambda). */
const normalAt = (share: number): number => (share ** 0.135 - (1 - share) ** 0.135) / 0.1975

/** Collects what is written. */
function collected(): { readonly stream: Writable; text(): string } {
  const chunks: string[] = []
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    chunks.push(chunk.toString())
    done()
  }
  return { stream: new Writable({ write }), text: () => chunks.join('') }
}

export class PlayedDay {
  readonly tally: PostTally = { events: 0, dropped: 0, doubled: 0, late: 0, forged: 0 }
  readonly watch: ArrivalWatch
  /** What cursors have claimed, by verdict. */
  readonly claims: Record<string, number> = {}
  readonly debts: Debts | undefined
  #used = { window: 0, requests: 0 }
  #listening: PlayedListening | undefined
  #closeListening: () => Promise<void> = async () => {}

  private constructor(
    readonly clock: PlayedClock,
    readonly sandbox: Sandbox,
    /** What the source allows, from the next request on. */
    readonly rate: { limit: number; window: number },
    readonly file: string,
    readonly warehouse: Warehouse,
    private readonly options: PlayedOptions,
  ) {
    this.watch = new ArrivalWatch(sandbox, () => clock.now)
    this.debts = options.checksClaims ? new Debts(sandbox) : undefined
    sandbox.onRequest(() => {
      clock.pass(latency)
      const window = this.#window
      if (window !== this.#used.window) this.#used = { window, requests: 0 }
      this.#used.requests += 1
    })
    // Only where the window is as good as spent, the program may wait for the next one.
    clock.mayLeap = () => this.#window === this.#used.window && this.#used.requests > 0.7 * rate.limit
  }

  get #window(): number {
    return Math.floor(this.clock.now / (this.rate.window * 1000))
  }

  /** A warehouse that has been synced, without a limit so far. */
  static async open(kind: Kind, options: PlayedOptions): Promise<PlayedDay> {
    const { tenants, begin, seed, targets, polling, schedule, repairOrders = 12 } = options
    const clock = new PlayedClock(begin)
    const rate = { limit: 1_000_000, window: 3600 }
    const sandbox = await createSandbox({ tenants, repairOrders, seed, clock: clock.source, rate })
    const address = await kind.migrated()
    const file = configure(sandbox, address, [], {
      sync: { resources: 'all' },
      ...(targets && { targets }),
      ...(polling && { polling }),
    })
    const jobs = join(dirname(file), 'jobs')
    mkdirSync(jobs)
    const steps = [{ command: 'sync' }, { command: 'reconcile', full: true }]
    writeFileSync(join(jobs, 'everything.json'), JSON.stringify({ description: 'Everything.', steps }))
    const due = [
      { command: 'sync', due: true },
      { command: 'reconcile', due: true },
    ]
    if (schedule) {
      const copy = { description: 'What is due.', schedule, timeLimit: 'PT4M', steps: due }
      writeFileSync(join(jobs, 'due.json'), JSON.stringify(copy))
    }
    const day = new PlayedDay(clock, sandbox, rate, file, await reopen(address), options)
    await day.run('everything')
    return day
  }

  async close(): Promise<void> {
    await this.#closeListening()
    await this.warehouse.close()
    await this.sandbox.close()
  }

  get lists(): number {
    return this.options.tenants * known.list.length
  }

  get turns(): number {
    return this.#listening?.turns ?? 0
  }

  /** Has the shops do so many hours of their work, from now on. */
  work(hours: number): void {
    const { tenants, seed } = this.options
    const random = randomFrom(seed + 1)
    const from = this.clock.now
    const plan = this.sandbox.tenantIds.flatMap((tenant, i) => {
      const rate = (thingsAnHour * Math.exp(spread * normalAt((i + 0.5) / tenants))) / hour
      const all: { at: number; happens: () => void }[] = []
      for (let at = from; ; ) {
        at -= Math.log(1 - random()) / rate
        if (at > from + hours * hour) return all
        const local = (at / hour - (zones[i % zones.length] ?? 0)) % 24
        if (local >= opens && local < closes)
          all.push({ at, happens: () => void this.sandbox.work(1, tenant) })
      }
    })
    this.clock.plan(plan)
  }

  /** Runs a job by its name, as `shopsync run` does. */
  async run(name: string): Promise<PlayedRun> {
    const out = collected()
    const code = await this.clock.during(() =>
      this.#withContext({ argument: name, stdout: out.stream }, async (context) => {
        const { invocation, config } = context
        const around = await aroundJobs(invocation, config.api.allowInsecure)
        const folders = [dirname(this.file), root].map((folder) => join(folder, 'jobs'))
        return carryOutJob(context, readJob(name, folders, around))
      }),
    )
    await this.#look(`the job ${name}`)
    return { code, report: JSON.parse(out.text()) as RunReport }
  }

  /** Lets time pass until then, in ms since the epoch; a listener takes its turn each minute. */
  async passTo(until: number): Promise<void> {
    while (this.clock.now < until) {
      const next = Math.min(until, (Math.floor(this.clock.now / minute) + 1) * minute)
      this.clock.passTo(next)
      const listening = this.#listening
      if (!listening) continue
      const hasRung = await this.clock.during(() => listening.minute(this.clock.now))
      if (hasRung) await this.#look('a turn')
    }
  }

  /** Begins the job whenever cron would, for so many hours; one that was due meanwhile comes at once, and once. */
  async repeat(
    name: string,
    every: number,
    hours: number,
    ended?: (run: PlayedRun, at: number) => void | Promise<void>,
  ): Promise<void> {
    const until = this.clock.now + hours * hour
    for (let next = this.clock.now; next < until; ) {
      await this.passTo(next)
      const began = this.clock.now
      await ended?.(await this.run(name), began)
      next = (Math.floor(began / (every * minute)) + 1) * every * minute
    }
    await this.passTo(until)
  }

  async #look(after: string): Promise<void> {
    await this.watch.look(this.warehouse)
    if (this.debts)
      await this.#checkClaims(this.debts, `${new Date(this.clock.now).toISOString()}, after ${after}`)
  }

  /** Everything that a cursor claims is there, and nothing that the source has is marked as deleted. */
  async #checkClaims(debts: Debts, at: string): Promise<void> {
    for (const cursor of await rowsOf(this.warehouse, 'sync_cursors')) {
      const { tenant_id, resource, status, completeness, watermark } = cursor
      if (status !== 'ok' || completeness === 'unproven' || completeness === null) continue
      this.claims[String(completeness)] = (this.claims[String(completeness)] ?? 0) + 1
      await debts.settle(this.warehouse, {
        tenant: Number(tenant_id),
        resource: String(resource),
        covers: ({ updatedAt }) => updatedAt !== null && updatedAt <= String(watermark),
        says: `${at}: ${completeness} ${watermark}`,
      })
    }
    await debts.checkMarks(this.warehouse, at)
  }

  /** From now on events come, by a way on which some get lost, and some are forged, and a listener takes turns. */
  async listen(forged = 0): Promise<void> {
    const post = new LossyPost(randomFrom(this.options.seed + 2), this.tally, forged)
    const { store } = this.sandbox
    store.onChange((change) =>
      post.changed(change, versionOf(store, change), BigInt(Math.round(this.clock.now * 1000))),
    )
    await new Promise<void>((opened, failed) => {
      const during = this.#withContext({ stdout: collected().stream }, async (context) => {
        this.#listening = await PlayedListening.open(context, post)
        await new Promise<void>((ended) => {
          this.#closeListening = async () => {
            ended()
            await during
          }
          opened()
        })
        return 0
      })
      during.catch(failed)
    })
  }

  async #withContext(
    { argument, stdout }: { readonly argument?: string; readonly stdout: Writable },
    use: (context: CommandContext) => Promise<number>,
  ): Promise<number> {
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done() })
    const globals = {
      config: this.file,
      envFile: undefined,
      json: true,
      quiet: true,
      logLevel: 'error',
    } as const
    const io: Io = {
      environment: {},
      workingDirectory: dirname(this.file),
      stdin: Readable.from(['']),
      stdout,
      stderr,
      onSignal: () => () => {},
      interrupt: () => {},
      exit: () => {},
      collectAt: () => {},
      started: { node: process.execPath, program: '' },
    }
    const out = new Output({ json: true, quiet: true, stdout, stderr })
    const signals = stillSignals(new AbortController().signal)
    const { config } = await loadConfiguration({ features, globals, io })
    const call = {
      features,
      command: 'run',
      argument,
      second: undefined,
      options: {},
      globals,
      out,
      signals,
      io,
    }
    return withConfig(call, config, use, this.clock)
  }
}
