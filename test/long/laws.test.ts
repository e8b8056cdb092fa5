/** Laws 1, 2, 4, 5, 7 and 8 as in test/laws/laws.test.ts, over many more cases: LAWS_TIMES=4 for four times as many. */
import { lawSuite } from '../support/lawsuite.js'

lawSuite({ seed: 20_260_202, amount: { cases: 500 * Number(process.env.LAWS_TIMES ?? 1) } })
