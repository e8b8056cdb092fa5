import { type Clock, systemClock } from '../../../src/clock.js'

/** Real time that skips whatever it is asked to sleep, and remembers for how long that was. */
export class SkippingClock implements Clock {
  readonly slept: number[] = []
  #skipped = 0n

  nowMicros(): bigint {
    return systemClock.nowMicros() + this.#skipped
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    this.slept.push(milliseconds)
    await new Promise((resolve) => setImmediate(resolve))
    if (!signal?.aborted) this.#skipped += BigInt(Math.round(milliseconds * 1000))
  }
}

/** Time that stands still until it is told to go on. */
export class VirtualClock implements Clock {
  readonly #sleepers = new Set<{ at: number; wake: () => void }>()
  now: number

  constructor(now = 1_700_000_000_000) {
    this.now = now
  }

  nowMicros(): bigint {
    return BigInt(Math.round(this.now * 1000))
  }

  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const wake = (): void => {
        this.#sleepers.delete(sleeper)
        resolve()
      }
      const sleeper = { at: this.now + milliseconds, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  /** Lets so many ms pass, and everything happen that is due in them. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds
    for (;;) {
      await settled()
      const next = [...this.#sleepers].sort((a, b) => a.at - b.at)[0]
      if (!next || next.at > until) break
      this.now = Math.max(this.now, next.at)
      next.wake()
    }
    this.now = until
    await settled()
  }
}

/** Once all promises that can be kept have been. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
