/** Law 3 (crash) at some moments of a run, and at every one in `npm run test:long`. */

import { sized } from '../support/harness/size.js'
import { crashSuite } from '../support/world/crashsuite.js'

crashSuite({ isWhole: sized(false, true) })
