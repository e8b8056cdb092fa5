/*
 * On the first load of a tenant the records that rows follow from wait for the list of its shops: their days are those of
 * the shops' zones, and rows of other zones would all be computed anew when the run ends. Nothing else waits, and nothing
 * is asked for that would not be asked for anyway.
 */
import { zoneField } from '../../../schema/naming.js'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../base/clock.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import type { CursorState } from '../warehouse/cursors.js'

/** A source that answers for the shops late, or never, must not keep orders from coming: computing them anew is cheaper. */
const longestWaitMs = 20_000

/** The resource whose records say the zones. */
export const saysZones = ({ name }: Pick<ResourceModel, 'name'>): boolean => name === zoneField.resource

/** Whether rows follow from the records of the cursor, and none of them is stored yet. */
export const isFirstLoad = ({ derived }: ResourceModel, state: CursorState | undefined): boolean =>
  derived.length > 0 && (!state || (state.watermark === null && state.walk === null && !state.refillWalk))

/** A cursor, and the tenant that it is of. */
interface Task {
  readonly tenantId: Int64
  readonly resource: ResourceModel
}

/** The cursors in their order, but that of a tenant's shops right before the first that `waits` for it. */
export function zonesFirst<T extends Task>(tasks: readonly T[], waits: (task: T) => boolean): T[] {
  const shops = new Map(
    tasks.filter(({ resource }) => saysZones(resource)).map((task) => [task.tenantId, task]),
  )
  // A set keeps each cursor at its first place.
  const ordered = new Set<T>()
  for (const task of tasks) {
    const before = waits(task) ? shops.get(task.tenantId) : undefined
    if (before) ordered.add(before)
    ordered.add(task)
  }
  return [...ordered]
}

interface ZonesNeeds {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly learnZones?: ((tenantId: Int64) => Promise<void>) | undefined
}

/** The zones of one tenant's shops, which some of its cursors wait for. */
export class Zones {
  #reading: Promise<unknown> | undefined
  /** One for all cursors of the tenant: what comes behind it must not be computed with other zones again. */
  #learned: Promise<void> | undefined

  constructor(
    private readonly run: ZonesNeeds,
    private readonly tenantId: Int64,
  ) {}

  /** The work on the list of shops. */
  read<T>(work: Promise<T>): Promise<T> {
    this.#reading = work
    return work
  }

  /** Resolves when the zones are known, or nobody waits for them any longer; at once where no shops are read. */
  async known(): Promise<void> {
    if (!this.#reading) return
    this.#learned ??= this.#learn(this.#reading)
    await this.#learned
  }

  async #learn(reading: Promise<unknown>): Promise<void> {
    if (await this.#isSoon(reading)) await this.run.learnZones?.(this.tenantId)
  }

  /** Whether the shops have been read before the wait, or the run, ends. */
  async #isSoon(reading: Promise<unknown>): Promise<boolean> {
    const { clock, signal } = this.run
    const done = new AbortController()
    const late = clock.sleep(longestWaitMs, AbortSignal.any([signal, done.signal])).then(() => false)
    const soon = reading.then(
      () => true,
      () => false,
    )
    return Promise.race([soon, late]).finally(() => done.abort())
  }
}
