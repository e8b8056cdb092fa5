/*
 * Hearing the source: the receiver in its thread, and the listener that takes turns. `listen` does only this;
 * `schedule` does it alongside its jobs.
 */

import { once } from 'node:events'
import { resolve } from 'node:path'
import { instead, Stop } from '../../engine/base/errors.js'
import { addMicros, fromMicros } from '../../engine/base/timestamp.js'
import type { Config } from '../../engine/config/config.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import { checkSourceIdentity } from '../../engine/warehouse/state/sourceidentity.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext, Feature } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'
import { ReplacementWatch } from '../../shell/replaced.js'
import type { Opening } from '../../shell/stayup.js'
import { Inbox, listenedTo } from './inbox.js'
import { Listener } from './listener.js'
import { type RunningReceiver, receiverCall, startReceiver, syncedNow } from './receiver.js'
import { type EventSettings, eventSettings } from './settings.js'
import { judgeUnannounced } from './unannounced.js'

/** Milliseconds between two checks of what is synced. */
const betweenLooks = 10_000
/** Milliseconds until a thread that has ended is restarted, and between two tries. */
const pauseAfterFailure = 5000
/** Milliseconds between two removals of long-settled events. */
const betweenPrunings = 3_600_000
/** Milliseconds between two checks of what to report to people. */
const betweenTellings = 60_000

const isOwnMachine = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** Stops if events can't be received with these settings. */
function checkListening(context: CommandContext, settings: EventSettings): void {
  const { host, port, tls, allowInsecure } = settings
  const { listen } = scheduleSettings(context.config)
  if (listen !== false && port !== 0 && listen.host === host && listen.port === port)
    throw new Stop(`Port ${port} of ${host} is the report's (schedule.listen), expected a different one`, {
      exitCode: 2,
      hint: 'Anyone who reaches that port can read the report, so the source must not reach it: type --port 8787',
    })
  if (!tls && !allowInsecure && !isOwnMachine(host))
    throw new Stop(`Events, and the secret with them, would reach ${host} in clear text; expected https`, {
      exitCode: 2,
      hint: 'Type --tls-cert FILE --tls-key FILE, or --host 127.0.0.1 behind a proxy that terminates TLS; or set "events": {"allowInsecure": true} if the network in between is trusted',
    })
}

/** Stops if the events come from another source: a file next to the warehouse can belong to another one. */
async function checkInbox(inbox: Inbox, source: string): Promise<void> {
  const owner = await inbox.source()
  if (owner === undefined || owner === source) return
  throw new Stop(`The events in ${inbox.where} come from ${owner}, but the configuration names ${source}`, {
    exitCode: 2,
    hint: 'Move that file away if it belongs to another warehouse',
  })
}

interface Parts {
  readonly context: CommandContext
  readonly warehouse: Warehouse
  readonly inbox: Inbox
  readonly settings: EventSettings
  readonly listener: Listener | undefined
}

export class Hearing {
  readonly #ended = new AbortController()
  #receiver: RunningReceiver
  readonly #work: Promise<void>

  private constructor(
    private readonly parts: Parts,
    receiver: RunningReceiver,
  ) {
    this.#receiver = receiver
    this.#work = Promise.all([
      this.#ring(),
      this.#refresh(),
      this.#watch(),
      this.#prune(),
      this.#tell(),
    ]).then(() => {})
  }

  /** Starts listening; throws Stop if it can't. */
  static async open(
    context: CommandContext,
    warehouse: Writer,
    {
      settings,
      rings,
      superseded,
    }: {
      readonly settings: EventSettings
      /** Whether it takes turns. */
      readonly rings: boolean
      /** Called when a turn finds that a process with other settings has written the warehouse: the program must end. */
      readonly superseded?: (error: Error) => void
    },
  ): Promise<Hearing> {
    checkListening(context, settings)
    const { clock, invocation } = context
    const deps = await context.dependencies(warehouse, { siblings: 'perhaps' })
    await checkSourceIdentity(warehouse, deps.source.address)
    const { signal } = invocation.signals
    // One that is there is brought up to date when the receiver answers.
    const inbox =
      (await Inbox.there(warehouse, { clock, signal })) ?? (await Inbox.open(warehouse, { clock, signal }))
    context.onClose(() => inbox.close())
    await checkInbox(inbox, listenedTo(deps.source.address))
    const targetOf = await targetTimesOf(invocation.features, context.config)
    const ringing = { ...settings, targetOf }
    const listener = rings ? new Listener({ deps, inbox, settings: ringing, superseded }) : undefined
    const parts = { context, warehouse, inbox, settings, listener }
    return new Hearing(parts, await start(parts))
  }

  /** Where to send events. */
  get url(): string {
    return this.#receiver.url
  }

  /** Takes no turn while this work is running: it claims the lease itself, and rings. */
  aside<T>(work: () => Promise<T>): Promise<T> {
    const { listener } = this.parts
    return listener ? listener.aside(work) : work()
  }

  /** Accepts nothing more, and answers the accepted events once they are stored. */
  async close(): Promise<void> {
    this.#ended.abort()
    await this.#receiver.close()
    await this.#work
  }

  get #signal(): AbortSignal {
    return this.#ended.signal
  }

  /** Unexpected errors are logged and must not end the rest of the program. */
  async #ring(): Promise<void> {
    const { listener } = this.parts
    if (!listener) return
    await this.#again('Making lists due failed', () =>
      listener.run(this.#signal, (isFailing) => this.#receiver.turnsFail(isFailing)),
    )
  }

  /** Other commands running at the same time change what is synced. */
  async #refresh(): Promise<void> {
    const { context, warehouse } = this.parts
    const { config, clock } = context
    while (!this.#signal.aborted) {
      await clock.sleep(betweenLooks, this.#signal)
      if (this.#signal.aborted) return
      const synced = await syncedNow(config, warehouse).catch(instead(undefined))
      if (synced) this.#receiver.tell(synced)
    }
  }

  /** What every run reports at its end: with a listener, there may never be a run. */
  async #tell(): Promise<void> {
    const { context } = this.parts
    const { clock, invocation } = context
    while (!this.#signal.aborted) {
      for (const feature of invocation.features)
        await this.#without('Alerts and metrics could not be updated', async () =>
          feature.whileListening?.(context),
        )
      await clock.sleep(betweenTellings, this.#signal)
    }
  }

  /** A thread that has ended is restarted: nothing else takes events. */
  #watch(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      if (this.#signal.aborted) resolve()
      this.#signal.addEventListener('abort', () => resolve(), { once: true })
    })
    let isFirst = true
    return this.#again('The receiver ended', async () => {
      if (!isFirst) this.#receiver = await start(this.parts)
      isFirst = false
      await Promise.race([this.#receiver.failed, ended])
    })
  }

  /** Changes are judged by old events before those are deleted. */
  async #prune(): Promise<void> {
    const { context, warehouse, inbox, settings } = this.parts
    const { config, clock } = context
    const { keep } = settings
    while (!this.#signal.aborted) {
      const now = clock.nowMicros()
      await this.#without('Changes without an event could not be counted', () =>
        judgeUnannounced({ config, warehouse, inbox, keep }, now),
      )
      await inbox.prune(addMicros(fromMicros(now), BigInt(keep) * -1000n)).catch(instead(0))
      await clock.sleep(betweenPrunings, this.#signal)
    }
  }

  /** Work that everything else can do without. */
  async #without(what: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.parts.context.survived(error, what)
    }
  }

  async #again(what: string, work: () => Promise<void>): Promise<void> {
    const { context } = this.parts
    while (!this.#signal.aborted) {
      try {
        await work()
        return
      } catch (error) {
        if (this.#signal.aborted) return
        context.survived(error, what)
        await context.clock.sleep(pauseAfterFailure, this.#signal)
      }
    }
  }
}

async function start({ context, warehouse, inbox, settings, listener }: Parts): Promise<RunningReceiver> {
  const { config, log } = context
  const call = receiverCall(config, settings, await syncedNow(config, warehouse))
  return startReceiver(call, {
    // Not by the thread itself: SQLite keeps it from answering. While others write there or copy it, it waits: a
    // listener that ended instead would refuse the senders without an answer.
    bound: () => inbox.trying(async () => (await Inbox.open(warehouse)).close()),
    received: () => listener?.received(),
    unknownTenant: () => listener?.askAuthorizations(),
    log: (level, message, fields) => log[level](fields, message),
  })
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The configured settings, overridden by the flags. */
function settingsBy(
  { options: flags, io }: CommandContext['invocation'],
  configured: EventSettings,
): EventSettings {
  const port = wholeNumber('--port', flags['port'], { to: 65_535, example: 8787 })
  const [cert, key] = [text(flags['tlsCert']), text(flags['tlsKey'])]
  if ((cert === undefined) !== (key === undefined))
    throw new Stop(`Found --tls-${cert === undefined ? 'key' : 'cert'} only, expected both files`, {
      exitCode: 2,
      hint: 'Type --tls-cert FILE --tls-key FILE',
    })
  const here = (file: string): string => resolve(io.workingDirectory, file)
  const tls = cert !== undefined && key !== undefined ? { cert: here(cert), key: here(key) } : configured.tls
  return { ...configured, host: text(flags['host']) ?? configured.host, port: port ?? configured.port, tls }
}

/** `shopsync listen`: receives events and rings, until a signal comes. */
export async function listenUntilEnd(context: CommandContext, opening: Opening): Promise<number> {
  const { invocation, config, clock } = context
  const { options, signals } = invocation
  const given = settingsBy(invocation, eventSettings(config))
  const settings = { ...given, port: opening.port('events', given.port) }
  signals.expected = true
  const warehouse = await opening.warehouse()
  const rings = options['ring'] !== false
  const watch = new ReplacementWatch(warehouse, clock, signals.signal)
  let hearing: Hearing | undefined
  try {
    const superseded = (error: Error): void => watch.superseded(error)
    hearing = await Hearing.open(context, warehouse, { settings, rings, superseded })
    const { url } = hearing
    await opening.isUp(
      { url, pid: process.pid, rings },
      `Events are received at ${url}${rings ? '' : ' and only stored'}. Stop with Ctrl-C.`,
      { events: url },
    )
    if (!watch.signal.aborted) await once(watch.signal, 'abort')
    await watch.throwIfReplaced()
  } finally {
    watch.close()
    await hearing?.close()
  }
  return 0
}

/** In how many milliseconds a change to each resource must be in the warehouse; undefined without targets. */
const targetTimesOf = async (
  features: readonly Feature[],
  config: Config,
): ReturnType<NonNullable<Feature['targetTimes']>> =>
  features.find(({ targetTimes }) => targetTimes)?.targetTimes?.(config)
