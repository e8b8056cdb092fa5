import { Bug } from '../../base/errors.js'
import type { Priority } from '../source.js'

const ORDER: readonly Priority[] = ['lookup', 'incremental', 'reconcile', 'backfill']

/** One tenant's waiting requests of one priority. */
interface Line<T> {
  readonly tenant: string
  readonly waiting: Set<T>
}

/**
 * Who is next: higher priority first, and within one priority the tenants take turns, so a tenant with a thousand
 * waiting pages doesn't hold up the others. Every request costs one unit, so a plain rotation is fair.
 */
export class Queue<T> {
  readonly #lines = new Map<Priority, Map<string, Line<T>>>(ORDER.map((priority) => [priority, new Map()]))
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: T, priority: Priority, tenant: string): void {
    const lines = this.#of(priority)
    const line = lines.get(tenant) ?? { tenant, waiting: new Set() }
    lines.set(tenant, line)
    line.waiting.add(item)
    this.#size++
  }

  shift(): T | undefined {
    for (const priority of ORDER) {
      const lines = this.#of(priority)
      for (const line of lines.values()) {
        for (const item of line.waiting) {
          this.#remove(lines, line, item)
          this.#rotate(lines, line)
          return item
        }
      }
    }
    return undefined
  }

  /** Removes a request that no longer waits. */
  delete(item: T, priority: Priority, tenant: string): void {
    const lines = this.#of(priority)
    const line = lines.get(tenant)
    if (line?.waiting.has(item)) this.#remove(lines, line, item)
  }

  drain(): T[] {
    const all = [...this.#lines.values()].flatMap((lines) =>
      [...lines.values()].flatMap((l) => [...l.waiting]),
    )
    for (const lines of this.#lines.values()) lines.clear()
    this.#size = 0
    return all
  }

  #of(priority: Priority): Map<string, Line<T>> {
    const lines = this.#lines.get(priority)
    if (!lines) throw new Bug(`There is no priority ${priority}`)
    return lines
  }

  #remove(lines: Map<string, Line<T>>, line: Line<T>, item: T): void {
    line.waiting.delete(item)
    this.#size--
    if (line.waiting.size === 0) lines.delete(line.tenant)
  }

  /** A Map keeps insertion order, so a line that is inserted again goes last. */
  #rotate(lines: Map<string, Line<T>>, line: Line<T>): void {
    if (line.waiting.size === 0) return
    lines.delete(line.tenant)
    lines.set(line.tenant, line)
  }
}
