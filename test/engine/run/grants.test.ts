/** The stories of grants.txt. */
import { carryOut, forget } from '../../support/harness/commands.js'
import { type RunOptions, readAuthorizations } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { runStories } from '../../support/world/runstory.js'

const sandbox = await sandboxOfFile()
/** Pages of authorizations of 20, and of 5. */
const sizes: Record<string, RunOptions> = {
  few: { resources: ['statuses'], pageSize: 20 },
  small: { resources: ['statuses'], pageSize: 5 },
}

runStories(
  'test/engine/run/grants.txt',
  sandbox,
  { resources: ['notes', 'vehicles'] },
  {
    'run (few|small)': (story, size) => story.run(sizes[size!]!),
    'read authorizations': async (story) => {
      sandbox.resetRequests()
      const { total } = await carryOut(sandbox, story.warehouse, readAuthorizations)
      return `${total} after ${story.asked} requests`
    },
    shuffled: () => Object.assign(sandbox.store, { shuffleTies: true }),
    'in order': () => Object.assign(sandbox.store, { shuffleTies: false }),
    'revoked when its vehicles are asked for': () => {
      sandbox.onRequest(({ tenant, resource }) => {
        if (tenant === 101 && resource === 'vehicles') sandbox.store.revoke(101)
      })
    },
    'forget N': async ({ warehouse }, id) => {
      await forget(sandbox, warehouse, Number(id))
    },
  },
)
