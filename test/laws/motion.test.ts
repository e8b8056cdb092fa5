/**
 * Law 6 (motion) and law 9 (no wrong `proven`): whatever happens at the source between any two requests, a sync after
 * the source stops changing leaves every record of it in the warehouse in its newest version, no version is ever rolled back,
 * and no walk ever claims more than it has.
 *
 * A failure prints the shrunk script. To replay one (or a file of several, one JSON a line):
 *   MOTION_SCRIPT=script.json npx vitest run test/laws/motion.test.ts -t replay
 */
import { motionSuite } from '../support/motionsuite.js'

motionSuite({ seed: 20_260_101, amount: { cases: 5 }, onPostgres: 0.5 })
