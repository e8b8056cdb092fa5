/** Without any one of them a copy is no copy: COPY='order|lease' takes those whose promise or mend matches. */
import { copyMutants } from '../support/copymutants.js'
import { mutantSuite } from '../support/mutantsuite.js'

mutantSuite(copyMutants, process.env.COPY)
