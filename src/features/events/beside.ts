/* Rings alongside the planned work of a run: while it holds the lease, nobody else can ring. */
import { describeError, instead } from '../../engine/base/errors.js'
import type { Config } from '../../engine/config/config.js'
import type { BesideWork, PlannedWork, WritingRun } from '../../engine/run/runcontext.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { Inbox } from './inbox.js'
import { Ringing } from './ringing.js'
import { RingMemory, type RingSettings } from './ringmemory.js'
import { eventSettings } from './settings.js'
import { beforeWalk } from './settling.js'
import { readSynced } from './synced.js'

/** Milliseconds between two checks of the inbox. */
const betweenLooks = 1000

/** For the runs of a command; undefined if events have never been received here. */
export async function besideRunsOf(
  context: CommandContext,
  warehouse: Warehouse,
): Promise<BesideWork | undefined> {
  const { config, clock, invocation, log } = context
  const inbox = await Inbox.there(warehouse, { clock, signal: invocation.signals.signal }).catch(
    (error: unknown) => {
      // A run fetches everything that events could: it doesn't fail if it can't read them.
      log.warn({ error: describeError(error) }, 'Could not open the received events; they wait')
      return instead(undefined)(error)
    },
  )
  if (!inbox) return undefined
  context.onClose(() => inbox.close())
  return besideRuns(config, inbox, eventSettings(config))
}

export const besideRuns = (
  config: Pick<Config, 'sync'>,
  inbox: Inbox,
  settings: RingSettings,
  memory = new RingMemory(),
): BesideWork => ({
  beforeWalk: (cursor) => beforeWalk(inbox, cursor),
  during: (run, planned) => new Beside(run, planned, { config, inbox, settings, memory }),
})

class Beside implements AsyncDisposable {
  readonly #ended = new AbortController()
  readonly #going: Promise<void>

  constructor(
    private readonly run: WritingRun,
    private readonly planned: PlannedWork,
    private readonly parts: {
      readonly config: Pick<Config, 'sync'>
      readonly inbox: Inbox
      readonly settings: RingSettings
      readonly memory: RingMemory
    },
  ) {
    this.#going = this.#goOn().catch((error: unknown) => {
      // The planned work has the same problem and reports it; events wait for the next process that rings.
      run.observer.survived?.(error, 'Cursors that events made due are left for the next run')
    })
  }

  async #goOn(): Promise<void> {
    const { run, planned } = this
    const { config, inbox, memory } = this.parts
    const settings = { ...this.parts.settings, targetOf: planned.targetOf }
    const signal = AbortSignal.any([run.signal, this.#ended.signal])
    const synced = await readSynced(config, run.warehouse)
    await using ringing = new Ringing(run, planned.hands, inbox, synced, settings, memory)
    while (!signal.aborted) {
      await ringing.look(planned.mode === 'sync' ? 'sync' : 'other')
      ringing.throwIfFailed()
      await run.clock.sleep(betweenLooks, signal)
    }
    // Rings that have started finish, unless the run itself is ending.
    if (!run.signal.aborted) await ringing.drain()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#going
  }
}
