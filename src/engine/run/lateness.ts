/*
 * Measures how late records become visible: a record that a walk finds, and whose stamp is older than the start of the
 * cursor's previous walk, wasn't visible then. The overlap "auto" is based on this, and so is how far a cursor is
 * complete.
 */
import type { Int64 } from '../../../schema/resource.js'
import { addMicros, toMicros } from '../base/timestamp.js'
import { unixEpoch } from '../list/cutpoint.js'
import type { LatenessBucket, LatenessRow } from '../warehouse/state/latenessrows.js'
import { listedVersion } from '../warehouse/store/unlisted.js'
import type { Version } from '../warehouse/store/versionbatch.js'

/** The last 30 days of one resource, all tenants together. */
export interface ResourceLateness {
  /** Records that walks found while lateness could be measured. */
  readonly records: number
  readonly largestMicros: number
  /** Of a thousand records, 999 were no later than this, rounded to a power of two milliseconds. */
  readonly mostMicros: number
  /** Records that only reconcile found. */
  readonly reconciled: { readonly records: number; readonly largestMicros: number }
}

const unknown: ResourceLateness = {
  records: 0,
  largestMicros: 0,
  mostMicros: 0,
  reconciled: { records: 0, largestMicros: 0 },
}

const totals = (rows: readonly LatenessRow[]) => ({
  records: rows.reduce((sum, { records }) => sum + records, 0),
  largestMicros: Math.max(0, ...rows.map(({ largestMicros }) => largestMicros)),
})

function summary(rows: readonly LatenessRow[]): ResourceLateness {
  const walked = rows.filter(({ way }) => way === 'walk').toSorted((a, b) => b.upToMs - a.upToMs)
  const all = totals(walked)
  let rest = all.records / 1000
  const most = walked.find(({ records }) => {
    rest -= records
    return rest < 0
  })
  return {
    ...all,
    mostMicros: Math.min(all.largestMicros, (most?.upToMs ?? 0) * 1000),
    reconciled: totals(rows.filter(({ way }) => way === 'reconcile')),
  }
}

/** The lateness of every resource, by its name. */
export function latenessOf(rows: readonly LatenessRow[]): ReadonlyMap<string, ResourceLateness> {
  const names = new Set(rows.map(({ resource }) => resource))
  return new Map([...names].map((name) => [name, summary(rows.filter(({ resource }) => resource === name))]))
}

const latestMicros = ({ largestMicros, reconciled }: ResourceLateness): number =>
  Math.max(largestMicros, reconciled.largestMicros)

const minuteMs = 60_000
const mostOverlapMs = 6 * 3_600_000
const usualOverlapMs = 5 * minuteMs
/** Fewer records say nothing about how late the next ones will be. */
const fewRecords = 1000

/** How far before its watermark a walk of the resource begins, in milliseconds. */
export function overlapOf(
  overlap: number | 'auto',
  lateness: ReadonlyMap<string, ResourceLateness>,
  resource: string,
): number {
  if (overlap !== 'auto') return overlap
  const { records, largestMicros, reconciled } = lateness.get(resource) ?? unknown
  const twice = Math.max(minuteMs, Math.ceil((2 * largestMicros) / 1000))
  const base = records < fewRecords ? Math.max(usualOverlapMs, twice) : twice
  return Math.min(mostOverlapMs, reconciled.records > 0 ? 2 * base : base)
}

/** Whether records of the resource have been later than its walks go back, so that walks miss such records. */
export const isBeyondOverlap = (
  overlap: number | 'auto',
  lateness: ReadonlyMap<string, ResourceLateness>,
  resource: string,
): boolean => latestMicros(lateness.get(resource) ?? unknown) > 1000 * overlapOf(overlap, lateness, resource)

/** No quick walk goes back less far, unless the overlap is shorter. */
export const quickOverlapMs = 30_000

/**
 * The same for a quick walk: only as far back as records of the resource have been late, whatever found them, once
 * enough is known about them.
 */
export function quickOverlapOf(
  overlap: number | 'auto',
  lateness: ReadonlyMap<string, ResourceLateness>,
  resource: string,
): number {
  const whole = overlapOf(overlap, lateness, resource)
  const known = lateness.get(resource) ?? unknown
  if (known.records < fewRecords) return whole
  return Math.min(whole, Math.max(quickOverlapMs, Math.ceil((2 * latestMicros(known)) / 1000)))
}

/** What rings have done to a cursor since its last planned walk. */
export interface RungSince {
  /** The watermark of that walk. */
  readonly watermark: string
  /** When the last ring began. null if none moved the watermark. */
  readonly lastAt: string | null
  /** The least that rings went back. */
  readonly backMicros: number
}

/** Counts the records of one walk, or of one comparison, by how late they became visible. */
export class LatenessMeter {
  readonly #buckets = new Map<number, { records: number; largestMicros: number }>()
  #largest = 0
  readonly #tell: ((micros: number) => void) | undefined

  readonly #lateOnly: boolean
  readonly #rung: RungSince | undefined
  /** Stored records that were counted: a walk may read a page more than once. */
  readonly #counted = new Set<Int64>()

  /**
   * `since`: when the previous planned walk began; null if lateness can't be measured. `lateOnly`: records that came in
   * time aren't counted. `rung`: the walk reads again what rings have read since. `tell` is called for each counted
   * record.
   */
  constructor(
    private readonly since: string | null,
    {
      lateOnly = false,
      rung,
      tell,
    }: {
      readonly lateOnly?: boolean
      readonly rung?: RungSince | undefined
      readonly tell?: (micros: number) => void
    } = {},
  ) {
    this.#lateOnly = lateOnly
    this.#rung = rung
    this.#tell = tell
  }

  get largestMicros(): number {
    return this.#largest
  }

  get buckets(): readonly LatenessBucket[] {
    return [...this.#buckets].map(([upToMs, bucket]) => ({ upToMs, ...bucket }))
  }

  /**
   * Takes stored records: counts new ones and newer versions, but not those that came back to the list. `until`: the
   * time of their response at the source.
   */
  take(
    records: readonly { readonly id: Int64; readonly updatedAt: string }[],
    previous: ReadonlyMap<Int64, Version>,
    until?: string,
  ): void {
    if (this.since === null) return
    for (const { id, updatedAt } of records) {
      const stored = previous.get(id)
      if (stored && (listedVersion(stored) === null || stored.updatedAt >= updatedAt)) {
        if (this.#isOfRing(updatedAt, stored, until) && !this.#counted.has(id)) this.#count(0)
        this.#counted.add(id)
        continue
      }
      // Stamps before 1970 aren't real: nothing shows when such a record was made.
      if (updatedAt < unixEpoch) continue
      this.#counted.add(id)
      this.#count(Math.max(0, microsBetween(updatedAt, this.since), this.#lateForRings(updatedAt)))
    }
  }

  /**
   * Whether a ring has fetched the version in time. It counts, because this walk reads everything around it again.
   * Records that are stamped ahead don't: every walk reads them again.
   */
  #isOfRing(updatedAt: string, { deletedAt, updatedAt: kept }: Version, until = ''): boolean {
    if (this.since === null || this.#rung === undefined) return false
    const isSince = updatedAt > this.#rung.watermark && updatedAt >= this.since
    return isSince && updatedAt <= until && deletedAt === null && kept === updatedAt
  }

  /**
   * How late a record is at least that no ring has found. The last ring that went back far enough began before it
   * became visible. Either that was the last ring of all, or the next one started at a watermark that was newer than
   * the record by as much as rings go back.
   */
  #lateForRings(updatedAt: string): number {
    if (!this.#rung || this.#rung.lastAt === null) return 0
    return Math.min(microsBetween(updatedAt, this.#rung.lastAt), this.#rung.backMicros)
  }

  #count(micros: number): void {
    if (micros === 0 && this.#lateOnly) return
    this.#tell?.(micros)
    this.#largest = Math.max(this.#largest, micros)
    const upToMs = micros === 0 ? 0 : 2 ** Math.max(0, Math.ceil(Math.log2(micros / 1000)))
    const { records, largestMicros } = this.#buckets.get(upToMs) ?? { records: 0, largestMicros: 0 }
    this.#buckets.set(upToMs, { records: records + 1, largestMicros: Math.max(largestMicros, micros) })
  }
}

const microsBetween = (from: string, to: string): number => Number(toMicros(to) - toMicros(from))

const secondMicros = 1_000_000

/**
 * Up to when a cursor is complete if its walk began at that time: minus the largest lateness, and at least a second.
 */
export function completeThrough(began: string, known: ResourceLateness = unknown, ownMicros = 0): string {
  const late = Math.max(secondMicros, latestMicros(known), ownMicros)
  return addMicros(began, BigInt(-late))
}
