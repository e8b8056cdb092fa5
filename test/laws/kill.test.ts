/** Law 3 (crash) with real processes; test/long/kill.test.ts kills sixteen times as many. */
import { killSuite } from '../support/killsuite.js'

await killSuite({ kills: 8, seed: 7 })
