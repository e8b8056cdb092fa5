/** Tables of what was measured, for the terminal and for docs/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { row } from './kit.js'
import type { Measured, Phase } from './measure.js'
import type { Dataset } from './source/dataset.js'
import { median } from './stats.js'

export interface Sample extends Measured {
  readonly dataset: Dataset
  readonly warehouse: string
  /** Name of the contender, with the settings it needed. */
  readonly contender: string
  readonly phase: Phase
  readonly round: number
  /** Rows that the records of this load become in the warehouse. */
  readonly rows: number
  readonly requests: number
  /** Why the load failed; its figures are zero then. */
  readonly failure?: string
}

export interface Results {
  /** Repair orders over all tenants. */
  readonly records: number
  readonly tenants: number
  readonly node: string
  /** Versions and settings of contenders that are not part of this project. */
  readonly peers: readonly string[]
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
    return rates.length === others.length && rates.length > 0 ? [rate(sample) / Math.min(...rates)] : []
  })
  return ratios.length === 0 ? '' : median(ratios).toFixed(2)
}

/** The rows of one table: one dataset and warehouse. */
class Table {
  readonly #samples: readonly Sample[]
  readonly #contenders: readonly string[]
  /** The programs that the others are compared with. */
  readonly #bases: readonly string[]

  constructor(samples: readonly Sample[]) {
    this.#samples = samples
    this.#contenders = unique(samples.map(({ contender }) => contender))
    this.#bases = ['read', 'write'].filter((name) => this.#of(name).length > 0)
  }

  #of(contender: string, phase?: Phase): Sample[] {
    return this.#samples.filter(
      (sample) =>
        sample.contender === contender &&
        sample.failure === undefined &&
        (phase === undefined || sample.phase === phase),
    )
  }

  text(): string {
    const head = ['load', 'program', 'k rows/s', 'spread', ...this.#bases.map((name) => `÷ ${name}`)]
    head.push('of the limit', '÷ own first', 'CPU s', 'peak MB', 'requests')
    let text = row(head) + row(head.map((_, i) => (i < 2 ? '---' : '---:')))
    for (const phase of order.filter((one) => this.#samples.some(({ phase }) => phase === one)))
      for (const contender of this.#contenders) text += this.#row(phase, contender, head.length)
    return text + this.#failures()
  }

  #row(phase: Phase, contender: string, width: number): string {
    const own = this.#of(contender, phase)
    const tried = this.#samples.some((one) => one.contender === contender && one.phase === phase)
    if (own.length === 0)
      return tried ? row([phase, contender, 'failed', ...Array<string>(width - 3).fill('')]) : ''
    const rates = own.map(rate)
    const isLimit = this.#bases.includes(contender)
    const most = (pick: (sample: Sample) => number): string => Math.max(...own.map(pick)).toFixed(0)
    return row([
      phase,
      contender,
      short(median(rates)),
      `${short(Math.min(...rates))}–${short(Math.max(...rates))}`,
      ...this.#bases.map((base) => (isLimit ? '' : ratio(own, this.#of(base, phase)))),
      isLimit ? '' : ratio(own, ...this.#bases.map((base) => this.#of(base, phase))),
      ratio(own, this.#of(contender, 'first')),
      median(own.map(({ cpu }) => cpu)).toFixed(1),
      most(({ megabytes }) => megabytes),
      most(({ requests }) => requests),
    ])
  }

  #failures(): string {
    const failures = this.#samples.flatMap(({ contender, phase, failure }) =>
      failure === undefined ? [] : [`- ${contender}, ${phase}: ${failure}\n`],
    )
    return failures.length === 0 ? '' : `\nWhat failed:\n\n${unique(failures).join('')}`
  }
}

const order: readonly Phase[] = ['first', 'again', 'changed']

/** Markdown: one table for each dataset and warehouse. */
export function tables({ records, tenants, node, peers, samples }: Results): string {
  let text = ''
  for (const dataset of unique(samples.map((sample) => sample.dataset))) {
    const inDataset = samples.filter((sample) => sample.dataset === dataset)
    for (const warehouse of unique(inDataset.map((sample) => sample.warehouse))) {
      text += `\n${dataset}, ${warehouse}, ${records} repair orders of ${tenants} tenants, Node ${node.slice(1)}:\n\n`
      text += new Table(inDataset.filter((sample) => sample.warehouse === warehouse)).text()
    }
  }
  return `${text}\n${peers.map((peer) => `${peer}.\n\n`).join('')}`
}

const begin = '<!-- results: begin -->'
const end = '<!-- results: end -->'

/** Into bench/results.json, and between the marks in docs/performance.md. */
export function writeResults(results: Results): void {
  const root = process.cwd()
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 1)}\n`)
  const file = join(root, 'docs/performance.md')
  const text = readFileSync(file, 'utf8')
  const [before] = text.split(begin)
  const after = text.split(end)[1] ?? ''
  writeFileSync(file, `${before}${begin}\n${tables(results)}${end}${after}`)
}
