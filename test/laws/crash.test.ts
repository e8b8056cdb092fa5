/** Law 3 (crash) inside of each transaction and after each commit; test/long/crash.test.ts takes every moment. */
import { crashSuite } from '../support/crashsuite.js'

crashSuite({ isWhole: false })
