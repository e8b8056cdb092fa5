/**
 * Incidents from their fault to their end: each kind is told once within one run of its fault, and once within one run of
 * its end; what follows from a problem of the whole run isn't told.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import type { RunOptions } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { kept, startRun, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf } from '../../support/world/alerting.js'

const sandbox = await sandboxOfFile()
afterEach(closeAll)

const failing = [
  { when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } },
] as const
const every = (kind: string): string =>
  [101, 102].flatMap((tenant) => ['notes', 'payments'].map((of) => `${kind} ${tenant}/${of}`)).join(', ')

interface Stage {
  readonly world: AlertingWorld
  readonly warehouse: Warehouse
}

/** A payment of tenant 102. */
const pay = (updated_at: string, more: object = {}): void =>
  void sandbox.store.put(
    102,
    'payments',
    { ...template('payments', 7, '2026-01-02T00:00:00Z'), updated_at, ...more },
    { key: 7 },
  )

/** The run before died without a word. */
const killed = ({ world, warehouse }: Stage, run_id: string): Promise<unknown> => {
  const started_at = fromMicros(world.clock.nowMicros())
  return warehouse.write([startRun(warehouse.db, { run_id, mode: 'sync', status: 'running', started_at })])
}

const nothing = (): void => {}
const fails = (): void => sandbox.script(failing)
const heals = (): void => sandbox.script([])
const both = (what: 'grant' | 'revoke') => (): void => {
  for (const tenant of [101, 102]) sandbox.store[what](tenant)
}
const days = (amount: number) => (stage: Stage) => stage.world.pass(amount)
const kill = (run_id: string) => (stage: Stage) => killed(stage, run_id)

type Ran = RunOptions & { readonly secret?: string }
const full: Ran = { mode: 'full' }
const reconcile: Ran = { mode: 'reconcile' }
const refused: Ran = { secret: 'wrong' }

/** What happens, the run after it, and what is told then. */
type Step = readonly [name: string, happens: (stage: Stage) => unknown, run: Ran, ...told: string[]]

const story: readonly Step[] = [
  ['first sync', nothing, {}],
  ['a cursor fails', fails, {}, 'opened: failed 101/notes'],
  ['it still fails', nothing, {}],
  ['it is well again', heals, {}, 'resolved: failed 101/notes'],
  [
    'a record that cannot be stored',
    () => pay('yesterday'),
    full,
    'opened: quarantine 102/payments, unproven 102/payments',
  ],
  [
    'a value that cannot be stored',
    () => {
      sandbox.store.remove(102, 'payments', 7)
      pay('2026-01-03T00:00:00Z', { amount_cents: 12.5 })
    },
    full,
    'resolved: unproven 102/payments',
  ],
  [
    'a good value, and a new field',
    () => pay('2026-01-04T00:00:00Z', { amount_cents: 1250, loyalty: 'gold' }),
    full,
    'opened: drift 102/payments',
    'resolved: quarantine 102/payments',
  ],
  ['the new field again', nothing, full],
  ['a tenant is revoked', () => sandbox.store.revoke(101), {}, 'opened: revoked 101'],
  ['it is granted again', () => sandbox.store.grant(101), {}, 'resolved: revoked 101'],
  [
    'only notes are synced, for two days',
    days(2),
    { resources: ['notes'] },
    'opened: stale 101/payments, stale 102/payments',
  ],
  ['all are', nothing, {}, 'resolved: stale 101/payments, stale 102/payments'],
  ['deletions are checked', nothing, reconcile],
  ['and not for four days', days(4), {}, `opened: ${every('deletes_unchecked')}`],
  ['and again', nothing, reconcile, `resolved: ${every('deletes_unchecked')}`],
  ['the credentials are refused, while all grows stale', days(2), refused, 'opened: failed run'],
  ['and still are', nothing, refused],
  ['and no longer are', nothing, {}, 'resolved: failed run'],
  ['nobody grants anything', both('revoke'), {}, 'opened: failed run'],
  ['they do again', both('grant'), {}, 'resolved: failed run'],
  [
    'the run before was killed, and this one is good',
    kill('killed'),
    {},
    'opened: failed run',
    'resolved: failed run',
  ],
  ['that is told once', nothing, {}],
  [
    // A run that isn't good makes nothing right.
    'another was killed, and this one fails',
    async (stage) => {
      await killed(stage, 'killed again')
      fails()
    },
    {},
    'opened: failed 101/notes, failed run',
  ],
  ['a good one comes', heals, {}, 'resolved: failed 101/notes, failed run'],
]

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  it('each kind is told once within a run of its fault, and its end once within a run of its end', async () => {
    const warehouse = await stock.open()
    const world = await AlertingWorld.of(sandbox, warehouse)
    const played: string[][] = []
    for (const [name, happens, { secret = sandbox.secret, ...run }] of story) {
      await happens({ world, warehouse })
      await world.run(run, { url: sandbox.url, partnerId: sandbox.partnerId, secret })
      played.push([name, ...world.hook.take().map(lineOf)])
    }
    expect(played).toEqual(story.map(([name, , , ...told]) => [name, ...told]))
  })
})
