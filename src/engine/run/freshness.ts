/*
 * How far a cursor is complete after a walk, and how late the records were that the walk found. The incremental walk and
 * the sync of names use it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clocks } from '../walk/clocks.js'
import type { WalkOutcome } from '../walk/types.js'
import { moveCursor } from '../warehouse/cursors.js'
import { addLateness } from '../warehouse/latenessrows.js'
import type { Applied } from '../warehouse/versionbatch.js'
import { completeThrough, LatenessMeter } from './lateness.js'
import { OlderVersions } from './olderversions.js'
import type { CursorRun } from './tenant.js'

/** When the request of a walk's first response was answered: the earlier of the source's clock and ours. */
const beginningOf = ({ source, own }: Clocks): string => {
  const date = source === null ? own : `${source.slice(0, 19)}.000000Z`
  return date < own ? date : own
}

/** A walk that proved nothing: the next one has nothing to measure from. */
export const unmeasured = { walked_at: null }

export class Freshness {
  #clocks: Clocks | undefined
  readonly #meter: LatenessMeter
  readonly #older: OlderVersions

  /** Rows of the list may be lacking until another walk reads it whole: what is complete moves with that one. */
  readonly #isLacking: boolean

  /**
   * Where a walk reads what earlier ones have left out on purpose, `isMeasured` is false. `isNews`: it reads only what is
   * new, whatever else the list is to be read for.
   */
  constructor(
    private readonly cursor: CursorRun,
    { isMeasured, isNews = false }: { readonly isMeasured: boolean; readonly isNews?: boolean },
  ) {
    const { state, stats, resource } = cursor
    const since = state?.status === 'ok' ? (state.walkedAt ?? null) : null
    const tell = (micros: number): void => stats.late(resource.name, micros)
    this.#meter = new LatenessMeter(isMeasured ? since : null, { tell })
    this.#isLacking = isNews && state?.refill != null
    this.#older = new OlderVersions(cursor.now())
  }

  /** Takes the clocks of a response: those of the walk's first one count. */
  answered(clocks: Clocks | undefined): void {
    this.#clocks ??= clocks
  }

  /** By the source's clock; by ours where the source has none. */
  get walkedAt(): string | null {
    if (!this.#clocks) return null
    const { source, own } = this.#clocks
    return source === null ? own : `${source.slice(0, 19)}.000000Z`
  }

  stored(records: Parameters<LatenessMeter['take']>[0], { previous }: Pick<Applied, 'previous'>): void {
    this.#meter.take(records, previous)
    this.#older.take(records, previous)
  }

  /** The columns of the cursor after a walk: one that proves nothing leaves the next one nothing to measure from. */
  columns({ verdict }: WalkOutcome) {
    if (verdict !== 'proven' && verdict !== 'repaired') return unmeasured
    if (!this.#clocks) return {}
    if (this.#isLacking) return { walked_at: this.walkedAt }
    const { run, resource, state } = this.cursor
    const known = run.lateness.get(resource.name)
    const through = completeThrough(beginningOf(this.#clocks), known, this.#meter.largestMicros)
    const before = state?.completeThroughBefore ?? state?.completeThrough ?? null
    return {
      walked_at: this.walkedAt,
      complete_through: through,
      complete_through_before: before !== null && through < before ? before : null,
    }
  }

  /** The column of a first load, which is a check for deletions as well. */
  firstLoad({ verdict }: WalkOutcome) {
    const isWhole = verdict === 'proven' || verdict === 'repaired'
    return isWhole && this.#clocks ? { deletes_checked_at: beginningOf(this.#clocks) } : {}
  }

  /** Records that the walk has met in older versions than their rows. */
  get older(): ReadonlySet<Int64> {
    return this.#older.ids
  }

  /**
   * Keeps what was measured. It comes after the walk's last page, which may have brought late records itself. `twice`:
   * places at which the list is known to show a record again. Returns how many records have older versions than their rows.
   */
  async keep(outcome: WalkOutcome, twice: number): Promise<number> {
    await this.#keepLateness(outcome)
    return this.#older.tell(this.cursor.warn, Math.max(twice, outcome.finding?.twice ?? 0))
  }

  async #keepLateness(outcome: WalkOutcome): Promise<void> {
    const { warehouse, key, resource } = this.cursor
    const day = this.cursor.now().slice(0, 10)
    const added = addLateness(
      warehouse.db,
      { resource: resource.name, day, way: 'walk' },
      this.#meter.buckets,
    )
    if (added.length === 0) return
    const cursor = moveCursor(warehouse.db, key, this.columns(outcome))
    await warehouse.write(this.#meter.largestMicros > 0 ? [...added, cursor] : added)
  }
}
