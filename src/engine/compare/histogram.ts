/**
 * What a comparison counts: how the live rows of a cursor are spread over time, cell by cell, and how far the source's
 * counts differ from them. bisect.ts uses it; features/reconcile makes the cells.
 */
import { endOfSecond } from '../base/timestamp.js'
import { type AnomalyCounts, noAnomalies, sumAnomalies } from '../list/anomalies.js'
import { epoch, forever } from '../list/cutpoint.js'

/** Rows of the warehouse between two cut points. `end` is the last microsecond of a second, or `forever`. */
export interface Cell {
  readonly end: string
  readonly count: number
}

/** One record's row before and after a change: `updated_at` of the live row, null if there isn't one. */
export interface Move {
  readonly before: string | null
  readonly after: string | null
}

/** By how much a move changes the number of rows newer than t. */
const gain = ({ before, after }: Move, t: string): number =>
  (after !== null && after > t ? 1 : 0) - (before !== null && before > t ? 1 : 0)

/**
 * The first place from `from` to `to` for which the test holds, provided it holds for every later place; otherwise
 * `to`.
 */
export function firstPlace(from: number, to: number, holds: (i: number) => boolean): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * The warehouse counts its rows once. After that, the histogram is updated move by move, so a comparison needs no more
 * counts from the warehouse.
 */
export class RowHistogram {
  readonly #ends: string[]
  readonly #counts: number[]
  /** Rows after each cell. undefined after a change, until the next count is needed. */
  #behind: number[] | undefined

  /** Takes cells in order, oldest first. The stored cells begin with `epoch` and end with `forever`. */
  constructor(cells: readonly Cell[]) {
    const whole = [{ end: epoch, count: 0 }, ...endingAt(forever, cells)]
    this.#ends = whole.map(({ end }) => end)
    this.#counts = whole.map(({ count }) => count)
  }

  /** Rows newer than a cut point. */
  after(t: string): number {
    return this.#sums()[this.#find(t)] ?? 0
  }

  #sums(): number[] {
    if (this.#behind) return this.#behind
    const behind = this.#counts.map(() => 0)
    for (let i = behind.length - 2; i >= 0; i--) behind[i] = (behind[i + 1] ?? 0) + (this.#counts[i + 1] ?? 0)
    this.#behind = behind
    return behind
  }

  between(lo: string, hi: string): number {
    return this.after(lo) - this.after(hi)
  }

  /** Records a change in the warehouse. */
  move({ before, after }: Move): void {
    if (before !== null) this.#add(before, -1)
    if (after !== null) this.#add(after, 1)
  }

  /** The cut point that divides the range's rows most evenly. undefined if the range is one cell. */
  middle(lo: string, hi: string): string | undefined {
    const [first, last] = [this.#find(lo) + 1, this.#find(hi)]
    if (first >= last) return undefined
    const half = this.after(lo) - this.between(lo, hi) / 2
    const behind = this.#sums()
    const i = firstPlace(first, last - 1, (cell) => (behind[cell] ?? 0) <= half)
    const isNearer = i > first && (behind[i - 1] ?? 0) - half < half - (behind[i] ?? 0)
    return this.#ends[isNearer ? i - 1 : i]
  }

  /** The cut point at or after the n-th row from the oldest. undefined if that is the end. */
  cutAt(n: number): string | undefined {
    const rows = this.after(epoch)
    const i = this.#sums().findIndex((behind) => rows - behind >= n)
    return i < 0 || i === this.#ends.length - 1 ? undefined : this.#ends[i]
  }

  /** Replaces the cells between two cut points by finer ones. */
  refine(lo: string, hi: string, cells: readonly Cell[]): void {
    const [from, until] = [this.#find(lo) + 1, this.#find(hi)]
    const whole = endingAt(hi, cells)
    this.#ends.splice(from, until - from + 1, ...whole.map(({ end }) => end))
    this.#counts.splice(from, until - from + 1, ...whole.map(({ count }) => count))
    this.#behind = undefined
  }

  #add(time: string, n: number): void {
    this.#behind = undefined
    const i = this.#find(time)
    this.#counts[i] = (this.#counts[i] ?? 0) + n
  }

  /** The first cell that ends at the instant or later. */
  #find(time: string): number {
    return firstPlace(0, this.#ends.length - 1, (i) => (this.#ends[i] ?? '') >= time)
  }
}

const endingAt = (end: string, cells: readonly Cell[]): readonly Cell[] =>
  cells.at(-1)?.end === end ? cells : [...cells, { end, count: 0 }]

/** Cells of about this many rows each, from times in order. A cell never splits a second. */
export function cellsOf(times: readonly string[], rowsEach: number): Cell[] {
  const cells: Cell[] = []
  let count = 0
  for (const [i, time] of times.entries()) {
    count++
    const next = times[i + 1]
    const end = endOfSecond(time)
    if (next !== undefined && (count < rowsEach || next <= end)) continue
    cells.push({ end, count })
    count = 0
  }
  return cells
}

/**
 * Counts at cut points: how many more records newer than a cut point the source has than the warehouse. If the
 * difference is the same at both ends of a range, both sides hold equally many records in it.
 */
export class Differences {
  readonly #at = new Map<string, number>([[forever, 0]])
  /** What the source counts but can never be a row, by the cut point before it. */
  readonly #anomalies = new Map<string, AnomalyCounts>()

  get isEven(): boolean {
    return this.uneven === 0
  }

  /** The number of cut points at which the counts differ. */
  get uneven(): number {
    return [...this.#at.values()].filter((difference) => difference !== 0).length
  }

  /** The number of cut points that were counted. */
  get counted(): number {
    return this.#at.size - 1
  }

  has(cut: string): boolean {
    return this.#at.has(cut)
  }

  at(cut: string): number {
    return this.#at.get(cut) ?? 0
  }

  anomaliesAfter(cut: string): AnomalyCounts {
    return [...this.#anomalies].reduce(
      (sum, [at, met]) => (at >= cut ? addAnomalies(sum, met) : sum),
      noAnomalies,
    )
  }

  enter(cut: string, records: number, rows: number): void {
    this.#at.set(cut, records - rows - sumAnomalies(this.anomaliesAfter(cut)))
  }

  /** A change that brought the warehouse closer to the source: the row no longer counts as a difference. */
  mended(move: Move): void {
    for (const [cut, difference] of this.#at) this.#at.set(cut, difference - gain(move, cut))
  }

  /** These records, newer than the cut point, can never be rows, so they explain that much of the difference. */
  explain(anomalies: AnomalyCounts, at: string): void {
    const records = sumAnomalies(anomalies)
    if (records === 0) return
    this.#anomalies.set(at, addAnomalies(this.#anomalies.get(at) ?? noAnomalies, anomalies))
    for (const [cut, difference] of this.#at) if (cut <= at) this.#at.set(cut, difference - records)
  }
}

const addAnomalies = (a: AnomalyCounts, b: AnomalyCounts): AnomalyCounts => ({
  unstorable: a.unstorable + b.unstorable,
  repeated: a.repeated + b.repeated,
  unreadable: a.unreadable + b.unreadable,
  hidden: a.hidden + b.hidden,
})
