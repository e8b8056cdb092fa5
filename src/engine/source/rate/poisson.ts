/**
 * The smallest k for which more than k events are less likely than `risk`, when `mean` are expected. Used to leave room
 * for the requests of others.
 */
export function poissonQuantile(mean: number, risk: number): number {
  if (mean <= 0) return 0
  if (mean > 60) return Math.ceil(mean + 2.7 * Math.sqrt(mean) + 1)
  let term = Math.exp(-mean)
  let covered = term
  let k = 0
  while (1 - covered > risk) {
    k++
    term *= mean / k
    covered += term
  }
  return k
}
