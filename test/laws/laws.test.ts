/**
 * Laws 1, 2 and 4 over some cases, always the same, and over many more in `npm run test:long`: LAWS_TIMES=4 for
 * four times as many.
 */

import { sized } from '../support/harness/size.js'
import { lawSuite, laws } from '../support/world/lawsuite.js'

const times = Number(process.env.LAWS_TIMES ?? 1)

lawSuite(laws, { seed: sized(20_260_101, 20_260_202), amount: { cases: sized(5, 500) * times } })
