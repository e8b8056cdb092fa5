/** Law 3 (crash) with real processes, as in test/laws/kill.test.ts, at sixteen times as many instants. */
import { killSuite } from '../support/killsuite.js'

await killSuite({ kills: 200, seed: 11 })
