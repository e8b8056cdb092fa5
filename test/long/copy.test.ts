/** A copy is interrupted at many more moments than in test/features/copy/copying.test.ts. */
import { copySuite } from '../support/world/copysuite.js'

await copySuite({ moments: 120 })
