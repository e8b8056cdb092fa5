/**
 * A day of `shopsync schedule` with ten tenants and a source that fails now and then: every planned run happened once,
 * no two at the same time, and memory use stays where it was after the first hour.
 */
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Instants } from '../../src/engine/config/instants.js'
import { compiledOf } from '../support/harness/compiled.js'
import { configure } from '../support/harness/place.js'
import { Program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { writeJob } from '../support/harness/scheduler.js'
import { reopen, rowsOf, warehouses } from '../support/harness/warehouse.js'

const hour = 3_600_000
const schedules = {
  hourly: ['0 * * * *', 'sync'],
  quarter: ['*/15 * * * *', 'sync'],
  nightly: ['30 2 * * *', 'reconcile'],
} as const

const sandbox = await sandboxOfFile({ tenants: 10, repairOrders: 10, seed: 5 })

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

describe.each(warehouses())('$name', (kind) => {
  it('runs every planned instant of 24 hours once, and stops growing after the first hour', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, ['notes', 'customers', 'repair_orders'], {
      schedule: { listen: false },
    })
    const cwd = dirname(config)
    for (const [name, [schedule, command]] of Object.entries(schedules))
      writeJob(cwd, name, { schedule, steps: [{ command }] })
    writeJob(cwd, 'weekly-verify')
    sandbox.script([
      { name: 'flaky', when: { probability: 0.02, seed: 7 }, fault: { kind: 'status', status: 503 } },
      { name: 'broken', when: { probability: 0.01, seed: 8 }, fault: { kind: 'reset', bytes: 100 } },
    ])
    const started = Date.now()
    const run = new Program(compiledOf('test/support/world/scheduleday.ts'), [config, '24'], { cwd })
    const { code, signal, stdout, stderr } = await run.ended
    expect([code, signal, stderr]).toEqual([0, null, ''])
    const { memory } = JSON.parse(stdout.slice(stdout.indexOf('{"code"'))) as {
      memory: { at: number; heap: number; resident: number }[]
    }
    expect(stdout).not.toContain('nhandled')

    const warehouse = await reopen(address)
    const runs = (await rowsOf(warehouse, 'sync_runs')).map((row) => ({
      job: String(row.job),
      from: String(row.started_at),
      to: String(row.finished_at),
    }))
    const plans = await rowsOf(warehouse, 'sync_jobs')
    await warehouse.close()
    for (const [name, [schedule]] of Object.entries(schedules)) {
      const own = runs.filter(({ job }) => job === name).map(({ from }) => Date.parse(from))
      const end = Math.max(...runs.map(({ to }) => Date.parse(to)))
      const due = new Instants(schedule, 'UTC').list(started, 100).filter((at) => at < end - hour / 4)
      // One run from each planned instant to the next, but for the first: the warehouse was empty, so one came at once.
      const each = due
        .slice(1, -1)
        .map((at, i) => own.filter((from) => from >= at && from < due[i + 2]!).length)
      expect([name, each]).toEqual([name, each.map(() => 1)])
      expect(own.length).toBeGreaterThanOrEqual(due.length)
      expect(due.length).toBeGreaterThan(0)
    }
    expect(plans.every(({ exit_code }) => exit_code === 0 || exit_code === 1)).toBe(true)
    const inTime = runs.toSorted((a, b) => a.from.localeCompare(b.from))
    expect(inTime.filter(({ to }, i) => to > (inTime[i + 1]?.from ?? to))).toEqual([])

    const begun = memory[0]?.at ?? 0
    const within = (of: 'heap' | 'resident', from: number, to: number): number =>
      median(
        memory
          .filter(({ at }) => at >= begun + from * hour && at < begun + to * hour)
          .map((sample) => sample[of]),
      )
    const grown = (of: 'heap' | 'resident'): number => within(of, 21, 24) / within(of, 1, 4)
    const words = JSON.stringify(memory.filter((_, i) => i % 12 === 0))
    expect(grown('heap'), words).toBeLessThan(1.02)
    expect(grown('resident'), words).toBeLessThan(1.05)
  }, 600_000)
})
