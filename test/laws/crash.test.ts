/** Law 3 (crash) at some moments of a run, and at every one in `npm run test:long`. */
import { crashSuite } from '../support/crashsuite.js'
import { sized } from '../support/size.js'

crashSuite({ isWhole: sized(false, true) })
