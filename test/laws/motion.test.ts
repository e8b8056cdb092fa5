/**
 * Law 5 (watermark), law 6 (motion) and law 9 (no wrong `proven`): whatever happens at the source between any two requests,
 * a sync after the source stops changing leaves every record of it in the warehouse in its newest version, no version is
 * ever rolled back, and no walk ever claims more than it has. What no sync can find, a reconcile does: rows that were lost,
 * records that come later than any overlap, or that a list lacks for a while; and it never marks a record as deleted that is
 * there. Over weeks of a list, answers of the source fail, clocks are wrong, and the warehouse is restored from a backup.
 *
 * `npm run test:long` plays many more scenarios: MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 *
 * A failure prints the shrunk script. To replay one (or a file of several, one JSON a line):
 *   CASES=script.json npx vitest run test/laws/motion.test.ts -t 'is read'
 */

import { sized } from '../support/harness/size.js'
import { lawSuite, motions } from '../support/world/lawsuite.js'

const { MOTION_SEED = sized(20_260_101, 20_260_202), MOTION_TIMES = 1 } = process.env

lawSuite(motions, {
  seed: Number(MOTION_SEED),
  amount: { cases: sized(5, 3000) * Number(MOTION_TIMES) },
})
