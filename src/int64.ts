import type { Int64 } from '../schema/resource.js'

const largest = 2n ** 63n - 1n
const smallest = -(2n ** 63n)
const safe = BigInt(Number.MAX_SAFE_INTEGER)

/** A 64-bit integer as the program holds one: a number while a number is exact, a bigint beyond. */
export const exact = (value: bigint): Int64 => (value <= safe && value >= -safe ? Number(value) : value)

/** The integer that a text writes; undefined where the text is no integer, or one of more than 64 bits. */
export function parseInt64(text: string): Int64 | undefined {
  if (!/^-?\d{1,19}$/.test(text)) return undefined
  const value = BigInt(text)
  return value <= largest && value >= smallest ? exact(value) : undefined
}

/** An id as a person types or writes one; undefined where the value is no positive 64-bit integer. */
export function parseId(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined
  const id = typeof value === 'bigint' || typeof value === 'string' ? parseInt64(String(value)) : undefined
  return id !== undefined && id > 0 ? id : undefined
}
