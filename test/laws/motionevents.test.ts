/**
 * Law 6 (motion) and law 9 (no wrong `proven`) with events from the source. The scenarios are those of motion.test.ts;
 * before each run there are events in the inbox, genuine and forged. What they merely announce changes no verdict and
 * no request of a walk. With rings alongside the runs and after them, and with deletions that are looked up, everything
 * that is claimed is true.
 * `npm run test:long` plays many more scenarios: MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 */

import { sized } from '../support/harness/size.js'
import { motionEventSuite } from '../support/world/motioneventsuite.js'

const { MOTION_SEED = sized(20_260_303, 20_260_404), MOTION_TIMES = '1' } = process.env

motionEventSuite({ seed: Number(MOTION_SEED), scenarios: sized(1, 150) * Number(MOTION_TIMES) })
