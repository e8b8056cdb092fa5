/** Law 3 (crash) with real processes; test/long/kill.test.ts kills twenty times as many. */
import { killSuite } from '../support/killsuite.js'

await killSuite({ kills: 2, seed: 7 })
