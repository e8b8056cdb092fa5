/**
 * npm run bench -- page [--rounds 30]
 *
 * The cost of decoding, parsing and flattening one page of 100 repair orders, by its contents: processor time of this
 * process, each page next to the one it is compared with. Card tokens and floating-point results look like integers
 * beyond 2^53 to a careless reader, and should cost nothing.
 */
import { resources } from '../schema/index.js'
import { model } from '../src/engine/model/registry.js'
import { parseJson } from '../src/engine/source/http/exactjson.js'
import { options, print } from './kit.js'
import { hostile } from './source/noise.js'
import { repairOrder } from './source/record.js'
import { median, medianInterval } from './stats.js'

const { rounds } = options({ rounds: 30 })

const records = 100
/** Pages per measurement. */
const times = 8
type Json = Record<string, unknown>
type Change = (name: string, value: unknown, place: number) => unknown

/** The same JSON with every plain value changed; `place` counts the values of one name. */
function changed(value: unknown, change: Change): unknown {
  const places = new Map<string, number>()
  const walk = (inner: unknown, name: string): unknown => {
    if (Array.isArray(inner)) return inner.map((item) => walk(item, name))
    if (typeof inner === 'object' && inner !== null)
      return Object.fromEntries(Object.entries(inner).map(([key, member]) => [key, walk(member, key)]))
    const place = places.get(name) ?? 0
    places.set(name, place + 1)
    return change(name, inner, place)
  }
  return walk(value, '')
}

const noisyNumbers = [0.30000000000000004, 33.333333333333336]
const isQuantity = (name: string): boolean => name === 'hours' || name === 'quantity'
/** One of 33 numbers, as in the dataset `lifelike`. */
const floats: Change = (name, value, place) =>
  isQuantity(name) && place % 33 === 0 ? noisyNumbers[(place / 33) % 2] : value
const oneFloat: Change = (name, value, place) => (name === 'hours' && place === 500 ? noisyNumbers[0] : value)
/** Replaces other characters, so the page keeps its length. */
const withToken = (value: unknown): string => `Token 4929381234567890123${String(value).slice(25)}`
const tokens: Change = (name, value, place) => (name === 'notes' && place % 5 < 2 ? withToken(value) : value)
const oneToken: Change = (name, value, place) => (name === 'notes' && place === 50 ? withToken(value) : value)
const both: Change = (name, value, place) => tokens(name, floats(name, value, place), place)
const ascii: Change = (_, value) => (typeof value === 'string' ? value.replaceAll(/[^\0-\x7f]/g, "'") : value)

/** Replaces the marks that the source fills in by ids, a different one for every item. */
function numbered(text: string): Buffer {
  let next = 1_000_000_000
  return Buffer.from(
    text.replaceAll(/9000000\d{3}(?!\d)/g, () => String(next++)).replaceAll('2099-12-31', '2025-12-31'),
  )
}

const orders = Array.from({ length: records }, (_, seed) => repairOrder(seed))
const envelope = (results: string): string =>
  `{"results":${results},"limit":100,"limited":true,"total_count":100,"current_page":1,"total_pages":1}`
const pageOf = (list: unknown): Buffer => numbered(envelope(JSON.stringify(list)))

interface Variant {
  readonly name: string
  readonly body: Buffer
  /** Index of the variant that it is compared with. */
  readonly against: number
}

function variants(): Variant[] {
  const plain = changed(orders, ascii)
  const of = (name: string, list: unknown, against: number): Variant => ({
    name,
    body: pageOf(list),
    against,
  })
  const wild = `[${orders.map((order, seed) => hostile(order, seed)).join(',')}]`
  return [
    of('ASCII', plain, 0),
    of('ASCII, one noisy float', changed(plain, oneFloat), 0),
    of('ASCII, 3 % noisy floats', changed(plain, floats), 0),
    of('ASCII, one card token', changed(plain, oneToken), 0),
    of('ASCII, 40 card tokens', changed(plain, tokens), 0),
    of('ASCII, both', changed(plain, both), 0),
    of('typographic quotes', orders, 6),
    of('typographic quotes, floats and tokens', changed(orders, both), 6),
    of('typographic quotes, compared with ASCII', orders, 0),
    { name: 'hostile', body: numbered(envelope(wild)), against: 0 },
  ]
}

const flatten = model(resources).byName.get('repair_orders')?.flatten

function readPage(body: Buffer): number {
  const { value, careful } = parseJson(body)
  return flatten?.(1, (value as Json).results as unknown[], careful).records.length ?? 0
}

/** Milliseconds of processor time per page, including the garbage collector's threads. */
function cost(body: Buffer): number {
  const before = process.cpuUsage()
  for (let i = 0; i < times; i++)
    if (readPage(body) !== records) throw new Error('The page does not hold the records that it should')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / times
}

const all = variants()
const costs: number[][] = all.map(() => [])
for (let round = -3; round < rounds; round++)
  for (const i of round % 2 === 0 ? all.keys() : [...all.keys()].reverse()) {
    const spent = cost(all[i]?.body ?? Buffer.alloc(0))
    // The first rounds warm up the compiler.
    if (round >= 0) costs[i]?.push(spent)
  }
print(
  ['page', 'KB', 'ms', 'against', 'ratio', '95 % interval'],
  all.map(({ name, body, against }, i) => {
    const own = costs[i] ?? []
    const ratio = medianInterval(own.map((spent, round) => spent / (costs[against]?.[round] ?? 1)))
    const cells = [name, (body.length / 1000).toFixed(0), median(own).toFixed(2), all[against]?.name ?? '']
    if (against === i) return [...cells, '', '']
    return [...cells, ratio.median.toFixed(3), `${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)}`]
  }),
)
