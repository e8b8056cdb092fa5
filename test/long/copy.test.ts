/** A copy is cut short at many moments more than in test/features/copy/copying.test.ts. */
import { copySuite } from '../support/copysuite.js'

await copySuite({ moments: 120 })
