/** Law 3 (crash) with real processes: twice, and 40 times (KILLS=… sets how often) in `npm run test:long`. */
import { killSuite } from '../support/killsuite.js'
import { sized } from '../support/size.js'

const { KILLS = sized(2, 40) } = process.env

await killSuite({ kills: Number(KILLS), seed: sized(7, 11) })
