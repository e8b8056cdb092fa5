import { parseInstant, printInstant, type TimestampFormat } from '../instant.js'

/** A record as the API shows it. */
export interface ApiRecord {
  id: number
  updated_at: string
  [field: string]: unknown
}

export type Fields = Readonly<Record<string, unknown>>

const BIG = /"@@integer:(-?\d+)@@"/g

/** JSON text of a value in which bigints stand for integers that a double cannot hold. */
export function encode(value: unknown): string {
  let found = false
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'bigint') return item
    found = true
    return `@@integer:${item}@@`
  })
  return found ? text.replace(BIG, '$1') : text
}

export function decode(text: string): ApiRecord {
  return JSON.parse(text) as ApiRecord
}

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text in strings has its quotes escaped, so this can only match a real key with a real value. */
const TIMESTAMP = /"(\w+_(?:at|date))":"([^"\\]+)"/g

/** Works on the text, so that integers beyond 2^53 stay as they are. */
export function reprint(text: string, format: TimestampFormat | undefined): string {
  if (format === undefined) return text
  return text.replace(TIMESTAMP, (whole, key: string, value: string) => {
    const micros = parseInstant(value)
    return micros === undefined ? whole : `"${key}":"${printInstant(micros, format)}"`
  })
}
