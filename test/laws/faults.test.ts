/** The stories of faults.txt. Wrong clocks, and lists that change meanwhile, are in the law of motion. */
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { stories } from '../support/world/listwords.js'

const settings = { pageSizes: [10], readAhead: 0, maxBodyBytes: 400_000 }
stories('test/laws/faults.txt', await sandboxOfFile(), settings)
