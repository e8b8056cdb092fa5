import { Distribution } from '../../distribution.js'

/** Upper ends of the ranges in which lateness is counted, in seconds; 0: in time. */
export const latenessBounds = [0, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800] as const

/** What a run, or a job, counts in memory while it works, all steps and cursors together. */
export class RunTally {
  /** Values, items and records that went to quarantine. */
  quarantined = 0
  /** Records that were stored because they are new or changed, by resource. */
  readonly applied = new Map<string, number>()
  /** How late records became visible, in seconds, by resource. */
  readonly lateness = new Map<string, Distribution>()

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
