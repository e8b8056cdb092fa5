/**
 * Days of a warehouse as Prometheus sees them: hourly and nightly runs against the sandbox on a clock that is moved by
 * hand, and every half hour a scrape of what the product's own `/metrics` shows. The scrapes become the series of
 * `promtool test rules`, whose time starts at 0.
 */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { Metrics, metricsOf } from '../harness/metrics.js'
import { begun, depsOf, known, type RunRequest, runSync } from '../harness/runs.js'
import { scratch } from '../harness/scratch.js'
import { root } from '../harness/tree.js'
import { migrate, openWarehouse, type Warehouse } from '../harness/warehouse.js'
import { HandClock } from './clocks.js'

const run = promisify(execFile)
const begin = '2026-03-02T00:00:00Z'
const halfHour = 1_800_000

/** Which alerts are firing, by hours since the start. */
export type Firing = Readonly<Record<number, readonly string[]>>

export interface DayPlan {
  /** Options of the hourly sync; null: none runs. */
  readonly hourly?: Partial<RunRequest> | null
  /** Options of the nightly reconcile; null: none runs. */
  readonly nightly?: Partial<RunRequest> | null
}

export class Watch {
  readonly scrapes: Metrics[] = []

  private constructor(
    readonly sandbox: Sandbox,
    readonly warehouse: Warehouse,
    readonly clock: HandClock,
  ) {}

  static async open(): Promise<Watch> {
    const clock = new HandClock(begin, 5n)
    const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }], clock })
    for (const tenant of [101, 102])
      for (let id = 1; id <= 3; id++)
        sandbox.store.put(tenant, 'notes', template('notes', id, `2026-01-0${id}T00:00:00Z`), { key: id })
    const url = `sqlite:${join(scratch(), 'warehouse.db')}`
    const warehouse = await openWarehouse({ url, schema: 'shopsync', model: known, clock })
    await migrate(warehouse)
    return new Watch(sandbox, warehouse, clock)
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    await this.sandbox.close()
  }

  /** This many hours: a sync every hour, at 2 o'clock the nightly job instead, and a scrape each half hour. */
  async hours(hours: number, { hourly = {}, nightly = {} }: DayPlan = {}): Promise<void> {
    for (let half = 0; half < hours * 2; half++) {
      const at = this.scrapes.length
      const begun = this.clock.micros
      if (at % 2 === 0) {
        const isNight = (at / 2) % 24 === 2
        if (isNight && nightly) await this.#run({ mode: 'reconcile', job: 'nightly', ...nightly })
        if (hourly) await this.#run({ mode: 'sync', job: 'hourly', ...hourly })
      }
      const { text } = await metricsOf(this.warehouse, {
        nowMicros: this.clock.nowMicros(),
        resources: ['notes'],
      })
      this.scrapes.push(new Metrics(text))
      // Runs take time on the same clock.
      this.clock.micros = begun + BigInt(halfHour) * 1000n
    }
  }

  /** This many hours without an answer: the process is gone. */
  silent(hours: number): void {
    for (let half = 0; half < hours * 2; half++) this.scrapes.push(new Metrics(''))
    this.clock.pass(hours * 2 * halfHour)
  }

  async #run(request: Pick<RunRequest, 'mode' | 'job'> & Partial<RunRequest>): Promise<void> {
    const { deps, close } = await depsOf(this.sandbox, this.warehouse, { clock: this.clock })
    try {
      await runSync(deps, begun({ tenants: null, resources: ['notes'], ...request }))
    } catch {
      // If a run failed, the metrics show it, or it is missed.
    } finally {
      await close()
    }
  }

  /** The scrapes as series of `promtool test rules`: wall clock times count from the start. */
  #series(honorLabels: boolean): { series: string; values: string }[] {
    const since = Date.parse(begin) / 1000
    const all = new Map<string, (number | undefined)[]>()
    for (const [i, { series }] of this.scrapes.entries())
      for (const { name, labels, value } of series) {
        const { job, ...rest } = labels
        const own: Record<string, string> = honorLabels
          ? { job: job ?? 'shopsync' }
          : { job: 'shopsync', ...(job !== undefined && { exported_job: job }) }
        const pairs = Object.entries({ ...rest, ...own, instance: 'shop:8788' })
        const key = `${name}{${pairs.map(([label, text]) => `${label}="${text}"`).join(',')}}`
        const values = all.get(key) ?? []
        all.set(key, values)
        values[i] = name.endsWith('_timestamp_seconds') ? value - since : value
      }
    return [...all].map(([series, values]) => ({
      series,
      values: Array.from(this.scrapes, (_, i) => values[i] ?? '_').join(' '),
    }))
  }

  /** Throws promtool's output if the alerts firing at these hours aren't the expected ones. */
  async expect(firing: Firing): Promise<void> {
    const rule_files = [join(root, 'deploy/prometheus/rules.yml')]
    const tests = [true, false].map((honorLabels) => ({
      interval: '30m',
      input_series: this.#series(honorLabels),
      promql_expr_test: Object.entries(firing).map(([hours, alerts]) => ({
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${Number(hours) * 60}m`,
        exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      })),
    }))
    const file = join(scratch(), 'test.json')
    writeFileSync(file, JSON.stringify({ rule_files, evaluation_interval: '30m', tests }))
    await run('promtool', ['test', 'rules', file]).catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.stdout ?? ''}${error.stderr ?? ''}`)
    })
  }
}
