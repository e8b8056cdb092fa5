import { Random } from '../../../src/sandbox/index.js'

/** Numbers in [0, 1), the same for the same seed. */
export function randomFrom(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}

export const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** How many events at a given rate fall into one step (Knuth; many are nearly normal). */
export function poisson(mean: number, random: () => number): number {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)))
  const least = Math.exp(-mean)
  let count = 0
  for (let product = random(); product > least; product *= random()) count++
  return count
}
