/**
 * Law 6 (motion) and law 9 (no wrong `proven`): whatever happens at the source between any two requests, a sync after
 * the source stops changing leaves every record of it in the warehouse in its newest version, no version is ever rolled back,
 * and no walk ever claims more than it has. What no sync can find, a reconcile does: rows that were lost, records that come
 * later than any overlap, or that a list lacks for a while; and it never marks a record as deleted that is there.
 *
 * `npm run test:long` plays many more scenarios: MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 *
 * A failure prints the shrunk script. To replay one (or a file of several, one JSON a line):
 *   MOTION_SCRIPT=script.json npx vitest run test/laws/motion.test.ts -t replay
 */

import { sized } from '../support/harness/size.js'
import { motionSuite } from '../support/world/motionsuite.js'

const times = Number(process.env.MOTION_TIMES ?? 1)

motionSuite({
  seed: sized(20_260_101, 20_260_202),
  amount: { cases: sized(5, 3000) * times },
  onPostgres: sized(0.5, 0.3),
  compared: 0.02,
})
