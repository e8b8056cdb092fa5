/**
 * Incidents from their fault to their end (incidents.txt): each kind is told once within one run of its fault, and once within one
 * run of its end; what follows from a problem of the whole run isn't told.
 */
import { afterEach } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import type { RunOptions } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { kept, startRun } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf } from '../../support/world/alerting.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const { store } = sandbox
afterEach(closeAll)

type World = Awaited<ReturnType<typeof AlertingWorld.of>>

/** A run with these credentials, and what is told then. */
async function told(world: World, options: RunOptions, secret = sandbox.secret): Promise<string> {
  await world.run(options, { url: sandbox.url, partnerId: sandbox.partnerId, secret })
  return world.hook.take().map(lineOf).join('\n') || 'nothing'
}

const words: WordsOf<World> = {
  'notes of N fail': (_, tenant) =>
    sandbox.script([
      { when: { tenant: Number(tenant), resource: 'notes' }, fault: { kind: 'status', status: 500 } },
    ]),
  'all is well': () => sandbox.script([]),
  'a payment of REST': (_, text) => {
    const payment = { ...template('payments', 7, '2026-01-02T00:00:00Z'), ...JSON.parse(String(text)) }
    store.put(102, 'payments', payment, { key: 7 })
  },
  'no payment': () => store.remove(102, 'payments', 7),
  'N is granted': (_, tenant) => store.grant(Number(tenant)),
  'N is revoked': (_, tenant) => store.revoke(Number(tenant)),
  '(-?\\d+) days pass': (world, days) => world.pass(Number(days)),
  'the run WORD is killed': ({ warehouse, clock }, run_id = '') => {
    const run = {
      run_id,
      mode: 'sync',
      status: 'running',
      started_at: fromMicros(clock.nowMicros()),
    } as const
    return warehouse.write([startRun(warehouse.db, run)])
  },
  'run[ WORD]': (world, mode) => told(world, mode === undefined ? {} : ({ mode } as RunOptions)),
  'run of notes': (world) => told(world, { resources: ['notes'] }),
  'run with a wrong secret': (world) => told(world, {}, 'wrong'),
}

storyTests('test/features/alerts/incidents.txt', new Steps(words), (kind) => {
  const stock = kept(kind)
  return async () => AlertingWorld.of(sandbox, await stock.open())
})
