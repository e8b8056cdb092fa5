/** Parses the text of metrics, and reads the metrics of a warehouse in this process. */

import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { type MetricsOptions, metricsText } from '../../../src/features/health/metrics.js'

export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export class Metrics {
  readonly series: readonly Series[]
  /** By name. */
  readonly types: ReadonlyMap<string, string>

  constructor(readonly text: string) {
    this.types = new Map(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    )
    this.series = [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)].map(
      ([, name = '', labels = '', value = '']) => ({
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
            label,
            text,
          ]),
        ),
        value: Number(value),
      }),
    )
  }

  /** The series of a metric with these labels. */
  all(name: string, labels: Record<string, string> = {}): Series[] {
    return this.series.filter(
      (one) =>
        one.name === `shopsync_${name}` &&
        Object.entries(labels).every(([label, value]) => one.labels[label] === value),
    )
  }

  /** Their sum; undefined if there is none. */
  sum(name: string, labels: Record<string, string> = {}): number | undefined {
    const found = this.all(name, labels)
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
  }
}

export async function metricsOf(warehouse: Writer, options: Partial<MetricsOptions> = {}): Promise<Metrics> {
  const text = await metricsText({
    warehouse,
    resources: ['notes', 'payments'],
    tenants: null,
    exceptTenants: [],
    staleAfterMs: 26 * 3_600_000,
    deletesUncheckedAfterMs: 3 * 86_400_000,
    nowMicros: BigInt(Date.now()) * 1000n,
    version: '1.2.3',
    maxTenants: 50,
    labels: {},
    ...options,
  })
  return new Metrics(text)
}
