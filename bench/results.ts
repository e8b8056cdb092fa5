import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender, Measured, Phase } from './measure.js'

export interface Sample extends Measured {
  readonly warehouse: string
  readonly contender: Contender
  readonly phase: Phase
  readonly requests: number
}

export interface Results {
  /** Over all tenants. */
  readonly records: number
  readonly tenants: number
  readonly node: string
  readonly samples: readonly Sample[]
}

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2
}

const rate = ({ rows, seconds }: Sample): number => rows / seconds / 1000

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)]

/** Ratio of two contenders' rates, round by round: what ran next to each other is compared. */
function ratio(own: readonly Sample[], other: readonly Sample[]): string {
  const ratios = own.flatMap((sample, i) => (other[i] ? [rate(sample) / rate(other[i])] : []))
  return ratios.length === 0 ? '' : median(ratios).toFixed(2)
}

function row(samples: readonly Sample[], phase: Phase, contender: Contender): string[] {
  const of = (name: Contender, at = phase): Sample[] =>
    samples.filter((sample) => sample.phase === at && sample.contender === name)
  const own = of(contender)
  const rates = own.map(rate)
  const most = (pick: (sample: Sample) => number): string => Math.max(...own.map(pick)).toFixed(0)
  return [
    phase,
    contender,
    median(rates).toFixed(0),
    `${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)}`,
    contender === 'floor' ? '' : ratio(own, of('floor')),
    contender === 'plain' ? '' : ratio(own, of('plain')),
    ratio(own, of(contender, 'first')),
    median(own.map((sample) => sample.cpu)).toFixed(1),
    most((sample) => sample.megabytes),
    most((sample) => sample.requests),
  ]
}

const head = [
  'load',
  'program',
  'k rows/s',
  'spread',
  '÷ floor',
  '÷ plain',
  '÷ own first',
  'CPU s',
  'peak MB',
  'requests',
]

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`

/** Markdown: a table a warehouse. */
export function tables({ records, tenants, node, samples }: Results): string {
  let text = ''
  for (const warehouse of unique(samples.map((sample) => sample.warehouse))) {
    const own = samples.filter((sample) => sample.warehouse === warehouse)
    text += `\n${warehouse}, ${records} repair orders of ${tenants} tenants, Node ${node.slice(1)}:\n\n`
    text += line(head) + line(head.map((_, i) => (i < 2 ? '---' : '---:')))
    for (const phase of unique(own.map((sample) => sample.phase)))
      for (const contender of unique(own.map((sample) => sample.contender)))
        text += line(row(own, phase, contender))
  }
  return `${text}\n`
}

const begin = '<!-- results: begin -->'
const end = '<!-- results: end -->'

/** Into bench/results.json, and between the marks of docs/performance.md. */
export function writeResults(results: Results): void {
  const root = process.cwd()
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 1)}\n`)
  const file = join(root, 'docs/performance.md')
  const text = readFileSync(file, 'utf8')
  const [before] = text.split(begin)
  const after = text.split(end)[1] ?? ''
  writeFileSync(file, `${before}${begin}\n${tables(results)}${end}${after}`)
}
