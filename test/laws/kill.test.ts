/** Law 3 (crash) with real processes; test/long/kill.test.ts kills ten times as many. */
import { killSuite } from '../support/killsuite.js'

await killSuite({ kills: 4, seed: 7 })
