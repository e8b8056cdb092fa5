/** The stories of totals.txt. */
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { stories } from '../../support/world/listwords.js'

stories('test/engine/run/totals.txt', await sandboxOfFile(), { overlapMs: 0 })
