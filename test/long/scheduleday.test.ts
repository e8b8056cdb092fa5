/**
 * A day of `shopsync schedule` with ten tenants and a source that fails now and then: every planned run happened once,
 * no two at the same time, and memory use stays where it was after the first hour.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Instants } from '../../src/engine/config/instants.js'
import { createSandbox } from '../../src/sandbox/index.js'
import { compiledOf } from '../support/harness/compiled.js'
import { configure } from '../support/harness/place.js'
import { Program } from '../support/harness/process.js'
import { reopen, rowsOf, warehouses } from '../support/harness/warehouse.js'

const hour = 3_600_000
const schedules = {
  hourly: ['0 * * * *', 'sync'],
  quarter: ['*/15 * * * *', 'sync'],
  nightly: ['30 2 * * *', 'reconcile'],
} as const

const sandbox = await createSandbox({ tenants: 10, repairOrders: 10, seed: 5 })
afterAll(() => sandbox.close())

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

describe.each(warehouses())('$name', (kind) => {
  it('runs every planned instant of 24 hours once, and stops growing after the first hour', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, ['notes', 'customers', 'repair_orders'], {
      schedule: { listen: false },
    })
    const cwd = dirname(config)
    mkdirSync(join(cwd, 'jobs'))
    for (const [name, [schedule, command]] of Object.entries(schedules))
      writeFileSync(
        join(cwd, 'jobs', `${name}.json`),
        JSON.stringify({ description: 'A job.', schedule, steps: [{ command }] }),
      )
    const weekly = { description: 'Never.', steps: [{ command: 'sync' }] }
    writeFileSync(join(cwd, 'jobs', 'weekly-verify.json'), JSON.stringify(weekly))
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
    const begunEarly: string[] = []
    for (const [name, [schedule]] of Object.entries(schedules)) {
      const own = runs.filter(({ job }) => job === name).map(({ from }) => Date.parse(from))
      const end = Math.max(...runs.map(({ to }) => Date.parse(to)))
      const due = new Instants(schedule, 'UTC').list(started, 100).filter((at) => at < end)
      const each = due.map((at, i) => own.filter((from) => from >= at && from < (due[i + 1] ?? end)).length)
      // One run from each planned instant to the next; what was due at the very end may not have started.
      const sure = due.filter((at) => at < end - hour / 4).length
      expect([name, each.slice(0, sure)]).toEqual([name, Array(sure).fill(1)])
      expect(sure).toBeGreaterThan(0)
      // The warehouse was empty: the first due job started at once.
      const early = own.filter((from) => from < (due[0] ?? 0)).length
      begunEarly.push(...Array<string>(early).fill(name))
      expect(own.length).toBe(each.reduce((sum, one) => sum + one, early))
    }
    expect(begunEarly).toEqual(['quarter'])
    expect(plans.every(({ exit_code }) => exit_code === 0 || exit_code === 1)).toBe(true)
    const inTime = [...runs].sort((a, b) => a.from.localeCompare(b.from))
    for (const [i, { to }] of inTime.slice(0, -1).entries())
      expect(to <= (inTime[i + 1]?.from ?? to)).toBe(true)

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
