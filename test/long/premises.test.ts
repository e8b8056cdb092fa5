/**
 * For each premise of docs/guarantees.md, what the program does where it breaks: taken away, the test that the table names
 * fails, on every warehouse that is meant. `npm run test:long -- premises`; PREMISES='lease|waits' takes those whose premise
 * or mend matches.
 */
import { mutantSuite } from '../support/mutantsuite.js'
import { premiseMutants } from '../support/premises.js'

mutantSuite(premiseMutants, process.env.PREMISES)
