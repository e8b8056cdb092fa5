import type { Int64 } from '../../../schema/resource.js'
import { Distribution } from '../base/distribution.js'
import { type CursorKey, cursorName } from '../warehouse/cursors.js'

/** Upper ends of the ranges in which lateness is counted, in seconds; 0: in time. */
export const latenessBounds = [0, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800] as const

/** Of how many changed records the ids are kept: of more, all records of the cursor are looked at. */
export const mostTouched = 1000

/** What a run, or a job, counts in memory while it works, all steps and cursors together. */
export class RunTally {
  /** Values, items and records that went to quarantine. */
  quarantined = 0
  /** Records that were stored because they are new or changed, by resource. */
  readonly applied = new Map<string, number>()
  /** How late records became visible, in seconds, by resource. */
  readonly lateness = new Map<string, Distribution>()

  /** Records that were asked for because another record shows a row of theirs (reconcile/askshared.ts). */
  lookups = 0
  readonly #touched = new Map<string, Set<Int64>>()

  /** Takes records of which rows have changed. */
  touch(key: CursorKey, ids: readonly Int64[]): void {
    const name = cursorName(key)
    const known = this.#touched.get(name) ?? new Set()
    this.#touched.set(name, known)
    for (const id of ids) if (known.size <= mostTouched) known.add(id)
  }

  /** The records of a cursor of which rows have changed since `forgetTouched`: not all, where there are more than `mostTouched`. */
  touched(key: CursorKey): ReadonlySet<Int64> | undefined {
    return this.#touched.get(cursorName(key))
  }

  forgetTouched(key: CursorKey): void {
    this.#touched.delete(cursorName(key))
  }

  /** Takes a page that was stored, and how many of its records were new or changed. */
  stored(resource: string, changed: number): void {
    if (changed > 0) this.applied.set(resource, (this.applied.get(resource) ?? 0) + changed)
  }

  /** Takes a record whose lateness could be measured. */
  late(resource: string, micros: number): void {
    const known = this.lateness.get(resource) ?? new Distribution(latenessBounds)
    this.lateness.set(resource, known)
    known.take(micros / 1e6)
  }
}
