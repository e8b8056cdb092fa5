/** Law 3 (crash) at some moments of a run, and at every one in `npm run test:long`. */
import { crashSuite } from '../support/world/crashsuite.js'
import { sized } from '../support/world/size.js'

crashSuite({ isWhole: sized(false, true) })
