import type { Int64 } from '../schema/resource.js'

const largest = 2n ** 63n - 1n

/** An exact integer: a number while that is safe, a bigint beyond (schema/resource.ts, Int64). */
export const exact = (value: bigint): Int64 =>
  value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value

/** An id as typed or written: exact, a number while that is safe; undefined when it is no positive 64-bit integer. */
export function parseId(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined
  const big = typeof value === 'bigint' ? value : toBigInt(value)
  if (big === undefined || big <= 0n || big > largest) return undefined
  return exact(big)
}

const toBigInt = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^\d{1,19}$/.test(value) ? BigInt(value) : undefined
