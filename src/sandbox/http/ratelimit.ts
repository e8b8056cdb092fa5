import type { MicrosClock } from '../instant.js'

export interface RateOptions {
  /** Requests per window; default 1,000,000. */
  readonly limit?: number
  /** Length of a window in seconds; default 60. */
  readonly window?: number
  /** Requests of another consumer of the same budget in every window. */
  readonly others?: number
  /** What is counted: all requests of the partner, which is the default, or those of each address. */
  readonly by?: 'partner' | 'address'
}

interface RateState {
  readonly limit: number
  readonly remaining: number
  /** Unix time in whole seconds. */
  readonly reset: number
  readonly exceeded: boolean
}

export const RATE_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Ratelimit-Matchkey',
] as const

export function rateHeaders({ limit, remaining, reset }: RateState, key: string): Record<string, string> {
  const values = [limit, remaining, reset, key].map(String)
  return Object.fromEntries(RATE_HEADERS.map((name, index) => [name, values[index] ?? '']))
}

/** Counts requests by key in fixed windows that are aligned to the epoch. */
export class RateLimit {
  readonly #used = new Map<string, { window: number; count: number }>()

  constructor(
    private readonly clock: MicrosClock,
    private readonly options: RateOptions = {},
  ) {}

  /** The rule that counts a request. Requests without credentials are counted by address. */
  keyOf(partnerId: string | undefined, address: string): string {
    return this.options.by === 'address' ? address : (partnerId ?? address)
  }

  take(key: string, requests = 1): RateState {
    const { limit = 1_000_000, window: length = 60, others = 0 } = this.options
    const window = Math.floor(Number(this.clock.nowMicros() / 1_000_000n) / length)
    const used = this.#used.get(key)
    const count = requests + (used?.window === window ? used.count : others)
    this.#used.set(key, { window, count })
    const remaining = Math.max(0, limit - count)
    return { limit, remaining, reset: (window + 1) * length, exceeded: count > limit }
  }

  clear(): void {
    this.#used.clear()
  }
}
