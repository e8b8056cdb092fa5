/**
 * Law 6 (motion) and law 9 (no wrong `proven`) with events from the source. The scenarios are those of motion.test.ts;
 * before each run there are events in the inbox, genuine and forged. What they merely announce changes no verdict and
 * no request of a walk. With rings alongside the runs and after them, and with deletions that are looked up, everything
 * that is claimed is true.
 */
import { motionEventSuite } from '../support/motioneventsuite.js'

motionEventSuite({ seed: 20_260_303, scenarios: 2 })
