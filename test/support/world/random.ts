import { Random } from '../../../src/sandbox/index.js'

/** Numbers in [0, 1), the same for the same seed. */
export function randomFrom(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}
