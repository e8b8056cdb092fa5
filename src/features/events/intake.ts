/*
 * Stores events, many in one commit: those that arrive within a few milliseconds. An event is answered when its commit
 * is on disk and not before: the source may never send it again.
 */
import { describeError, instead } from '../../engine/base/errors.js'
import { type EventCounts, writeEventCounts } from './counts.js'
import type { Delivered } from './events.js'
import type { Inbox } from './inbox.js'
import type { EventRowToStore } from './judge.js'
import { eventTables } from './tables.js'

/** How many milliseconds a commit waits for more events. */
const gather = 5
/** Events in one commit. */
const mostAtOnce = 256
/** After this many milliseconds, a sender waiting for a commit is told that it didn't happen. */
const patience = 3000

/** The inbox can't be written to now. */
export class Unwritable extends Error {}

interface Entry {
  readonly rows: readonly EventRowToStore[]
  resolve(earlier: number | undefined): void
  reject(error: Error): void
}

const keyOf = (row: Omit<Delivered, 'deliveries'>): string =>
  JSON.stringify(eventTables.sync_events.key.map((column) => String(row[column])))

export class Intake {
  #entries: Entry[] = []
  #timer: NodeJS.Timeout | undefined
  #committing: Promise<void> | undefined

  constructor(
    private readonly inbox: Inbox,
    private readonly counts: EventCounts,
    /** Called for each commit, and for each failed one. */
    private readonly tell: (error: unknown) => void,
  ) {}

  /**
   * Resolves when the rows are on disk, to how often they had been received before; undefined: their tenant is forgotten,
   * and they are not kept. Rejects with Unwritable.
   */
  store(rows: readonly EventRowToStore[]): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const late = new Unwritable('The inbox has not answered')
        this.tell(late)
        reject(late)
      }, patience)
      const settled = (): void => clearTimeout(timer)
      this.#entries.push({
        rows,
        resolve: (earlier) => {
          settled()
          resolve(earlier)
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      })
      if (this.#entries.length >= mostAtOnce) this.#begin()
      else this.#timer ??= setTimeout(() => this.#begin(), gather)
    })
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#committing ??= this.#commit().finally(() => {
      this.#committing = undefined
      if (this.#entries.length >= mostAtOnce) this.#begin()
      else if (this.#entries.length > 0) this.#timer ??= setTimeout(() => this.#begin(), gather)
    })
  }

  async #commit(): Promise<void> {
    const entries = this.#entries.splice(0, mostAtOnce)
    const counts = this.counts.take()
    try {
      const before = await this.#insert(entries, counts)
      for (const { rows, resolve } of entries) {
        const [first] = rows
        const key = first ? keyOf(first) : ''
        const deliveries = before.get(key)
        if (deliveries !== undefined) before.set(key, deliveries + 1)
        resolve(deliveries)
      }
      this.tell(undefined)
    } catch (error) {
      this.counts.giveBack(counts)
      const reason = new Unwritable(describeError(error))
      for (const { reject } of entries) reject(reason)
      this.tell(error)
      // An error of ours ends the thread, which is started again: nothing else would tell of it.
      instead(undefined)(error)
    }
  }

  /** How often each stored row had been received before, by its key. */
  async #insert(
    entries: readonly Entry[],
    counts: Parameters<typeof writeEventCounts>[1],
  ): Promise<Map<string, number>> {
    const byKey = new Map<string, EventRowToStore & { deliveries: number }>()
    for (const row of entries.flatMap(({ rows }) => rows)) {
      const there = byKey.get(keyOf(row))
      if (there) there.deliveries += 1
      else byKey.set(keyOf(row), { ...row, deliveries: 1 })
    }
    // Ordered by key: two listeners wait for each other instead of deadlocking.
    const rows = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    const stored = await this.inbox.insert(rows, writeEventCounts(this.inbox.db, counts))
    return new Map(
      stored.map((row) => [keyOf(row), Number(row.deliveries) - (byKey.get(keyOf(row))?.deliveries ?? 0)]),
    )
  }

  /** Resolves when everything accepted is stored or has failed. */
  async drain(): Promise<void> {
    while (this.#entries.length > 0 || this.#committing) {
      this.#begin()
      await this.#committing
    }
  }

  /** Writes the counts and the caller's statements. Rejects if nothing can be written. */
  async write(statements: Parameters<Inbox['write']>[0]): Promise<void> {
    const counts = this.counts.take()
    try {
      await this.inbox.write([...statements, ...writeEventCounts(this.inbox.db, counts)])
      this.tell(undefined)
    } catch (error) {
      this.counts.giveBack(counts)
      this.tell(error)
      throw error
    }
  }
}
