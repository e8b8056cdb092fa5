/** Law 3 (crash) with real processes: once, and 40 times (KILLS=… sets how often) in `npm run test:long`. */

import { sized } from '../support/harness/size.js'
import { killSuite } from '../support/world/killsuite.js'

const { KILLS = sized(1, 40) } = process.env

await killSuite({ kills: Number(KILLS), seed: sized(7, 11) })
