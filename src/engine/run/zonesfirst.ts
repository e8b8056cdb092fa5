/*
 * On a tenant's first load, the records that rows follow from wait for the list of its shops. Their days depend on the
 * shops' zones, and rows with other zones would all have to be recomputed when the run ends. Nothing else waits, and no
 * extra requests are made.
 */
import { zoneField } from '../../../schema/naming.js'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../base/clock.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import type { Cursor } from '../warehouse/state/cursors.js'

/** A source that answers late for the shops, or never, must not hold up orders: recomputing them is cheaper. */
const longestWaitMs = 20_000

/** The resource whose records have the zones. */
export const saysZones = ({ name }: Pick<ResourceModel, 'name'>): boolean => name === zoneField.resource

/** Whether rows follow from the cursor's records, and none of the records is stored yet. */
export const isFirstLoad = ({ derived }: ResourceModel, state: Cursor | undefined): boolean =>
  derived.length > 0 && (!state || (state.watermark === null && state.walk === null && !state.refill_walk))

interface Task {
  readonly tenantId: Int64
  readonly resource: ResourceModel
}

/** The cursors in order, except that a tenant's shops come right before the first cursor that `waits` for them. */
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

/** The zones of one tenant's shops, which some of its cursors wait for. */
export class Zones {
  /** Resolves to whether it went well. */
  #reading: Promise<boolean> | undefined
  /** One for all cursors of the tenant: what comes after it must not be recomputed with other zones. */
  #learned: Promise<void> | undefined

  constructor(
    private readonly run: {
      readonly clock: Clock
      readonly signal: AbortSignal
      readonly learnZones?: ((tenantId: Int64) => Promise<void>) | undefined
    },
    private readonly tenantId: Int64,
  ) {}

  /** Registers the work on the list of shops. */
  read<T>(work: Promise<T>): Promise<T> {
    // Not the work itself, which would keep its result until the run ends.
    this.#reading = work.then(
      () => true,
      () => false,
    )
    return work
  }

  /** Resolves when the zones are known, or the wait is over. Resolves immediately if no shops are read. */
  async known(): Promise<void> {
    if (!this.#reading) return
    this.#learned ??= this.#learn(this.#reading)
    await this.#learned
  }

  async #learn(reading: Promise<boolean>): Promise<void> {
    if (await this.#isSoon(reading)) await this.run.learnZones?.(this.tenantId)
  }

  /** Whether the shops have been read before the wait, or the run, ends. */
  async #isSoon(reading: Promise<boolean>): Promise<boolean> {
    const { clock, signal } = this.run
    const done = new AbortController()
    const late = clock.sleep(longestWaitMs, AbortSignal.any([signal, done.signal])).then(() => false)
    return Promise.race([reading, late]).finally(() => done.abort())
  }
}
