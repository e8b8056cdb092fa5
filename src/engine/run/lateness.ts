/*
 * Measures how late records become visible: a record that a walk finds, and whose stamp is older than the start of the
 * cursor's previous walk, wasn't visible then. The overlap "auto" is based on this, and so is how far a cursor is
 * complete.
 */
import type { Int64 } from '../../../schema/resource.js'
import { addMicros, toMicros } from '../base/timestamp.js'
import { unixEpoch } from '../walk/cutpoint.js'
import type { LatenessBucket, LatenessRow } from '../warehouse/latenessrows.js'
import type { Version } from '../warehouse/versionbatch.js'

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

const quickOverlapMs = 30_000

/**
 * The same for a quick walk: only as far back as records of the resource have been late, once enough is known about
 * them.
 */
export function quickOverlapOf(
  overlap: number | 'auto',
  lateness: ReadonlyMap<string, ResourceLateness>,
  resource: string,
): number {
  const whole = overlapOf(overlap, lateness, resource)
  const { records, largestMicros } = lateness.get(resource) ?? unknown
  if (records < fewRecords) return whole
  return Math.min(whole, Math.max(quickOverlapMs, Math.ceil((2 * largestMicros) / 1000)))
}

/** Counts the records of one walk, or of one comparison, by how late they became visible. */
export class LatenessMeter {
  readonly #buckets = new Map<number, { records: number; largestMicros: number }>()
  #largest = 0
  readonly #tell: ((micros: number) => void) | undefined

  readonly #lateOnly: boolean

  /**
   * `since`: when the previous walk began; null if lateness can't be measured. `lateOnly`: records that came in time
   * aren't counted. `tell` is called for each counted record.
   */
  constructor(
    private readonly since: string | null,
    {
      lateOnly = false,
      tell,
    }: { readonly lateOnly?: boolean; readonly tell?: (micros: number) => void } = {},
  ) {
    this.#lateOnly = lateOnly
    this.#tell = tell
  }

  get largestMicros(): number {
    return this.#largest
  }

  get buckets(): readonly LatenessBucket[] {
    return [...this.#buckets].map(([upToMs, bucket]) => ({ upToMs, ...bucket }))
  }

  /** Takes stored records: counts new ones and newer versions, but not those that came back from deletion. */
  take(
    records: readonly { readonly id: Int64; readonly updatedAt: string }[],
    previous: ReadonlyMap<Int64, Version>,
  ): void {
    if (this.since === null) return
    for (const { id, updatedAt } of records) {
      const stored = previous.get(id)
      if (stored && (stored.deletedAt !== null || stored.updatedAt >= updatedAt)) continue
      // Stamps before 1970 aren't real: nothing shows when such a record was made.
      if (updatedAt < unixEpoch) continue
      this.#count(updatedAt < this.since ? Number(toMicros(this.since) - toMicros(updatedAt)) : 0)
    }
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

const secondMicros = 1_000_000

/**
 * Up to when a cursor is complete if its walk began at that time: minus the largest lateness, and at least a second.
 */
export function completeThrough(
  began: string,
  { largestMicros, reconciled }: ResourceLateness = unknown,
  ownMicros = 0,
): string {
  const late = Math.max(secondMicros, largestMicros, reconciled.largestMicros, ownMicros)
  return addMicros(began, BigInt(-late))
}
