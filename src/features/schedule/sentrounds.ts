/*
 * What `shopsync schedule` does with schedule.shards: it sends rounds to the workers, and says so while none takes them.
 * With schedule.work it is one of them.
 */
import { describeError } from '../../engine/base/errors.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import { type Deliveries, unheard, unheardText } from '../../engine/warehouse/queue/deliveries.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { Pool } from '../worker/pool.js'

/** Milliseconds between two looks at whether workers take what was sent. */
const betweenLooks = 60_000

interface RoundsOptions {
  readonly warehouse: Warehouse
  /** Fires when the program ends, or opens everything again. */
  readonly signal: AbortSignal
  /** The program can't go on, or has to open everything again. */
  readonly ended: (error: Error) => void
  readonly around: <T>(work: () => Promise<T>) => Promise<T>
}

export class Rounds {
  readonly #work: Promise<unknown>

  private constructor(
    private readonly context: CommandContext,
    private readonly options: RoundsOptions,
    private readonly queue: Deliveries,
  ) {
    const { work } = scheduleSettings(context.config)
    this.#work = Promise.all([this.#watch(), ...(work ? [this.#take()] : [])])
  }

  /** undefined if the configuration divides no jobs. Throws Stop if there can be no queue. */
  static async open(context: CommandContext, options: RoundsOptions): Promise<Rounds | undefined> {
    const { config, log } = context
    const { shards, work } = scheduleSettings(config)
    if (shards === 0) return undefined
    const trouble = (error: Error): void => log.debug({ error: describeError(error) }, 'The queue')
    const { warehouse } = options
    const queue = await warehouse.trying(() => warehouse.dialect.deliveries.open({ works: work, trouble }))
    return new Rounds(context, options, queue)
  }

  /** Whether the round is in the queue; false while the one before it is under way, or the warehouse away. */
  async send(job: string, plannedAt: string): Promise<boolean> {
    const { warehouse } = this.options
    const { shards } = scheduleSettings(this.context.config)
    try {
      return (await warehouse.trying(() => this.queue.send({ job, plannedAt, shards }))) !== undefined
    } catch (error) {
      this.context.survived(error, 'The round could not be sent', { job })
      return false
    }
  }

  /** After the signal: waits for what is under way. */
  async close(): Promise<void> {
    await this.#work
    await this.queue.close()
  }

  async #take(): Promise<void> {
    const how = { queue: this.queue, parallel: 1, once: false, superseded: this.options.ended }
    const pool = new Pool(this.context, { ...this.options, ...how })
    await pool.run().catch((error: Error) => this.options.ended(error))
  }

  /** Where nobody works, no run ends, and nothing else would tell people. */
  async #watch(): Promise<void> {
    const { context, options } = this
    const { clock, invocation, log } = context
    const { events } = scheduleSettings(context.config)
    let isSaid = false
    while (!options.signal.aborted) {
      try {
        const silent = unheard(await options.warehouse.dialect.deliveries.seen())
        if (silent && !isSaid) log.warn(unheardText(silent))
        isSaid = silent !== undefined
        // With events, the listener does.
        if (!events) for (const feature of invocation.features) await feature.whileListening?.(context)
      } catch (error) {
        log.debug({ error: describeError(error) }, 'The workers could not be looked at')
        invocation.out.survive(error)
      }
      await clock.sleep(betweenLooks, options.signal)
    }
  }
}
