/** Statistics that outliers don't affect: medians, and the interval that contains a median. */

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2
}

/**
 * The narrowest pair of order statistics between which the true median lies with 95 % confidence. Like the sign test,
 * it assumes nothing about the distribution of the values. `confidence`: how often an interval made this way contains the
 * true median: at least 0.95 if there are six or more values.
 */
export function medianInterval(values: readonly number[], wanted = 0.95) {
  const sorted = values.toSorted((a, b) => a - b)
  const n = sorted.length
  // Probabilities of 0, 1, … of n values below the median; `outside` sums one tail.
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

/** The value below which that share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
