/*
 * How far a cursor is complete after a walk, and how late the records were that the walk found. Used by the incremental
 * walk and the sync of names.
 */
import type { Int64 } from '../../../schema/resource.js'
import { addMicros, fromMicros } from '../base/timestamp.js'
import { type Clocks, sourceTime } from '../list/clocks.js'
import type { WalkOutcome } from '../list/types.js'
import { moveCursor } from '../warehouse/state/cursors.js'
import { addLateness } from '../warehouse/state/latenessrows.js'
import type { Applied } from '../warehouse/store/versionbatch.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import {
  completeThrough,
  isBeyondOverlap,
  LatenessMeter,
  overlapOf,
  quickOverlapMs,
  type RungSince,
} from './lateness.js'
import { OlderVersions } from './olderversions.js'
import { Arrivals, polled } from './polls.js'
import type { CursorRun } from './tenant.js'

/** When the request for a walk's first response was answered: the earlier of the source's clock and ours. */
const firstAnsweredAt = ({ source, own }: Clocks): string => {
  const date = source === null ? own : `${source.slice(0, 19)}.000000Z`
  return date < own ? date : own
}

/** When the last finished walk of any kind began, by the source's clock. By ours if the source has none. */
export function lastWalkedAt({ run, source, state }: CursorRun<Warehouse>): string {
  const now = run.clock.nowMicros()
  const { serverTime } = source.stats()
  const ahead = serverTime === undefined ? 0n : BigInt(Math.floor(serverTime)) * 1000n - now
  return addMicros(state?.polled_at ?? fromMicros(now), ahead)
}

/** undefined if no planned walk has ended. */
function rungSince(cursor: CursorRun): RungSince | undefined {
  const { run, state, resource } = cursor
  const watermark = state?.planned_watermark ?? null
  if (watermark === null) return undefined
  const lastAt = state?.watermark === watermark ? null : lastWalkedAt(cursor)
  const backMs = Math.min(quickOverlapMs, overlapOf(run.config.sync.overlap, run.lateness, resource.name))
  return { watermark, lastAt, backMicros: backMs * 1000 }
}

/** A walk that proved nothing leaves the next one nothing to measure from. */
export const unmeasured = { walked_at: null }

export class Freshness {
  #clocks: Clocks | undefined
  readonly #meter: LatenessMeter
  readonly #older: OlderVersions
  /** undefined if the walk reads what earlier ones left out on purpose. */
  readonly #arrivals: Arrivals | undefined

  /** Rows of the list may be missing until another walk reads it whole; that walk moves the complete-through time. */
  readonly #isLacking: boolean
  readonly #isQuick: boolean
  readonly #isWhole: boolean

  /**
   * `isMeasured` is false if a walk reads what earlier ones left out on purpose. `isNews`: it reads only what is new,
   * whatever else the list has to be read for. `isQuick`: it goes back less far than records may be late. So it shows
   * nothing about how late they are at most, and only planned walks are measured from. What it does find late is late.
   * `isWhole`: it reads the whole list.
   */
  constructor(
    private readonly cursor: CursorRun,
    {
      isMeasured,
      isNews = false,
      isQuick = false,
      isWhole = false,
    }: {
      readonly isMeasured: boolean
      readonly isNews?: boolean
      readonly isQuick?: boolean
      readonly isWhole?: boolean
    },
  ) {
    const { state, stats, resource } = cursor
    const since = state?.status === 'ok' ? state.walked_at : null
    const tell = (micros: number): void => stats.late(resource.name, micros)
    const rung = isQuick ? undefined : rungSince(cursor)
    this.#meter = new LatenessMeter(isMeasured ? since : null, { lateOnly: isQuick, rung, tell })
    this.#isQuick = isQuick
    this.#isWhole = isWhole
    this.#isLacking = isNews && state?.refill != null
    this.#older = new OlderVersions(cursor.run.stamps)
    this.#arrivals = isMeasured ? new Arrivals() : undefined
  }

  /** Takes the clocks of a response. Those of the walk's first response count. */
  answered(clocks: Clocks | undefined): void {
    this.#clocks ??= clocks
  }

  /** By the source's clock, or by ours if the source has none. */
  get walkedAt(): string | null {
    if (!this.#clocks) return null
    const { source, own } = this.#clocks
    return source === null ? own : `${source.slice(0, 19)}.000000Z`
  }

  /** Takes stored records. `clocks`: those of the response that contained them. */
  stored(
    records: Parameters<LatenessMeter['take']>[0],
    { previous }: Pick<Applied, 'previous'>,
    clocks: Clocks | undefined,
  ): void {
    this.#meter.take(records, previous, sourceTime(clocks))
    this.#arrivals?.take(records, previous, clocks)
    this.#older.take(records, previous)
  }

  /** The cursor's columns after a walk. A walk that proves nothing leaves the next one nothing to measure from. */
  columns({ verdict }: WalkOutcome) {
    const planned = (columns: { walked_at: string | null }) => (this.#isQuick ? {} : columns)
    if (verdict !== 'proven' && verdict !== 'repaired') return planned(unmeasured)
    if (!this.#clocks) return {}
    const walked = planned({ walked_at: this.walkedAt })
    if (this.#isLacking) return walked
    const { run, resource } = this.cursor
    const known = run.lateness.get(resource.name)
    const through = completeThrough(firstAnsweredAt(this.#clocks), known, this.#meter.largestMicros)
    return { ...walked, complete_through: through, complete_through_before: this.#setBackFrom(through) }
  }

  /**
   * Where a late record set the cursor back from; null once it is complete up to there again. If records are later than
   * walks go back, only a reading of the whole list shows that none is missing.
   */
  #setBackFrom(through: string): string | null {
    const { run, resource, state } = this.cursor
    if (this.#isWhole) return null
    const { complete_through: known = null, complete_through_before: before = null } = state ?? {}
    if (before === null) return known !== null && through < known ? known : null
    const { overlap } = run.config.sync
    return through < before || isBeyondOverlap(overlap, run.lateness, resource.name) ? before : null
  }

  /** The columns of a poll that began at that time. `keep` adds what its last page contained. */
  polled(at: string, { verdict }: WalkOutcome) {
    const nothing = { news: 0, unannounced: 0, isWhole: verdict !== 'unproven' }
    return polled(this.cursor.state, at, this.#arrivals && nothing)
  }

  /** The column of a first load, which also checks for deletions. */
  firstLoad({ verdict }: WalkOutcome) {
    const isWhole = verdict === 'proven' || verdict === 'repaired'
    return isWhole && this.#clocks ? { deletes_checked_at: firstAnsweredAt(this.#clocks) } : {}
  }

  /** Records for which the walk met an older version than their row. */
  get older(): ReadonlySet<Int64> {
    return this.#older.ids
  }

  /**
   * Stores what was measured. Comes after the walk's last page, which may have contained late records and news itself.
   * `twice`: places where the list is known to show a record again. Returns how many records have older versions than
   * their rows.
   */
  async keep(
    outcome: WalkOutcome,
    { startedAt, twice }: { readonly startedAt: string; readonly twice: number },
  ): Promise<number> {
    const { warehouse, key } = this.cursor
    const late = this.#meter.largestMicros > 0 ? this.columns(outcome) : {}
    const { columns: news, statements } = await this.#news(startedAt)
    const columns = { ...late, ...news }
    const isMoved = Object.keys(columns).length > 0
    const all = [
      ...this.#lateness(),
      ...statements,
      ...(isMoved ? [moveCursor(warehouse.db, key, columns)] : []),
    ]
    if (all.length > 0) await warehouse.write(all)
    return this.#older.tell(this.cursor.warn, Math.max(twice, outcome.finding?.twice ?? 0))
  }

  /**
   * What a poll has found. A process that is killed before this is stored forgets some news; that only affects an
   * estimated rate.
   */
  async #news(startedAt: string) {
    const arrivals = this.#arrivals
    if (!arrivals || arrivals.count === 0) return { columns: {}, statements: [] }
    const { run, state } = this.cursor
    const found = await run.arrived?.(this.cursor, arrivals)
    const news = arrivals.news
    const counted = { news, unannounced: found?.unannounced ?? news }
    return { columns: polled(state, startedAt, counted), statements: found?.statements ?? [] }
  }

  #lateness() {
    const { warehouse, resource } = this.cursor
    const day = this.cursor.now().slice(0, 10)
    return addLateness(warehouse.db, { resource: resource.name, day, way: 'walk' }, this.#meter.buckets)
  }
}
