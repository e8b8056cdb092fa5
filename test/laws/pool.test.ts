/**
 * Equality with workers in real processes: one seed, and 100 in `npm run test:long` (SEEDS=… sets how many, FIRST=… with which).
 */

import { sized } from '../support/harness/size.js'
import { poolSuite } from '../support/world/poolsuite.js'

const { SEEDS = sized(1, 100), FIRST = 1 } = process.env

await poolSuite(
  Array.from({ length: Number(SEEDS) }, (_, n) => Number(FIRST) + n),
  sized(2, 5),
)
