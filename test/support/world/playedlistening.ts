/** A listener in a played day: it says that it lives, and takes a turn when an event has made a list due. */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { timesIn } from '../../../src/engine/config/targetsection.js'
import type { Dependencies } from '../../../src/engine/run/runcontext.js'
import { Inbox, listenedTo } from '../../../src/features/events/inbox.js'
import { Presence } from '../../../src/features/events/presence.js'
import { RingMemory } from '../../../src/features/events/ringmemory.js'
import { eventSettings } from '../../../src/features/events/settings.js'
import { takeTurn } from '../../../src/features/events/turn.js'
import { dueCursors } from '../../../src/features/events/waiting.js'
import type { CommandContext } from '../../../src/shell/command.js'
import type { LossyPost } from './lossypost.js'

const listenerId = 'played'

export class PlayedListening {
  readonly #memory = new RingMemory()
  #restsUntil = 0
  turns = 0

  private constructor(
    private readonly context: CommandContext,
    private readonly deps: Dependencies,
    private readonly inbox: Inbox,
    private readonly presence: Presence,
    private readonly post: LossyPost,
  ) {}

  static async open(context: CommandContext, post: LossyPost): Promise<PlayedListening> {
    const { clock } = context
    const warehouse = await context.readyWarehouse()
    const deps = await context.dependencies(warehouse)
    const inbox = await Inbox.open(warehouse, { clock })
    context.onClose(() => inbox.close())
    const intake = { write: async (all: Parameters<Inbox['write']>[0]) => void (await inbox.write(all)) }
    const presence = new Presence(inbox, intake, clock, () => undefined)
    await presence.begin({
      listenerId,
      address: 'http://127.0.0.1:1',
      source: listenedTo(deps.source.address),
    })
    return new PlayedListening(context, deps, inbox, presence, post)
  }

  /** What has arrived is in the inbox, and what is due is rung; resolves to whether anything was. `now`: in ms since the epoch, at the source. */
  async minute(now: number): Promise<boolean> {
    const { inbox, deps, context } = this
    await this.presence.say(listenerId)
    await this.post.deliver(inbox, deps.warehouse, now)
    const own = context.clock.nowMicros()
    if (Number(own / 1000n) < this.#restsUntil) return false
    if ((await dueCursors(inbox, fromMicros(own))).length === 0) return false
    this.turns += 1
    const settings = { ...eventSettings(context.config), targetOf: timesIn(context.config) }
    const end = await takeTurn({ deps, inbox, settings, memory: this.#memory, asksAuthorizations: false })
    if (end.by === 'window') this.#restsUntil = end.until
    return true
  }
}
