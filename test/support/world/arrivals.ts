/**
 * When each change of the source was in the warehouse, by the source's own instants and the rows that are there: it knows
 * nothing of what the product counts. And how long each list waited between two polls, by the requests that the source got.
 */
import { canonical, toMicros } from '../../../src/engine/base/timestamp.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import type { Sandbox, Store, StoreChange } from '../../../src/sandbox/index.js'

/** The `updated_at` that a change gave its record; null where it was deleted. */
export function versionOf(store: Store, { action, tenant, resource, id }: StoreChange): string | null {
  const record = action === 'deleted' ? undefined : store.get(tenant, resource, id)
  return record ? canonical(String(record.updated_at)) : null
}

export interface Change {
  readonly resource: string
  /** Tenant and id. */
  readonly record: string
  readonly version: string
  /** When it was made, in ms since the epoch. */
  readonly at: number
  /** Milliseconds; undefined while it is not in the warehouse. */
  delay: number | undefined
  /** A later change of the same record came with it: no poll can have seen this one. */
  isHidden: boolean
}

export class ArrivalWatch {
  #changes: Change[] = []
  /** Of each list, when its polls began. */
  readonly #polls = new Map<string, number[]>()
  readonly #requests: number[] = []
  #seenTo = '1970-01-01T00:00:00.000000Z'

  constructor(sandbox: Sandbox, now: () => number) {
    sandbox.store.onChange((change) => {
      const { tenant, resource, id } = change
      const version = versionOf(sandbox.store, change)
      const record = `${tenant} ${id}`
      // What is deleted before it came never comes.
      if (version === null)
        this.#changes = this.#changes.filter(
          (one) => one.delay !== undefined || one.resource !== resource || one.record !== record,
        )
      else this.#changes.push({ resource, record, version, at: now(), delay: undefined, isHidden: false })
    })
    sandbox.onRequest(({ tenant, resource, id, page, perPage }) => {
      this.#requests.push(now())
      // A request of one record counts; only a page tells what is new.
      if (tenant === null || resource === null || id !== null || (page ?? 1) > 1 || perPage === 1) return
      const name = `${tenant} ${resource}`
      this.#polls.set(name, [...(this.#polls.get(name) ?? []), now()])
    })
  }

  /** Looks at the rows that were written since the last look. */
  async look(warehouse: Writer): Promise<void> {
    const awaited = this.#changes.filter(({ delay }) => delay === undefined)
    let newest = this.#seenTo
    for (const name of new Set(awaited.map(({ resource }) => resource))) {
      const rows = await warehouse.db
        .selectFrom(name as 'notes')
        .select(['tenant_id', 'id', 'updated_at', '_synced_at'])
        .where('_synced_at', '>', this.#seenTo)
        .execute()
      for (const { tenant_id, id, updated_at, _synced_at } of rows) {
        if (_synced_at > newest) newest = _synced_at
        const came = awaited.filter(
          ({ resource, record, version }) =>
            resource === name && record === `${tenant_id} ${id}` && version <= updated_at,
        )
        for (const one of came) {
          one.delay = Math.max(0, Number(toMicros(_synced_at) / 1000n) - one.at)
          one.isHidden = one !== came.at(-1)
        }
      }
    }
    this.#seenTo = newest
  }

  /** The changes that were made from then until then, in ms since the epoch. */
  changes(from: number, to: number): Change[] {
    return this.#changes.filter(({ at }) => at >= from && at < to)
  }

  /** Those that came into the warehouse from then until then, and that a poll can have seen. */
  arrivals(from: number, to: number): Change[] {
    return this.#changes.filter(
      ({ at, delay, isHidden }) => delay !== undefined && !isHidden && at + delay >= from && at + delay < to,
    )
  }

  /** The requests from then until then. */
  requests(from: number, to: number): number {
    return this.#requests.filter((at) => at >= from && at < to).length
  }

  /** The longest time in ms from one poll of a list to the next, or to the end, of what lies behind `from`. */
  longestWait(from: number, to: number): number {
    const waits = [...this.#polls.values()].flatMap((all) => {
      const before = all.filter((at) => at <= from).slice(-1)
      const times = [...before, ...all.filter((at) => at > from && at < to), to]
      return times.slice(1).map((at, i) => at - (times[i] ?? at))
    })
    return Math.max(...waits)
  }
}

/** Of changes whose fate is known, the share that was in the warehouse within its target. */
export function shareWithin(
  changes: readonly Change[],
  targetOf: (resource: string) => number,
  until: number,
): number {
  const judged = changes.filter(
    ({ at, delay, resource }) => delay !== undefined || until - at > targetOf(resource),
  )
  const met = judged.filter(({ delay, resource }) => delay !== undefined && delay <= targetOf(resource))
  return met.length / Math.max(1, judged.length)
}
