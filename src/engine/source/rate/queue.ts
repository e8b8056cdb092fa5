import { Bug } from '../../base/errors.js'
import type { Priority } from '../source.js'

const ORDER: readonly Priority[] = ['lookup', 'incremental', 'reconcile', 'backfill']

/** One tenant's waiting requests of one priority. */
interface Line<T> {
  readonly tenant: string
  readonly waiting: Set<T>
}

/**
 * Who is next: a higher priority before a lower one, and within one priority the tenants in turn, so that a tenant with
 * a thousand waiting pages holds up nobody. Every request costs one unit, so a plain rotation is fair.
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

  /** Takes the next one out. */
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

  /** Takes out a request that no longer waits. */
  delete(item: T, priority: Priority, tenant: string): void {
    const lines = this.#of(priority)
    const line = lines.get(tenant)
    if (line?.waiting.has(item)) this.#remove(lines, line, item)
  }

  /** Takes all of them out. */
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

  /** A Map keeps the order of insertion, so a line that is put in again is the last. */
  #rotate(lines: Map<string, Line<T>>, line: Line<T>): void {
    if (line.waiting.size === 0) return
    lines.delete(line.tenant)
    lines.set(line.tenant, line)
  }
}
