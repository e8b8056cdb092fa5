import type { Int64 } from '../schema/resource.js'

const largest = 2n ** 63n - 1n

/** An id as typed or written: exact, a number while that is safe; undefined when it is no positive 64-bit integer. */
export function parseId(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined
  const big = typeof value === 'bigint' ? value : toBigInt(value)
  if (big === undefined || big <= 0n || big > largest) return undefined
  return big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big
}

const toBigInt = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^\d{1,19}$/.test(value) ? BigInt(value) : undefined
