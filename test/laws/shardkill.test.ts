/** Equality with shards in real processes: one round, and 100 (ROUNDS=… sets how many) in `npm run test:long`. */

import { sized } from '../support/harness/size.js'
import { shardSuite } from '../support/world/shardsuite.js'

const { ROUNDS = sized(1, 100) } = process.env

await shardSuite({ rounds: Number(ROUNDS), seed: sized(7, 11) })
