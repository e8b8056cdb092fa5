/**
 * deploy/prometheus: each rule fires under its fault and is over after it, on what the product's own `/metrics` said
 * meanwhile. Needs promtool (Debian: apt-get install prometheus).
 */
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { template } from '../../src/sandbox/index.js'
import { scratch } from '../support/harness/scratch.js'
import { root } from '../support/harness/tree.js'
import { EventBench } from '../support/world/events.js'
import { Watch } from '../support/world/watch.js'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool)
  console.warn('Not checked: promtool is lacking; it comes with Prometheus (Debian: prometheus)')

let watch: Watch | undefined
afterEach(async () => {
  await watch?.close()
  watch = undefined
})

type Step = (day: Watch) => unknown

const hours =
  (...given: Parameters<Watch['hours']>): Step =>
  (day) =>
    day.hours(...given)
const down: Step = ({ sandbox }) => sandbox.script([{ fault: { kind: 'status', status: 503 } }])
const up: Step = ({ sandbox }) => sandbox.script([])
const failsNotes: Step = ({ sandbox }) =>
  sandbox.script([{ when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
/** Others have used up the window when the run begins. */
const starves: Step = ({ sandbox, clock }) => {
  const reset = Number(clock.micros / 1_000_000n) + 1500
  sandbox.script([{ fault: { kind: 'rate', remaining: 0, reset }, times: 1 }])
}
const putNote =
  (at: string, created_at: string): Step =>
  ({ sandbox }) =>
    sandbox.store.put(101, 'notes', { ...template('notes', 2, at), created_at }, { key: 2 })
const nowOf = ({ clock }: Watch): string => fromMicros(clock.micros)
const receive: Step = async (day) => {
  const events = await EventBench.open(day.sandbox, day.warehouse)
  await events.putRows([{ received_at: nowOf(day), due_at: nowOf(day) }])
  await events.inbox.close()
}
const settle: Step = async (day) => {
  const { inbox } = await EventBench.open(day.sandbox, day.warehouse)
  const settled = { state: 'settled', settled_at: nowOf(day), due_at: null } as const
  await inbox.write([inbox.db.updateTable('sync_events').set(settled).compile()])
  await inbox.close()
}
const lackWorkers: Step = (day) => {
  const opened = sql`insert into sync_alerts (tenant_id, resource, kind, since, message, advice, lasts, told)
    values (0, '', 'workers', ${nowOf(day)}, 'No worker', 'Type shopsync worker', 'state', '{}')`
  return day.warehouse.write([opened.compile(day.warehouse.db)])
}
const haveWorkers: Step = (day) => {
  const resolved = sql`update sync_alerts set resolved_at = ${nowOf(day)}`
  return day.warehouse.write([resolved.compile(day.warehouse.db)])
}
/** Somebody left a tenant out of the jobs. */
const without101 = { hourly: { tenants: [102] }, nightly: { tenants: [102] } }

/** What happens; at which hours the rule fires; at which it doesn't. */
const stories: [rule: string, steps: readonly Step[], fires: number[], rests: number[]][] = [
  // Never a good one, from the first day on.
  [
    'ShopsyncNoGoodRun',
    [down, hours(2), up, hours(2), down, hours(6), up, hours(2)],
    [1, 7.5],
    [0, 2, 6, 10, 11.5],
  ],
  ['ShopsyncNoGoodRun', [hours(4), (day) => day.silent(5), hours(2)], [5, 8.5], [3.5, 9, 10.5]],
  ['ShopsyncNightlyOverdue', [hours(24), hours(24, { nightly: null }), hours(4)], [33, 49], [26, 31.5, 50]],
  ['ShopsyncUnproven', [hours(4), failsNotes, hours(3), up, hours(2)], [6], [3.5, 5, 7, 8.5]],
  ['ShopsyncStale', [hours(4), hours(28, without101), hours(2)], [31], [28, 32, 33.5]],
  [
    'ShopsyncDeletesUnchecked',
    [hours(4), hours(74, { nightly: { mode: 'sync' } }), hours(2, { nightly: {} }), hours(20), hours(4)],
    [75.5, 97],
    [73.5, 98, 103],
  ],
  [
    'ShopsyncRevoked',
    [
      ...[hours(3), ({ sandbox }: Watch) => sandbox.store.revoke(101), hours(2)],
      ...[({ sandbox }: Watch) => sandbox.store.grant(101), hours(2)],
    ],
    [3, 4.5],
    [2.5, 5, 6.5],
  ],
  [
    'ShopsyncRateLimitStarving',
    [hours(7), starves, hours(1), starves, hours(1), starves, hours(1), hours(8)],
    [10],
    [6.5, 16.5],
  ],
  [
    'ShopsyncQuarantineGrowing',
    [
      ...[hours(26), putNote('2026-03-03T01:30:00Z', 'yesterday'), hours(2)],
      ...[putNote('2026-03-03T03:30:00Z', '2026-03-03T03:30:00Z'), hours(2)],
    ],
    [26, 27.5],
    [25.5, 28],
  ],
  ['ShopsyncEvents', [hours(2), receive, hours(4), settle, hours(1)], [4, 5.5], [2.5, 6.5]],
  ['ShopsyncWorkers', [hours(2), lackWorkers, hours(2), haveWorkers, hours(2)], [3, 3.5], [1.5, 4.5]],
]

describe.skipIf(!hasPromtool)('promtool', () => {
  const run = promisify(execFile)

  test('takes the rules, and the stories are of each of them', async () => {
    const { stdout } = await run('promtool', ['check', 'rules', join(root, 'deploy/prometheus/rules.yml')])
    expect(stdout).toContain(`${new Set(stories.map(([rule]) => rule)).size} rules found`)
  })

  test('takes every question of the dashboard', async () => {
    const { panels } = JSON.parse(readFileSync(join(root, 'deploy/grafana/shopsync.json'), 'utf8')) as {
      panels: { targets: { expr: string }[] }[]
    }
    const questions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    const rules = questions.map((expr, i) => ({ record: `question_${i}`, expr }))
    const file = join(scratch(), 'questions.json')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    expect((await run('promtool', ['check', 'rules', file])).stdout).toContain(`${rules.length} rules found`)
  })

  test.each(stories)(
    'only %s fires during its fault, and it is over afterwards',
    async (rule, steps, fires, rests) => {
      watch = await Watch.open()
      for (const step of steps) await step(watch)
      const firing = [...fires.map((hour) => [hour, [rule]]), ...rests.map((hour) => [hour, []])]
      await watch.expect(Object.fromEntries(firing))
      const checked = spawnSync('promtool', ['check', 'metrics'], { input: watch.scrapes.at(-1)?.text })
      expect([checked.status, String(checked.stderr)]).toEqual([0, ''])
    },
  )
})
