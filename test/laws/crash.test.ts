/** Law 3 (crash) inside each transaction and after each commit; test/long/crash.test.ts tries every moment. */
import { crashSuite } from '../support/crashsuite.js'

crashSuite({ isWhole: false })
