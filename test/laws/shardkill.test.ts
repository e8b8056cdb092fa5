/** Equality with shards in real processes: one round, and 100 (ROUNDS=… sets how many) in `npm run test:long`. */
import { shardSuite } from '../support/world/shardsuite.js'
import { sized } from '../support/world/size.js'

const { ROUNDS = sized(1, 100) } = process.env

await shardSuite({ rounds: Number(ROUNDS), seed: sized(7, 11) })
