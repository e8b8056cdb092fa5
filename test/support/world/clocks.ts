/**
 * The clocks of the tests: one that is moved by hand or by sleeping on it, one that is real but skips every sleep, and
 * one whose sleepers wait until the test lets time pass.
 */
import { type Clock, systemClock } from '../../../src/engine/base/clock.js'

/** Time shared by a program and its sandbox: it moves when someone sleeps or the test says so. */
export class HandClock implements Clock {
  micros: bigint
  /** How far the program's clock is from the sandbox's, in microseconds. */
  skew = 0n

  /** `tick`: microseconds from one reading to the next; with 0, the clock doesn't move. */
  constructor(
    start: string,
    private readonly tick = 0n,
  ) {
    this.micros = BigInt(Date.parse(start)) * 1000n
  }

  nowMicros(): bigint {
    this.micros += this.tick
    return this.micros
  }

  pass(milliseconds: number): void {
    this.micros += BigInt(Math.round(milliseconds * 1000))
  }

  async sleep(milliseconds: number): Promise<void> {
    this.pass(milliseconds)
    await settled()
  }

  /** The same time for a program whose sleeps move nothing: only the source's requests do. */
  get sleepless(): Clock {
    return { nowMicros: () => this.nowMicros() + this.skew, sleep: async () => {} }
  }

  /** The same time for a program whose sleeps end at once; only the test moves it. */
  get still(): Clock {
    return {
      nowMicros: () => this.nowMicros(),
      sleep: () => new Promise((resolve) => setTimeout(resolve, 1)),
    }
  }

  /** The same time, as seen by a program on a machine with a wrong clock. */
  get skewed(): Clock {
    return {
      nowMicros: () => this.nowMicros() + this.skew,
      sleep: (milliseconds) => this.sleep(milliseconds),
    }
  }
}

/** Real time that skips every sleep, and records how long it was. */
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

/** Time that doesn't pass until it is moved. */
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

  /** Lets this many ms pass, with everything that is due in them. */
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

/** Resolves when every promise that can settle now has settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
