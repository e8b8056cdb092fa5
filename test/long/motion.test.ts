/**
 * Laws 6 and 9 as in test/laws/motion.test.ts (which explains how to replay a failure), over many more scenarios.
 * MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 */
import { motionSuite } from '../support/motionsuite.js'

const times = Number(process.env.MOTION_TIMES ?? 1)

motionSuite({ seed: 20_260_202, amount: { cases: 3000 * times }, onPostgres: 0.3 })
