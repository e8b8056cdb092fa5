import { parseInstant, printInstant, type TimestampFormat } from '../instant.js'

/** A record as the API shows it. */
export interface ApiRecord {
  id: number
  updated_at: string
  [field: string]: unknown
}

/** The fields that every record and most nested items begin with. */
export interface Stamped {
  id: number
  created_at: string
  updated_at: string
}

export type Fields = Readonly<Record<string, unknown>>

const BIG = /"@@integer:(-?\d+)@@"/g

/** JSON text. A bigint in the value represents an integer that a double can't hold. */
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

/** Quotes inside JSON strings are escaped: only a real key with a real value can match. */
const TIMESTAMP = /"(\w+_(?:at|date))":"([^"\\]+)"/g

/** Replaces within the text, because parsing would round integers beyond 2^53. */
export function reprint(text: string, format: TimestampFormat | undefined): string {
  if (format === undefined) return text
  return text.replace(TIMESTAMP, (whole, key: string, value: string) => {
    const micros = parseInstant(value)
    return micros === undefined ? whole : `"${key}":"${printInstant(micros, format)}"`
  })
}
