/** Laws 6 and 9 as in test/laws/motion.test.ts (which says how to replay a failure), over many more scenarios. */
import { motionSuite } from '../support/motionsuite.js'

motionSuite({ seed: 20_260_202, sqlite: 9000, postgres: 1000, windowsInThousand: 10 })
