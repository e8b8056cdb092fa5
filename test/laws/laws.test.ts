/** Laws 1, 2, 4, 5, 7 and 8 over some cases, always the same; test/long/laws.test.ts has more of them. */
import { lawSuite } from '../support/lawsuite.js'

lawSuite({ seed: 20_260_101, amount: { cases: 5 } })
