/** Law 3 (crash) at every moment, as in test/laws/crash.test.ts. */
import { crashSuite } from '../support/crashsuite.js'

crashSuite({ isWhole: true })
