/** Figures that outliers do not move: medians, and the interval in which a median lies. */

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2
}

export interface Interval {
  readonly low: number
  readonly median: number
  readonly high: number
  /** How often an interval made in this way holds the true median: 0.95 and more, where there are six values or more. */
  readonly confidence: number
}

/**
 * The narrowest pair of order statistics between which the true median lies with 95 % confidence. As in the sign test,
 * nothing is assumed of the values' distribution.
 */
export function medianInterval(values: readonly number[], wanted = 0.95): Interval {
  const sorted = values.toSorted((a, b) => a - b)
  const n = sorted.length
  // Chances of 0, 1, … of n values below the median; `outside` sums one tail.
  let chance = 0.5 ** n
  let [outside, cut] = [0, 0]
  while (cut < n >> 1 && 1 - 2 * (outside + chance) >= wanted) {
    outside += chance
    chance = (chance * (n - cut)) / (cut + 1)
    cut++
  }
  const at = Math.max(0, cut - 1)
  return {
    low: sorted[at] ?? 0,
    median: median(sorted),
    high: sorted[n - 1 - at] ?? 0,
    confidence: cut === 0 ? 1 - 2 * 0.5 ** n : 1 - 2 * outside,
  }
}
