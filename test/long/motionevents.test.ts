/**
 * Laws 6 and 9 with events from the source, as in test/laws/motionevents.test.ts, over many more scenarios.
 * MOTION_SEED=… plays others, MOTION_TIMES=4 four times as many.
 */
import { motionEventSuite } from '../support/motioneventsuite.js'

const { MOTION_SEED = '20260404', MOTION_TIMES = '1' } = process.env

motionEventSuite({ seed: Number(MOTION_SEED), scenarios: 150 * Number(MOTION_TIMES) })
