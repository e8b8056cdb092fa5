import { endOfSecond } from '../timestamp.js'
import { epoch } from '../walk/books.js'

/** Behind every record: the open end of a range. */
export const forever = '~'

/** Rows of the warehouse between two cut points; `end` is the last microsecond of a second, or `forever`. */
export interface Cell {
  readonly end: string
  readonly count: number
}

/** One record's row as it was and as it is: `updated_at` of the live row, null where there is none. */
export interface Move {
  readonly before: string | null
  readonly after: string | null
}

/** How many newer rows than t a move adds. */
export const gain = ({ before, after }: Move, t: string): number =>
  (after !== null && after > t ? 1 : 0) - (before !== null && before > t ? 1 : 0)

/**
 * How the live rows of a cursor lie in time: counted once, cell by cell, and kept up to date from then on, so that
 * a comparison with the source asks the warehouse for counts no more.
 */
export class RowHistogram {
  readonly #ends: string[] = []
  readonly #counts: number[] = []
  /** Rows behind each cell; undefined while they have to be added up again. */
  #behind: number[] | undefined

  /** Cells in order, oldest first; the last ends at `forever`. */
  constructor(cells: readonly Cell[]) {
    for (const { end, count } of cells) {
      this.#ends.push(end)
      this.#counts.push(count)
    }
    if (this.#ends.at(-1) !== forever) {
      this.#ends.push(forever)
      this.#counts.push(0)
    }
  }

  /** Rows newer than a cut point. */
  after(t: string): number {
    const behind = this.#sums()
    return t === epoch ? (behind[0] ?? 0) + (this.#counts[0] ?? 0) : (behind[this.#find(t)] ?? 0)
  }

  #sums(): number[] {
    if (this.#behind) return this.#behind
    const behind = this.#counts.map(() => 0)
    for (let i = behind.length - 2; i >= 0; i--) behind[i] = (behind[i + 1] ?? 0) + (this.#counts[i + 1] ?? 0)
    this.#behind = behind
    return behind
  }

  between(lo: string, hi: string): number {
    return this.after(lo) - (hi === forever ? 0 : this.after(hi))
  }

  /** Enters a change of the warehouse. */
  move({ before, after }: Move): void {
    if (before !== null) this.#add(before, -1)
    if (after !== null) this.#add(after, 1)
  }

  /** A cut point inside the range that parts its rows best; undefined when it is one cell. */
  middle(lo: string, hi: string): string | undefined {
    const [first, last] = [this.#cell(lo) + 1, hi === forever ? this.#ends.length - 1 : this.#cell(hi)]
    if (first >= last) return undefined
    const half = this.after(lo) - this.between(lo, hi) / 2
    const behind = this.#sums()
    let [from, to] = [first, last - 1]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((behind[middle] ?? 0) > half) from = middle + 1
      else to = middle
    }
    const isNearer = from > first && (behind[from - 1] ?? 0) - half < half - (behind[from] ?? 0)
    return this.#ends[isNearer ? from - 1 : from]
  }

  /** The cut point at or behind the n-th row from the oldest; undefined behind the last one. */
  cutAt(n: number): string | undefined {
    const rows = this.after(epoch)
    const i = this.#sums().findIndex((behind) => rows - behind >= n)
    return i < 0 || i === this.#ends.length - 1 ? undefined : this.#ends[i]
  }

  /** Puts finer cells in the place of those between two cut points. */
  refine(lo: string, hi: string, cells: readonly Cell[]): void {
    const from = this.#cell(lo) + 1
    const until = hi === forever ? this.#ends.length - 1 : this.#cell(hi)
    const whole = cells.at(-1)?.end === hi ? cells : [...cells, { end: hi, count: 0 }]
    this.#ends.splice(from, until - from + 1, ...whole.map(({ end }) => end))
    this.#behind = undefined
    this.#counts.splice(from, until - from + 1, ...whole.map(({ count }) => count))
  }

  /** The cell that ends at the cut point, or -1 in front of all. */
  #cell(cut: string): number {
    return cut === epoch ? -1 : this.#find(cut)
  }

  #add(time: string, n: number): void {
    this.#behind = undefined
    const i = this.#find(time)
    this.#counts[i] = (this.#counts[i] ?? 0) + n
  }

  /** The first cell that does not end before the instant. */
  #find(time: string): number {
    let [from, to] = [0, this.#ends.length - 1]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#ends[middle] ?? '') < time) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** Cells of about so many rows each, of times in order: a second is never parted. */
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
