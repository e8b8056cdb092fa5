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
import { type Firing, Watch } from '../support/world/watch.js'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool)
  console.warn('Not checked: promtool is lacking; it comes with Prometheus (Debian: prometheus)')

let watch: Watch | undefined
afterEach(async () => {
  await watch?.close()
  watch = undefined
})

type Story = (watch: Watch) => Promise<Firing>

const down = (watch: Watch, status = 503): void =>
  watch.sandbox.script([{ when: {}, fault: { kind: 'status', status } }])
const up = (watch: Watch): void => watch.sandbox.script([])

const stories: [rule: string, story: Story][] = [
  [
    'ShopsyncNoGoodRun',
    async (day) => {
      // Never a good one, from the first day on.
      down(day)
      await day.hours(2)
      up(day)
      await day.hours(2)
      down(day)
      await day.hours(6)
      up(day)
      await day.hours(2)
      return { 0: [], 1: ['ShopsyncNoGoodRun'], 2: [], 6: [], 7.5: ['ShopsyncNoGoodRun'], 10: [], 11.5: [] }
    },
  ],
  [
    'ShopsyncNoGoodRun',
    async (day) => {
      await day.hours(4)
      day.silent(5)
      await day.hours(2)
      return { 3.5: [], 5: ['ShopsyncNoGoodRun'], 8.5: ['ShopsyncNoGoodRun'], 9: [], 10.5: [] }
    },
  ],
  [
    'ShopsyncNightlyOverdue',
    async (day) => {
      await day.hours(24)
      await day.hours(24, { nightly: null })
      await day.hours(4)
      return { 26: [], 31.5: [], 33: ['ShopsyncNightlyOverdue'], 49: ['ShopsyncNightlyOverdue'], 50: [] }
    },
  ],
  [
    'ShopsyncUnproven',
    async (day) => {
      await day.hours(4)
      const when = { tenant: 101, resource: 'notes' }
      day.sandbox.script([{ when, fault: { kind: 'status', status: 500 } }])
      await day.hours(3)
      up(day)
      await day.hours(2)
      return { 3.5: [], 5: [], 6: ['ShopsyncUnproven'], 7: [], 8.5: [] }
    },
  ],
  [
    'ShopsyncStale',
    async (day) => {
      await day.hours(4)
      // Somebody left a tenant out of the jobs.
      const tenants = [102]
      await day.hours(28, { hourly: { tenants }, nightly: { tenants } })
      await day.hours(2)
      return { 28: [], 31: ['ShopsyncStale'], 32: [], 33.5: [] }
    },
  ],
  [
    'ShopsyncDeletesUnchecked',
    async (day) => {
      await day.hours(4)
      await day.hours(74, { nightly: { mode: 'sync' } })
      await day.hours(2, { nightly: {} })
      await day.hours(20)
      await day.hours(4)
      return {
        73.5: [],
        75.5: ['ShopsyncDeletesUnchecked'],
        97: ['ShopsyncDeletesUnchecked'],
        98: [],
        103: [],
      }
    },
  ],
  [
    'ShopsyncRevoked',
    async (day) => {
      await day.hours(3)
      day.sandbox.store.revoke(101)
      await day.hours(2)
      day.sandbox.store.grant(101)
      await day.hours(2)
      return { 2.5: [], 3: ['ShopsyncRevoked'], 4.5: ['ShopsyncRevoked'], 5: [], 6.5: [] }
    },
  ],
  [
    'ShopsyncRateLimitStarving',
    async (day) => {
      await day.hours(7)
      for (let hour = 0; hour < 3; hour++) {
        // Others have used up the window when the run begins.
        const reset = Number(day.clock.micros / 1_000_000n) + 1500
        day.sandbox.script([{ when: {}, fault: { kind: 'rate', remaining: 0, reset }, times: 1 }])
        await day.hours(1)
      }
      await day.hours(8)
      return { 6.5: [], 10: ['ShopsyncRateLimitStarving'], 16.5: [] }
    },
  ],
  [
    'ShopsyncQuarantineGrowing',
    async (day) => {
      await day.hours(26)
      const put = (at: string, created_at: string): void =>
        day.sandbox.store.put(101, 'notes', { ...template('notes', 2, at), created_at }, { key: 2 })
      put('2026-03-03T01:30:00Z', 'yesterday')
      await day.hours(2)
      put('2026-03-03T03:30:00Z', '2026-03-03T03:30:00Z')
      await day.hours(2)
      return { 25.5: [], 26: ['ShopsyncQuarantineGrowing'], 27.5: ['ShopsyncQuarantineGrowing'], 28: [] }
    },
  ],
  [
    'ShopsyncEvents',
    async (day) => {
      await day.hours(2)
      const events = await EventBench.open(day.sandbox, day.warehouse)
      const at = fromMicros(day.clock.micros)
      await events.putRows([{ received_at: at, due_at: at }])
      const { inbox } = events
      await day.hours(4)
      const settled = { state: 'settled', settled_at: fromMicros(day.clock.micros), due_at: null } as const
      await inbox.write([inbox.db.updateTable('sync_events').set(settled).compile()])
      await inbox.close()
      await day.hours(1)
      return { 2.5: [], 4: ['ShopsyncEvents'], 5.5: ['ShopsyncEvents'], 6.5: [] }
    },
  ],
  [
    'ShopsyncWorkers',
    async (day) => {
      const { warehouse } = day
      const at = () => fromMicros(day.clock.micros)
      await day.hours(2)
      const opened = sql`insert into sync_alerts (tenant_id, resource, kind, since, message, advice, lasts, told)
        values (0, '', 'workers', ${at()}, 'No worker', 'Type shopsync worker', 'state', '{}')`
      await warehouse.write([opened.compile(warehouse.db)])
      await day.hours(2)
      await warehouse.write([sql`update sync_alerts set resolved_at = ${at()}`.compile(warehouse.db)])
      await day.hours(2)
      return { 1.5: [], 3: ['ShopsyncWorkers'], 3.5: ['ShopsyncWorkers'], 4.5: [] }
    },
  ],
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

  test.each(stories)('only %s fires during its fault, and it is over afterwards', async (rule, story) => {
    watch = await Watch.open()
    const firing = await story(watch)
    expect(Object.values(firing).flat()).toContain(rule)
    await watch.expect(firing)
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: watch.scrapes.at(-1)?.text })
    expect([checked.status, String(checked.stderr)]).toEqual([0, ''])
  })
})
