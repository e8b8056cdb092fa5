import type { Int64 } from '../../../schema/resource.js'

const LARGEST = 2n ** 63n - 1n
const SMALLEST = -(2n ** 63n)

/** A number if it is safe, otherwise a bigint, so no digit is ever lost. */
export function exact(value: bigint): Int64 {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** An integer in decimal digits. undefined if the text isn't one or needs more than 64 bits. */
export function parseInt64(text: string): Int64 | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined
  const value = BigInt(text.replace('+', ''))
  return value < SMALLEST || value > LARGEST ? undefined : exact(value)
}

/** An id as a person types it or a configuration holds it: positive and at most 64 bits. Otherwise undefined. */
export function parseId(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined
  const text = typeof value === 'bigint' ? String(value) : value
  const id = typeof text === 'string' && /^\d{1,19}$/.test(text) ? parseInt64(text) : undefined
  return id !== undefined && id > 0 ? id : undefined
}
