/** The stories of wait.txt. */
import { request } from '../../support/harness/requests.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { HandClock } from '../../support/world/clocks.js'
import { runStories } from '../../support/world/runstory.js'

const begin = '2026-03-02T12:00:20Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock, rate: { limit: 40, window: 60 } })
const resources = ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles']

runStories(
  'test/engine/run/wait.txt',
  sandbox,
  { resources, clock, leaseMs: 600_000 },
  {
    'at 12:00:20': () => {
      clock.micros = BigInt(Date.parse(begin)) * 1000n
    },
    'others use the window up': async () => {
      let status = 200
      while (status === 200)
        status = (await request(sandbox, `/api/v1/partners/${sandbox.partnerId}/authorizations`)).status
    },
    now: () => new Date(Number(clock.micros / 1000n)).toISOString().slice(11, 19),
  },
)
