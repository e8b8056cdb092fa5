/** Tables of what was measured, for the terminal and for docs/dev/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { table } from './kit.js'
import type { Measured, Phase } from './load.js'
import type { Dataset } from './source/dataset.js'
import { median } from './stats.js'

export interface Sample extends Measured {
  readonly dataset: Dataset
  readonly warehouse: string
  readonly contender: string
  readonly phase: Phase
  readonly round: number
  /** Rows that the records of this load become in the warehouse. */
  readonly rows: number
  readonly requests: number
}

export interface Results {
  /** Repair orders over all tenants. */
  readonly records: number
  readonly tenants: number
  readonly node: string
  readonly samples: readonly Sample[]
}

const rate = ({ rows, seconds }: Sample): number => rows / seconds / 1000
const short = (value: number): string => value.toFixed(value < 10 ? 1 : 0)
const unique = <T>(values: readonly T[]): T[] => [...new Set(values)]

/**
 * The rate compared with the slowest of the others, round by round: neighboring runs are compared. Empty if one of the
 * others was not measured.
 */
function ratio(own: readonly Sample[], ...others: readonly (readonly Sample[])[]): string {
  const ratios = own.flatMap((sample) => {
    const beside = others.map((other) => other.find(({ round }) => round === sample.round))
    const rates = beside.flatMap((one) => (one ? [rate(one)] : []))
    return rates.length === others.length ? [rate(sample) / Math.min(...rates)] : []
  })
  return ratios.length === 0 ? '' : median(ratios).toFixed(2)
}

const phases: readonly Phase[] = ['first', 'again', 'changed']
const bases = ['read', 'write']
const head = [
  ...['load', 'program', 'k rows/s', 'spread', ...bases.map((name) => `÷ ${name}`), 'of the limit'],
  ...['÷ own first', 'CPU s', 'peak MB', 'requests'],
]

/** The table of one dataset and warehouse. */
function tableOf(samples: readonly Sample[]): string {
  const of = (contender: string, phase: Phase): Sample[] =>
    samples.filter((sample) => sample.contender === contender && sample.phase === phase)
  const rows = phases.flatMap((phase) =>
    unique(samples.flatMap((one) => (one.phase === phase ? one.contender : []))).map((contender) => {
      const own = of(contender, phase)
      const rates = own.map(rate)
      const limits = bases.includes(contender) ? [] : bases.map((base) => of(base, phase))
      return [
        ...[phase, contender, short(median(rates))],
        `${short(Math.min(...rates))}–${short(Math.max(...rates))}`,
        ...bases.map((_, i) => (limits[i] === undefined ? '' : ratio(own, limits[i]))),
        limits.length === 0 ? '' : ratio(own, ...limits),
        ratio(own, of(contender, 'first')),
        median(own.map(({ cpu }) => cpu)).toFixed(1),
        Math.max(...own.map(({ megabytes }) => megabytes)).toFixed(0),
        Math.max(...own.map(({ requests }) => requests)),
      ]
    }),
  )
  return table(head, rows)
}

/** Markdown: one table for each dataset and warehouse. */
export function tables({ records, tenants, node, samples }: Results): string {
  const places = unique(samples.map(({ dataset, warehouse }) => `${dataset}, ${warehouse}`))
  const parts = places.map((place) => {
    const its = samples.filter(({ dataset, warehouse }) => `${dataset}, ${warehouse}` === place)
    return `\n${place}, ${records} repair orders of ${tenants} tenants, Node ${node.slice(1)}:\n\n${tableOf(its)}`
  })
  return `${parts.join('')}\n`
}

/** Between the marks in docs/dev/performance.md. */
export function writeResults(results: Results): void {
  const [begin, end] = ['<!-- results: begin -->', '<!-- results: end -->']
  const file = 'docs/dev/performance.md'
  const text = readFileSync(file, 'utf8')
  const [before] = text.split(begin)
  const after = text.split(end)[1] ?? ''
  writeFileSync(file, `${before}${begin}\n${tables(results)}${end}${after}`)
}
