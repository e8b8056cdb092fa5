import type { Int64 } from '../../../schema/resource.js'

const LARGEST = 2n ** 63n - 1n
const SMALLEST = -(2n ** 63n)

/** A number while that is safe, a bigint beyond, so that no digit is ever lost. */
export function exact(value: bigint): Int64 {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** An integer written in decimal digits; undefined when the text is none, or needs more than 64 bits. */
export function parseInt64(text: string): Int64 | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined
  const value = BigInt(text.replace('+', ''))
  return value < SMALLEST || value > LARGEST ? undefined : exact(value)
}

/** An id as a person types it or a configuration holds it: positive, at most 64 bits; undefined otherwise. */
export function parseId(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined
  const text = typeof value === 'bigint' ? String(value) : value
  const id = typeof text === 'string' && /^\d{1,19}$/.test(text) ? parseInt64(text) : undefined
  return id !== undefined && id > 0 ? id : undefined
}
