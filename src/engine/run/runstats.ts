import type { Int64 } from '../../../schema/resource.js'
import { Distribution } from '../base/distribution.js'

/** Upper ends of the ranges in which lateness is counted, in seconds; 0: in time. */
export const latenessBounds = [0, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800] as const

/** Of how many changed records the ids are kept: of more, all records of the cursor are looked at. */
export const mostTouched = 1000

/** What the work on one tenant counts in memory, all of its cursors together. */
export class TenantStats {
  /** Values, items and records that went to quarantine. */
  quarantined = 0
  /** Records that were stored because they are new or changed, by resource. */
  readonly applied = new Map<string, number>()
  /** How late records became visible, in seconds, by resource. */
  readonly lateness = new Map<string, Distribution>()
  readonly #touched = new Map<string, Set<Int64>>()

  /** Takes a page that was stored, and how many of its records were new or changed. */
  stored(resource: string, changed: number): void {
    if (changed > 0) this.applied.set(resource, (this.applied.get(resource) ?? 0) + changed)
  }

  /** Takes a record whose lateness could be measured. */
  late(resource: string, micros: number): void {
    latenessIn(this.lateness, resource).take(micros / 1e6)
  }

  /** Takes records of which rows have changed. */
  touch(resource: string, ids: readonly Int64[]): void {
    const known = this.#touched.get(resource) ?? new Set()
    this.#touched.set(resource, known)
    for (const id of ids) if (known.size <= mostTouched) known.add(id)
  }

  /** The records of a list of which rows have changed since `forgetTouched`: not all, where there are more than `mostTouched`. */
  touched(resource: string): ReadonlySet<Int64> | undefined {
    return this.#touched.get(resource)
  }

  forgetTouched(resource: string): void {
    this.#touched.delete(resource)
  }
}

/** What a run, or a job, counts in memory while it works, all steps and tenants together. */
export class RunStats {
  readonly #tenants: TenantStats[] = []
  /** Values of authorizations that went to quarantine: some of them name no tenant. */
  quarantinedAuthorizations = 0
  /** Records that were asked for because another record shows a row of theirs (reconcile/askshared.ts). */
  lookups = 0

  /** Those of a tenant whose work begins. */
  ofTenant(): TenantStats {
    const stats = new TenantStats()
    this.#tenants.push(stats)
    return stats
  }

  /** Values, items and records that went to quarantine. */
  get quarantined(): number {
    return this.#tenants.reduce((sum, { quarantined }) => sum + quarantined, this.quarantinedAuthorizations)
  }

  /** Records that were stored because they are new or changed, by resource. */
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
