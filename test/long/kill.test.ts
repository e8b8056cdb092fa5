/**
 * Law 3 (crash) with real processes, as in test/laws/kill.test.ts, at twenty times as many instants; KILLS=… sets how
 * many.
 */
import { killSuite } from '../support/killsuite.js'

await killSuite({ kills: Number(process.env.KILLS ?? 40), seed: 11 })
