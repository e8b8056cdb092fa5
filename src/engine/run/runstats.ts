import type { Int64 } from '../../../schema/resource.js'
import { Distribution } from '../base/distribution.js'
import type { CursorReport } from './runreport.js'

/** Upper bounds of the ranges in which lateness is counted, in seconds. 0: in time. */
export const latenessBounds = [0, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800] as const

/** How many ids of changed records are kept. Beyond that, all records of the cursor are checked. */
export const mostTouched = 1000

/** What the work on one tenant counts in memory, for all of its cursors together. */
export class TenantStats {
  /** Values, items and records that went to quarantine. */
  quarantined = 0
  /** Records stored because they were new or changed, by resource. */
  readonly applied = new Map<string, number>()
  /** How late records became visible, in seconds, by resource. */
  readonly lateness = new Map<string, Distribution>()
  readonly #touched = new Map<string, Set<Int64>>()

  /** Adds a page that was stored. `changed`: how many of its records were new or changed. */
  stored(resource: string, changed: number): void {
    if (changed > 0) this.applied.set(resource, (this.applied.get(resource) ?? 0) + changed)
  }

  /** Adds a record whose lateness could be measured. */
  late(resource: string, micros: number): void {
    latenessIn(this.lateness, resource).take(micros / 1e6)
  }

  /** Adds records whose rows have changed. */
  touch(resource: string, ids: readonly Int64[]): void {
    const known = this.#touched.get(resource) ?? new Set()
    this.#touched.set(resource, known)
    for (const id of ids) if (known.size <= mostTouched) known.add(id)
  }

  /**
   * The records of a list whose rows have changed since `forgetTouched`. Not all of them if there are more than
   * `mostTouched`.
   */
  touched(resource: string): ReadonlySet<Int64> | undefined {
    return this.#touched.get(resource)
  }

  forgetTouched(resource: string): void {
    this.#touched.delete(resource)
  }
}

/** What a run, or a job, counts in memory while it works, for all steps and tenants together. */
export class RunStats {
  readonly #tenants: TenantStats[] = []
  /** Values of authorizations that went to quarantine. Some of them name no tenant. */
  quarantinedAuthorizations = 0
  /** Records that were requested because another record shows a row of theirs (askshared.ts). */
  lookups = 0
  /** The cursors that have ended, but for those of steps that have ended well: all that is known of a run that fails. */
  readonly ended: CursorReport[] = []
  /** The tenants of which a list was read well. */
  readonly answering = new Set<Int64>()

  /** The stats of a tenant whose work begins. */
  ofTenant(): TenantStats {
    const stats = new TenantStats()
    this.#tenants.push(stats)
    return stats
  }

  /** Values, items and records that went to quarantine. */
  get quarantined(): number {
    return this.#tenants.reduce((sum, { quarantined }) => sum + quarantined, this.quarantinedAuthorizations)
  }

  /** Records stored because they were new or changed, by resource. */
  get applied(): ReadonlyMap<string, number> {
    const sums = new Map<string, number>()
    for (const [resource, records] of this.#tenants.flatMap(({ applied }) => [...applied]))
      sums.set(resource, (sums.get(resource) ?? 0) + records)
    return sums
  }

  /** How late records became visible, in seconds, by resource. */
  get lateness(): ReadonlyMap<string, Distribution> {
    const sums = new Map<string, Distribution>()
    for (const [resource, late] of this.#tenants.flatMap(({ lateness }) => [...lateness]))
      latenessIn(sums, resource).add(late)
    return sums
  }
}

function latenessIn(by: Map<string, Distribution>, resource: string): Distribution {
  const known = by.get(resource) ?? new Distribution(latenessBounds)
  by.set(resource, known)
  return known
}
