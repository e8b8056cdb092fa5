/**
 * Law 6 (motion) and law 9 (no wrong `proven`) where the source is heard. The scenarios are those of motion.test.ts; before
 * each of their runs events lie in the inbox, true and forged. What they only announce changes no verdict and no request of
 * a walk. With rings beside the runs and after them, and deletions that are asked for, everything that is claimed is true.
 */
import { motionEventSuite } from '../support/motioneventsuite.js'

motionEventSuite({ seed: 20_260_303, scenarios: 5 })
