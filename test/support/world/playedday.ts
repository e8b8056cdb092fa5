/**
 * Shops at work on a simulated clock, and a warehouse that follows them within a small window, as cron would have it: the
 * real HTTP server, the shipped jobs, a real warehouse. A few shops are large, and they are open in four time zones.
 */
import { setMaxListeners } from 'node:events'
import { dirname } from 'node:path'
import type { Clock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { parseDuration } from '../../../src/engine/config/duration.js'
import { eventSettings } from '../../../src/features/events/settings.js'
import { aroundJobs, jobFolders, readJob } from '../../../src/features/jobs/jobfile.js'
import { runCommand } from '../../../src/features/jobs/runcommand.js'
import { carryOutJob } from '../../../src/features/jobs/work.js'
import { delaysSince } from '../../../src/features/targets/delays.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import type { Feature } from '../../../src/shell/command.js'
import { withConfig } from '../../../src/shell/commandcontext.js'
import { loadConfiguration } from '../../../src/shell/configuration.js'
import { shopsync } from '../harness/call.js'
import { configure } from '../harness/place.js'
import { known } from '../harness/runs.js'
import { writeJob } from '../harness/scheduler.js'
import { type Kind, reopen, type Warehouse } from '../harness/warehouse.js'
import { compare, expected } from '../oracle/cells.js'
import { ArrivalWatch, versionOf } from './arrivals.js'
import { EventBench } from './events.js'
import { LossyPost } from './lossypost.js'
import { PlayedClock } from './playedclock.js'
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
  readonly targets: Readonly<Record<string, string>>
}

/** The quantile of the normal distribution, roughly (Tukey's lambda). */
const normalAt = (share: number): number => (share ** 0.135 - (1 - share) ** 0.135) / 0.1975

/** `shopsync run` on another clock: nothing that people type sets one. */
const runAt = (clock: Clock): Feature => ({
  command: {
    ...runCommand,
    name: 'played',
    run: async (invocation) => {
      const { config } = await loadConfiguration(invocation)
      const around = await aroundJobs(invocation, config.api.allowInsecure)
      const job = readJob(invocation.argument ?? '', jobFolders(invocation), around)
      return withConfig(invocation, config, (context) => carryOutJob(context, job), clock)
    },
  },
})

export class PlayedDay {
  readonly watch: ArrivalWatch
  #used = { window: 0, requests: 0 }
  #events: EventBench | undefined
  #post: LossyPost | undefined
  #restsUntil = 0

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
    const { tenants, begin, seed, targets } = options
    const clock = new PlayedClock(begin)
    const rate = { limit: 1_000_000, window: 3600 }
    const sandbox = await createSandbox({ tenants, repairOrders: 12, seed, clock: clock.source, rate })
    const address = await kind.migrated()
    const file = configure(sandbox, address, [], { sync: { resources: 'all' }, targets })
    writeJob(dirname(file), 'everything', {
      steps: [{ command: 'sync' }, { command: 'reconcile', full: true }],
    })
    const day = new PlayedDay(clock, sandbox, rate, file, await reopen(address), options)
    await day.run('everything')
    return day
  }

  async close(): Promise<void> {
    await this.#events?.inbox.close()
    await this.warehouse.close()
    await this.sandbox.close()
  }

  get lists(): number {
    return this.options.tenants * known.list.length
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

  /** Runs a job by its name; its exit code. */
  async run(name: string): Promise<number | null> {
    const words = ['played', name, '--json', '--quiet', '--config', this.file]
    const { code } = await this.clock.during(() => shopsync(words, { more: [runAt(this.clock)] }))
    await this.watch.look(this.warehouse)
    return code
  }

  /** Lets time pass until then, in ms since the epoch; a listener takes its turn each minute. */
  async passTo(until: number): Promise<void> {
    while (this.clock.now < until) {
      const next = Math.min(until, (Math.floor(this.clock.now / minute) + 1) * minute)
      this.clock.passTo(next)
      if (await this.clock.during(() => this.#listensAMinute())) await this.watch.look(this.warehouse)
    }
  }

  /** Begins the job whenever cron would, for so many hours; one that was due meanwhile comes at once, and once. */
  async repeat(
    name: string,
    every: number,
    hours: number,
    ended?: (code: number | null, at: number) => void | Promise<void>,
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

  /** From now on events come, by a way on which some get lost, and a listener takes turns. */
  async listen(): Promise<void> {
    const { store } = this.sandbox
    const { targets, seed } = this.options
    const post = new LossyPost(randomFrom(seed + 2))
    store.onChange((change) =>
      post.changed(change, versionOf(store, change), BigInt(Math.round(this.clock.now * 1000))),
    )
    this.#post = post
    this.#events = await EventBench.open(this.sandbox, this.warehouse, this.clock)
    const targetOf = (resource: string) => parseDuration(targets[resource] ?? targets['*'] ?? '') ?? 0
    this.#events.settings = { ...eventSettings({}), targetOf }
    this.#events.countsDelays = true
    const up_at = fromMicros(this.clock.nowMicros())
    await this.#events.listens({ up_at, seen_at: up_at })
  }

  /** What has arrived is in the inbox, and what is due is rung; resolves to whether anything was. */
  async #listensAMinute(): Promise<boolean> {
    const [events, post] = [this.#events, this.#post]
    if (!events || !post) return false
    const own = this.clock.nowMicros()
    await events.listens({ seen_at: fromMicros(own) })
    await post.deliver(events.inbox, this.warehouse, this.clock.now)
    if (Number(own / 1000n) < this.#restsUntil) return false
    if ((await events.due()).length === 0) return false
    const end = await events.turn()
    if (end.by === 'window') this.#restsUntil = end.until
    return true
  }

  /** What the product has counted since then, in ms since the epoch. */
  told(from: number) {
    return delaysSince(this.warehouse, fromMicros(BigInt(Math.round(from)) * 1000n))
  }

  /** The shops close; reads everything without a limit, and compares every cell with the source: how many there are. */
  async catchUp(): Promise<number> {
    this.clock.rest()
    this.rate.limit = 1_000_000
    // The window that was spent with the small limit is over.
    await this.passTo((Math.floor(this.clock.now / hour) + 1) * hour + minute)
    const code = await this.run('everything')
    if (code !== 0) throw new Error(`The last run ended with ${code}`)
    return compare(this.warehouse, expected(this.sandbox))
  }
}
