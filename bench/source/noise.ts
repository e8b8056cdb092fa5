/** How `lifelike` and `hostile` change a tidy record (dataset.ts describes each). */
import { randomFrom } from '../../test/support/world/random.js'
import { pick } from './record.js'

type Change = (name: string, value: unknown) => unknown

/** The same JSON value with each plain value in it changed, innermost first; `grow` changes whole objects. */
function mapped(value: unknown, change: Change, grow: (object: object) => object, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, change, grow, name))
  if (typeof value !== 'object' || value === null) return change(name, value)
  const members = Object.entries(value).map(([key, inner]) => [key, mapped(inner, change, grow, key)])
  return grow(Object.fromEntries(members))
}

/** Results of 0.1 + 0.2, 100 / 3 and the like: what a server prints that adds and divides in floating point. */
const noisy = [0.30000000000000004, 33.333333333333336, 1.7999999999999998, 2.6666666666666665]
const noisyRates = [8.250000000000002, 7.550000000000001, 9.499999999999998]
const firstNames = ['Nguyễn Thị', 'Иван', '小明', 'Łukasz', 'José', 'Zoë']
const lastNames = ['Hương', 'Петров', '王', 'Żółć', 'Núñez', 'Müller']
const sentences = [
  'Khách hàng nói xe kêu khi phanh, đề nghị kiểm tra má phanh trước. ',
  'Стук в передней подвеске на малой скорости, проверить шаровые опоры. ',
  '客户说刹车时有异响，建议检查前刹车片和刹车盘。',
  'El cliente dice que el freno “rechina” en frío — revisar pastillas… ',
]

/** 17 characters, of which the last six are digits, as most manufacturers have them. */
const vin = (random: () => number): string =>
  `1HGCM${Math.floor(10_000 + random() * 90_000)}A${Math.floor(100_000 + random() * 900_000)}`
const token = (random: () => number): string =>
  `4${Array.from({ length: 18 }, () => Math.floor(random() * 10)).join('')}`

function lifelikeText(name: string, value: string, random: () => number): string {
  const chance = random()
  if (name === 'first_name') return chance < 0.15 ? pick(firstNames, Math.floor(random() * 6)) : value
  if (name === 'last_name') return chance < 0.15 ? pick(lastNames, Math.floor(random() * 6)) : value
  if (name === 'notes') return chance < 0.4 ? `${value} Card token ${token(random)}` : value
  if (name !== 'detail' && name !== 'comment' && name !== 'description') return value
  if (chance < 0.05) return pick(sentences, Math.floor(random() * 4)) + value
  return chance < 0.15 ? `VIN ${vin(random)}: ${value}` : value
}

function lifelikeNumber(name: string, value: number, random: () => number): number {
  const rates = /_(tax_rate|percentage)$/.test(name) ? noisyRates : []
  const noise = /^(hours|quantity.*)$/.test(name) ? noisy : rates
  return noise.length > 0 && random() < 0.03 ? pick(noise, Math.floor(random() * noise.length)) : value
}

export function lifelike(record: object, seed: number): object {
  const random = randomFrom(seed * 31 + 7)
  const change: Change = (name, value) => {
    if (typeof value === 'string') return lifelikeText(name, value, random)
    return typeof value === 'number' ? lifelikeNumber(name, value, random) : value
  }
  return mapped(record, change, (object) => object) as object
}

const emojis = ['🔧', '🚗', '🛞', '😀', '🧰']
const isTimestamp = (text: string): boolean => /^\d{4}-\d\d-\d\dT/.test(text)

/** Two unknown fields for every three declared ones: 40 % of all. No arrays, which some programs turn into tables. */
function withUnknown(object: object): object {
  const count = Math.ceil((Object.keys(object).length * 2) / 3)
  const kinds: readonly ((i: number) => readonly [string, unknown])[] = [
    (i) => [`x_remark_${i}`, `not in the document ${pick(emojis, i)}`],
    (i) => [`x_count_${i}`, i * 7],
    (i) => [`x_ref_${i}_id`, 4_000_000 + i],
    (i) => [`x_share_${i}`, 0.30000000000000004 * i],
    (i) => [`x_flag_${i}`, i % 2 === 0],
    (i) => [`x_empty_${i}`, null],
  ]
  const more = Array.from({ length: count }, (_, i) => pick(kinds, i)(i))
  return { ...object, ...Object.fromEntries(more) }
}

/** JSON text, since no JavaScript number can hold the wide integers. */
export function hostile(record: object, seed: number): string {
  const random = randomFrom(seed * 37 + 11)
  const change: Change = (_, value) => {
    if (typeof value !== 'string' || isTimestamp(value)) return value
    return `${value}${pick(emojis, Math.floor(random() * 5))}`
  }
  const text = JSON.stringify(mapped(lifelike(record, seed), change, withUnknown))
  return text.replace(/"(id|\w+_id|odometer|number)":(\d+)/g, (_, name: string, digits: string) => {
    return `"${name}":${wide}${digits.padStart(10, '0')}`
  })
}

/** The first digits of 18-digit integers. */
const wide = '10000000'
