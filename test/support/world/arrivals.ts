/**
 * When each change of the source was in the warehouse, by the source's own instants and the rows that are there: it knows
 * nothing of what the product counts. And how long each list waited between two polls, by the requests that the source got.
 */
import { toMicros } from '../../../src/engine/base/timestamp.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { known } from '../harness/runs.js'
import { versionOf } from '../oracle/owed.js'

/** A change that is not in the warehouse yet. */
interface Pending {
  readonly at: number
  readonly version: string
}

export interface Arrived {
  readonly resource: string
  /** When it was made, in ms since the epoch. */
  readonly at: number
  /** Milliseconds; undefined while it is not in the warehouse. */
  readonly delay: number | undefined
  /** A later change of the same record came with it: no poll can have seen this one. */
  readonly isHidden: boolean
}

const lists = known.list.filter(({ resource }) => resource.list !== 'strings')

export class ArrivalWatch {
  readonly #arrived: Arrived[] = []
  readonly #pending = new Map<string, Map<string, Pending[]>>()
  /** Of each list, when its polls began. */
  readonly #polls = new Map<string, number[]>()
  readonly #requests: number[] = []
  #seenTo = '1970-01-01T00:00:00.000000Z'

  constructor(
    sandbox: Sandbox,
    private readonly now: () => number,
  ) {
    sandbox.store.onChange((change) => {
      const { tenant, resource, id } = change
      const version = versionOf(sandbox.store, change)
      const waiting = this.#pendingOf(resource)
      const name = `${tenant} ${id}`
      if (version === null) waiting.delete(name)
      else waiting.set(name, [...(waiting.get(name) ?? []), { at: this.now(), version }])
    })
    sandbox.onRequest(({ tenant, resource, id, page, perPage }) => {
      this.#requests.push(this.now())
      // A request of one record counts; only a page tells what is new.
      if (tenant === null || resource === null || id !== null || (page ?? 1) > 1 || perPage === 1) return
      const name = `${tenant} ${resource}`
      this.#polls.set(name, [...(this.#polls.get(name) ?? []), this.now()])
    })
  }

  #pendingOf(resource: string): Map<string, Pending[]> {
    const there = this.#pending.get(resource) ?? new Map<string, Pending[]>()
    this.#pending.set(resource, there)
    return there
  }

  /** Looks at the rows that were written since the last look. */
  async look(warehouse: Warehouse): Promise<void> {
    let newest = this.#seenTo
    for (const { name } of lists) {
      const waiting = this.#pendingOf(name)
      if (waiting.size === 0) continue
      const rows = await warehouse.db
        .selectFrom(name as 'notes')
        .select(['tenant_id', 'id', 'updated_at', '_synced_at'])
        .where('_synced_at', '>', this.#seenTo)
        .execute()
      for (const { tenant_id, id, updated_at, _synced_at } of rows) {
        if (_synced_at > newest) newest = _synced_at
        this.#arrive(name, `${tenant_id} ${id}`, { version: updated_at, at: _synced_at })
      }
    }
    this.#seenTo = newest
  }

  #arrive(resource: string, name: string, row: { readonly version: string; readonly at: string }): void {
    const waiting = this.#pendingOf(resource)
    const all = waiting.get(name) ?? []
    const here = all.filter(({ version }) => version <= row.version)
    const rest = all.filter(({ version }) => version > row.version)
    if (rest.length > 0) waiting.set(name, rest)
    else waiting.delete(name)
    const at = Number(toMicros(row.at) / 1000n)
    for (const [i, one] of here.entries())
      this.#arrived.push({
        resource,
        at: one.at,
        delay: Math.max(0, at - one.at),
        isHidden: i < here.length - 1,
      })
  }

  /** The changes that were made from then until then, in ms since the epoch. */
  changes(from: number, to: number): Arrived[] {
    const open = [...this.#pending].flatMap(([resource, records]) =>
      [...records.values()].flatMap((all) =>
        all.map(({ at }) => ({ resource, at, delay: undefined, isHidden: false })),
      ),
    )
    return [...this.#arrived, ...open].filter(({ at }) => at >= from && at < to)
  }

  /** Those that came into the warehouse from then until then, and that a poll can have seen. */
  arrivals(from: number, to: number): Arrived[] {
    return this.#arrived.filter(
      ({ at, delay, isHidden }) => !isHidden && at + (delay ?? 0) >= from && at + (delay ?? 0) < to,
    )
  }

  /** The requests from then until then. */
  requests(from: number, to: number): number {
    return this.#requests.filter((at) => at >= from && at < to).length
  }

  /** The longest time in ms from one poll of a list to the next, or to the end, of what lies behind `from`. */
  longestWait(from: number, to: number): { readonly list: string; readonly milliseconds: number } {
    const waits = [...this.#polls].map(([list, all]) => {
      const before = all.filter((at) => at <= from).at(-1)
      const within = all.filter((at) => at > from && at < to)
      const times = [...(before === undefined ? [] : [before]), ...within, to]
      return { list, milliseconds: Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at))) }
    })
    return waits.reduce((a, b) => (a.milliseconds > b.milliseconds ? a : b))
  }
}

/** Of changes whose fate is known, the share that was in the warehouse within its target. */
export function shareWithin(
  changes: readonly Arrived[],
  targetOf: (resource: string) => number,
  until: number,
): number {
  const judged = changes.filter(
    ({ at, delay, resource }) => delay !== undefined || until - at > targetOf(resource),
  )
  const met = judged.filter(({ delay, resource }) => delay !== undefined && delay <= targetOf(resource))
  return met.length / Math.max(1, judged.length)
}
