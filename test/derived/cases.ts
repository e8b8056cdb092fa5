/**
 * Reads totals.txt: orders, and what they come to, computed by hand from docs/totals.md. A case is its name, and below it a
 * line for each service, one for what the order says, one for its row, and one for each kind of line whose values are
 * computed.
 */
import { textOf } from '../support/harness/tree.js'
import { hazmat, inspection, labor, type OrderRecord, order, part, sublet } from '../support/world/orders.js'

type Fields = Readonly<Record<string, unknown>>

export interface TotalsCase {
  readonly name: string
  readonly record: OrderRecord
  readonly row: Fields
  /** By kind, in the order of the record: of each line, the values that the first lines of totals.txt name. */
  readonly nets: Readonly<Record<string, readonly (readonly unknown[])[]>>
}

const words: Fields = { null: null, true: true, false: false }

/** Integers beyond a double are exact; a text that looks like a number is in quotes. */
function sent(text: string): unknown {
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)
  if (/^-?\d[\d.]*(e[+-]?\d+)?$/.test(text)) return Number(text)
  return text in words ? words[text] : text.replaceAll("'", '')
}

const unknownTotal = { total_cents: null, balance_cents: null, total_unknown: true }

/** `name value, name value`; `total unknown` stands for three columns, and `paid` for a list of payments. */
function fieldsOf(text = ''): Fields {
  const fields: Record<string, unknown> = {}
  for (const pair of text.split(', ').filter(Boolean)) {
    const [name = '', ...values] = pair.split(' ')
    if (pair === 'total unknown') Object.assign(fields, unknownTotal)
    else if (name === 'paid') fields.payments = values.map((cents) => ({ amount_cents: sent(cents) }))
    else fields[name] = sent(values.join(' '))
  }
  return fields
}

/** `part 2 at 1000 cost 600 exempt with id 5 × 3`: only the first two words are always there. */
const item =
  /^(\w+) (\S+)(?: at (\S+))?(?: cost (\S+))?( exempt| taxable null)?(?: with (.*?))?(?: × (\d+))?$/

const made: Readonly<Record<string, (...values: unknown[]) => Fields>> = {
  labor: (hours, _price, _cost, taxable) => labor(hours, taxable),
  part: (quantity, price, cost, taxable) => part(quantity, price, cost, taxable),
  sublet: (price, _each, cost, taxable) => sublet(price, cost, taxable),
  hazmat: (quantity, fee, _cost, taxable) => hazmat(quantity, fee, taxable),
  inspection: (state) => inspection(state),
}

function serviceOf(own: string, items: string): Fields {
  const [, rate, rest] = /^(?: at (\S+))?(?:, (.*))?$/.exec(own) ?? []
  const lists: Record<string, Fields[]> = {}
  for (const text of items.split('; ').filter(Boolean)) {
    const [, kind = '', first = '', price = '', cost = '0', taxable, more, times = '1'] =
      item.exec(text) ?? []
    const make = made[kind]
    if (!make) throw new Error(`Found "${text}" in totals.txt, expected a line of a service`)
    const isTaxable = taxable === undefined || (taxable === ' exempt' ? false : null)
    const one = { ...make(sent(first), sent(price), sent(cost), isTaxable), ...fieldsOf(more) }
    lists[`${kind}s`] = [...(lists[`${kind}s`] ?? []), ...Array.from({ length: Number(times) }, () => one)]
  }
  return { ...(rate !== undefined && { labor_rate_cents: sent(rate) }), ...fieldsOf(rest), ...lists }
}

function caseOf(text: string, i: number): TotalsCase {
  const [name = '', ...lines] = text.trimEnd().split('\n  ')
  const services: Fields[] = []
  const nets: Record<string, unknown[][]> = {}
  let more: Fields = {}
  let row: Fields = {}
  for (const line of lines) {
    const [, what = '', own = '', rest = ''] =
      /^(service|order|comes to|each)(.*?):(?: (.*))?$/.exec(line) ?? []
    if (what === 'service') services.push(serviceOf(own, rest))
    else if (what === 'order') more = fieldsOf(rest)
    else if (what === 'comes to') row = fieldsOf(rest)
    else if (what === 'each')
      nets[`${own.trim()}s`] = [
        ...(nets[`${own.trim()}s`] ?? []),
        ...rest.split(' | ').map((values) => values.split(', ').map(sent)),
      ]
    else throw new Error(`Found "${line}" in totals.txt, expected a service, the order, or what it comes to`)
  }
  return { name, record: order(i + 1, services, more), row, nets }
}

/** Lines that begin with # are for readers. */
export const cases: readonly TotalsCase[] = textOf('test/derived/totals.txt')
  .replaceAll(/^(#.*)?\n/gm, '')
  .replaceAll('\n    ', ' ')
  .split(/\n(?=\S)/)
  .map(caseOf)
